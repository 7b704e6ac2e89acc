package lsp

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func realBench(t *testing.T, program string) *bench {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed", program)
	}
	b := newBench(t, "")
	b.s.Close()
	home, _ := os.UserHomeDir()
	b.s = New(Deps{Environ: os.Environ(), Home: home})
	t.Cleanup(func() { b.s.Close() })
	b.tool = Tools(b.s)[0]
	return b
}

func (b *bench) expect(in Input, wants ...string) {
	b.t.Helper()
	_, text, err := b.ask(in)
	if err != nil {
		b.t.Errorf("%+v: %v", in, err)
		return
	}
	for _, want := range wants {
		if !strings.Contains(text, want) {
			b.t.Errorf("%+v: %q is not in\n%s", in, want, text)
		}
	}
}

func TestGopls(t *testing.T) {
	b := realBench(t, "gopls")
	b.write("go.mod", "module example.com/x\n\ngo 1.21\n")
	b.write("main.go", "package main\n\ntype shape interface{ area() int }\n\nfunc main() {\n\tprintln(\"😀\", double(2))\n\tvar s shape = square{2}\n\tprintln(s.area())\n}\n")
	path := b.write("lib.go", "package main\n\n// double gives twice n.\nfunc double(n int) int { return 2 * n }\n\ntype square struct{ side int }\n\nfunc (s square) area() int { return double(s.side) }\n")
	b.expect(Input{Operation: Definition, FilePath: "main.go", Line: 6, Character: 15}, "1 definition", "lib.go:4:6: func double(n int) int")
	b.expect(Input{Operation: References, FilePath: "lib.go", Line: 4, Character: 6}, "3 references", "main.go:6:15:", "lib.go:8:37:")
	b.expect(Input{Operation: Hover, FilePath: "main.go", Line: 6, Character: 16}, "func double(n int) int", "twice n")
	b.expect(Input{Operation: Implementation, FilePath: "main.go", Line: 3, Character: 23}, "lib.go:8:17:")
	b.expect(Input{Operation: DocumentSymbol, FilePath: "lib.go"}, "function double", "struct square")
	b.expect(Input{Operation: WorkspaceSymbol, FilePath: "main.go", Query: "double"}, "lib.go:4:6: function double")
	b.expect(Input{Operation: IncomingCalls, FilePath: "lib.go", Line: 4, Character: 6}, "2 callers", "function main", "(call at line 6)")
	b.expect(Input{Operation: OutgoingCalls, FilePath: "main.go", Line: 5, Character: 6}, "function double")
	b.expect(Input{Operation: Diagnostics, FilePath: "lib.go"}, "reports nothing")
	// A file that another program makes is known at the next question.
	b.write("more.go", "package main\n\nfunc more() int { return double(1) }\n")
	b.expect(Input{Operation: References, FilePath: "lib.go", Line: 4, Character: 6}, "4 references", "more.go:3:26:")
	b.write("lib.go", "package main\n\nfunc double(n int) int { return \"two\" }\n\ntype square struct{ side int }\n\nfunc (s square) area() int { return double(s.side) }\n")
	if got := b.s.DiagnosticsAfter(context.Background(), path, 0); !strings.Contains(got, "lib.go:3:33: error: cannot use \"two\"") {
		t.Errorf("after the edit: %q", got)
	}
	began := time.Now()
	b.s.Close()
	t.Logf("closed in %s", time.Since(began))
}

func TestTypeScript(t *testing.T) {
	b := realBench(t, "typescript-language-server")
	b.write("package.json", "{}")
	b.write("tsconfig.json", `{"compilerOptions":{"strict":true}}`)
	b.write("lib.ts", "export function double(n: number): number {\n  return 2 * n;\n}\n")
	b.write("main.ts", "import { double } from './lib';\nconst x: string = double(2);\n")
	b.expect(Input{Operation: Definition, FilePath: "main.ts", Line: 2, Character: 19}, "lib.ts:1:17:")
	b.expect(Input{Operation: Hover, FilePath: "main.ts", Line: 2, Character: 19}, "double(n: number): number")
	b.expect(Input{Operation: References, FilePath: "lib.ts", Line: 1, Character: 17}, "main.ts:2:19:")
	b.expect(Input{Operation: DocumentSymbol, FilePath: "lib.ts"}, "function double")
	b.expect(Input{Operation: Diagnostics, FilePath: "main.ts"}, "main.ts:2:7: error: Type 'number' is not assignable to type 'string'")
}

func TestPyright(t *testing.T) {
	b := realBench(t, "pyright-langserver")
	b.write("pyproject.toml", "[project]\nname = \"x\"\nversion = \"0\"\n")
	b.write("lib.py", "def double(n: int) -> int:\n    return 2 * n\n")
	b.write("main.py", "from lib import double\n\nx: str = double(2)\n")
	b.expect(Input{Operation: Definition, FilePath: "main.py", Line: 3, Character: 10}, "lib.py:1:5:")
	b.expect(Input{Operation: Hover, FilePath: "main.py", Line: 3, Character: 10}, "double")
	b.expect(Input{Operation: References, FilePath: "lib.py", Line: 1, Character: 5}, "main.py:3:10:")
	b.expect(Input{Operation: DocumentSymbol, FilePath: "lib.py"}, "function double")
	b.expect(Input{Operation: Diagnostics, FilePath: "main.py"}, "main.py:3:10: error:")
}

func TestClangd(t *testing.T) {
	b := realBench(t, "clangd")
	b.write("compile_flags.txt", "-std=c11\n")
	b.write("lib.c", "int twice(int n) { return 2 * n; }\n\nint four(void) { return twice(2); }\n")
	b.expect(Input{Operation: Definition, FilePath: "lib.c", Line: 3, Character: 25}, "lib.c:1:5:")
	b.expect(Input{Operation: Hover, FilePath: "lib.c", Line: 3, Character: 25}, "twice")
	b.expect(Input{Operation: References, FilePath: "lib.c", Line: 1, Character: 5}, "lib.c:3:25:")
	b.expect(Input{Operation: DocumentSymbol, FilePath: "lib.c"}, "function twice")
	b.write("lib.c", "int twice(int n) { return \"x\" * n; }\n")
	b.expect(Input{Operation: Diagnostics, FilePath: "lib.c"}, "lib.c:1:", "error: ")
}

func TestRustAnalyzer(t *testing.T) {
	if out, err := exec.Command("rust-analyzer", "--version").CombinedOutput(); err != nil {
		t.Skipf("rust-analyzer is not installed (a launcher without it may be): %v: %.80s", err, out)
	}
	b := realBench(t, "rust-analyzer")
	b.write("Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
	b.write("src/lib.rs", "pub fn double(n: i32) -> i32 {\n    2 * n\n}\n\npub fn four() -> i32 {\n    double(2)\n}\n")
	b.expect(Input{Operation: Definition, FilePath: "src/lib.rs", Line: 6, Character: 5}, "lib.rs:1:8:")
	b.expect(Input{Operation: DocumentSymbol, FilePath: "src/lib.rs"}, "function double")
}
