package pathrule

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree makes files ("a/b"), folders ("a/") and links ("a -> target") below a fresh folder, given by its real path.
func tree(t testing.TB, entries ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name, target, link := strings.Cut(e, " -> ")
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		switch {
		case link:
			err = os.Symlink(strings.ReplaceAll(target, "ROOT", root), path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		default:
			err = os.WriteFile(path, []byte(name), 0o644)
		}
		if err != nil {
			if link {
				t.Skipf("this system makes no symbolic links: %v", err)
			}
			t.Fatal(err)
		}
	}
	return root
}

func resolve(t testing.TB, path, cwd string) Resolved {
	t.Helper()
	r, err := Resolve(path, cwd, cwd)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func compile(t testing.TB, pattern string, a Anchor, k Kind) *Rule {
	t.Helper()
	r, err := Compile(pattern, a, k)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestInside(t *testing.T) {
	for _, c := range []struct {
		root, path string
		want, fold bool
	}{
		{"/w/app", "/w/app", true, true},
		{"/w/app", "/w/app/k", true, true},
		{"/w/app", "/w/app-secret/k", false, false},
		{"/w/app", "/w/app/../x", false, false},
		{"/w/app/", "/w//app/./k/", true, true},
		{"/", "/etc", true, true},
		{"/w/app", "/w", false, false},
		{"/w/App", "/w/app/k", false, true},
		{"w", "w/x", false, false},
		{"", "/w", false, false},
	} {
		if got := Inside(c.root, c.path); got != c.want {
			t.Errorf("Inside(%q, %q) = %v", c.root, c.path, got)
		}
		if got := InsideFold(c.root, c.path); got != c.fold {
			t.Errorf("InsideFold(%q, %q) = %v", c.root, c.path, got)
		}
	}
	if !InsideAny([]string{"/a", "/b"}, "/b/c") || InsideAny(nil, "/b") {
		t.Error("InsideAny")
	}
}

func TestResolve(t *testing.T) {
	root := tree(t, "real/f", "real/sub/g", "dir -> real", "abs -> ROOT/real/sub", "dangling -> real/new/file",
		"chain -> dangling", "loop -> loop2", "loop2 -> loop", "w/up -> ../real/sub", "file")
	for _, c := range []struct {
		path, given, real string
		exists            bool
	}{
		{"real/f", "real/f", "real/f", true},
		{"real/f/", "real/f", "real/f", true},
		{"./real//./f", "real/f", "real/f", true},
		{"dir/f", "dir/f", "real/f", true},
		{"dir", "dir", "real", true},
		{"dir/", "dir", "real", true},
		{"dir/new/deep", "dir/new/deep", "real/new/deep", false},
		{"dangling", "dangling", "real/new/file", false},
		{"chain", "chain", "real/new/file", false},
		{"chain/x", "chain/x", "real/new/file/x", false},
		{"abs/../f", "real/f", "real/f", true}, // up from the target, not from the link
		{"w/up/../f", "real/f", "real/f", true},
		{"real/../file", "file", "file", true},
		{"file/x", "file/x", "file/x", false},
		{"nope/../file", "file", "file", true},
		{"~/file", "file", "file", true},
		{"~", "", "", true},
		{"..", "..", "..", true},
	} {
		r := resolve(t, c.path, root)
		if want := filepath.Join(root, c.given); r.Given != want {
			t.Errorf("%s: given %q, want %q", c.path, r.Given, want)
		}
		if want := filepath.Join(root, c.real); r.Real != want || r.Exists != c.exists {
			t.Errorf("%s: real %q %v, want %q %v", c.path, r.Real, r.Exists, want, c.exists)
		}
	}
	if r, err := Resolve("loop/x", root, ""); err == nil || r.Given != filepath.Join(root, "loop/x") {
		t.Errorf("a loop: %+v, %v", r, err)
	}
	for _, bad := range [][3]string{{"a\x00b", root, ""}, {strings.Repeat("a", MaxPath+1), root, ""}, {"a", "rel", ""}, {"~/x", root, ""}} {
		if _, err := Resolve(bad[0], bad[1], bad[2]); err == nil {
			t.Errorf("Resolve(%q) from %q passed", bad[0], bad[1])
		}
	}
	if r := resolve(t, "abs/../f", root); len(r.Via) == 0 || r.Via[len(r.Via)-1] != filepath.Join(root, "f") {
		t.Errorf("the textual spelling is missing in %v", r.Via)
	}
}

func TestResolveForbiddenFolder(t *testing.T) {
	if os.Getuid() <= 0 {
		t.Skip("needs a plain user: root looks into every folder")
	}
	root := tree(t, "closed/f")
	if err := os.Chmod(filepath.Join(root, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(root, "closed"), 0o700)
	if r, err := Resolve("closed/f", root, ""); err == nil || r.Real == "" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestMatch(t *testing.T) {
	root := tree(t, "p/src/app.ts", "p/vendor/pkg/src/lib.js", "p/.env", "p/sub/.env", "h/notes/a", ".env", "p/a(b)/x", "p/cfg/s.json")
	a := Anchor{SourceDir: filepath.Join(root, "p/cfg"), Cwd: filepath.Join(root, "p"), Home: filepath.Join(root, "h")}
	const (
		no    = 0
		allow = 1
		deny  = 2
		both  = 3
	)
	for _, c := range []struct {
		pattern, path string
		want          int
	}{
		{"src/**", "p/src/app.ts", both},
		{"src/**", "p/vendor/pkg/src/lib.js", deny},
		{"src/**", "p/src", both},
		{"src/", "p/vendor/pkg/src/lib.js", deny},
		{"./src/**", "p/src/app.ts", both},
		{"src", "p/vendor/pkg/src/lib.js", both},
		{"**/src/**", "p/vendor/pkg/src/lib.js", both},
		{"vendor/pkg/**", "p/vendor/pkg/src/lib.js", both},
		{"pkg/src/**", "p/vendor/pkg/src/lib.js", no},
		{"/**", "p/cfg/s.json", both},
		{"/src/**", "p/src/app.ts", no},
		{"/s.json", "p/cfg/s.json", both},
		{".env", "p/.env", both},
		{".env", "p/sub/.env", both},
		{".env", ".env", no},
		{"./.env", "p/.env", both},
		{"./.env", "p/sub/.env", deny},
		{"//**/.env", ".env", both},
		{"**/.env*", "p/sub/.env", both},
		{"**", "p/sub/.env", both},
		{"**", ".env", no},
		{"*", "p/sub/.env", both},
		{"//**", ".env", both},
		{"~/notes/**", "h/notes/a", both},
		{"~/notes/", "h/notes/a", both},
		{"~/notes", "h/notes/a", both},
		{"~/a", "h/notes/a", no},
		{"../h/**", "h/notes/a", both},
		{"*.ts", "p/src/app.ts", both},
		{"s*/app.?s", "p/src/app.ts", both},
		{"src/[a-c]pp.ts", "p/src/app.ts", both},
		{"src/[!a]pp.ts", "p/src/app.ts", no},
		{"src/[^b]pp.ts", "p/src/app.ts", both},
		{"src/[[:alpha:]]pp.ts", "p/src/app.ts", both},
		{`src/\app.ts`, "p/src/app.ts", both},
		{"SRC/APP.TS", "p/src/app.ts", deny},
		{"src/APP.[A-Z]S", "p/src/app.ts", deny},
		{"a(b)/**", "p/a(b)/x", both},
		{"a(b)/x", "p/a(b)/x", both},
		{"  .env ", "p/.env", both},
		{"vendor/**/lib.js", "p/vendor/pkg/src/lib.js", both},
		{"vendor/**/src", "p/vendor/pkg/src/lib.js", both},
		{"vendor/*/lib.js", "p/vendor/pkg/src/lib.js", no},
		{"vendor/./pkg//src/../src/lib.js", "p/vendor/pkg/src/lib.js", both},
		{"$HOME/notes", "h/notes/a", deny},
		{"/", "p/cfg/s.json", both},
	} {
		for k, bit := range map[Kind]int{Allow: allow, DenyAsk: deny} {
			rule, err := Compile(c.pattern, a, k)
			if err != nil {
				if k == Allow && c.want&allow == 0 {
					continue
				}
				t.Errorf("%q: %v", c.pattern, err)
				continue
			}
			if got := rule.Match(resolve(t, c.path, root)); got != (c.want&bit != 0) {
				t.Errorf("kind %d: %q on %s = %v", k, c.pattern, c.path, got)
			}
		}
	}
}

func TestMatchLinks(t *testing.T) {
	root := tree(t, "p/.env", "p/sub/l -> ../.env", "p/ok/f", "p/out -> ROOT/outside", "outside/x", "p/in -> ok",
		"p/new -> ROOT/outside/created", "alias -> p", "vault/k", "p/secrets -> ROOT/vault", "p/hop2 -> ok/f", "p/hop1 -> hop2")
	cwd := filepath.Join(root, "p")
	a := Anchor{SourceDir: cwd, Cwd: cwd, Home: root}
	for _, c := range []struct {
		name, pattern, path string
		kind                Kind
		want                bool
	}{
		{"deny by target", "./.env", "p/sub/l", DenyAsk, true},
		{"deny by link name", "sub/l", "p/sub/l", DenyAsk, true},
		{"deny by a hop between", "hop2", "p/hop1", DenyAsk, true},
		{"deny by a hop between, by wildcard", "h?p2", "p/hop1", DenyAsk, true},
		{"allow inside through a link", "**", "p/in/f", Allow, true},
		{"allow does not follow out", "**", "p/out/x", Allow, false},
		{"allow does not follow out for a new file", "**", "p/out/new", Allow, false},
		{"allow does not follow a dangling link out", "**", "p/new", Allow, false},
		{"allow of the link's own name", "out/**", "p/out/x", Allow, false},
		{"deny of the landing place of a dangling link", "//**/created", "p/new", DenyAsk, true},
		{"deny by link, asked by target", "secrets/**", "vault/k", DenyAsk, true},
		{"deny by link, new file by target", "secrets/**", "vault/new", DenyAsk, true},
		{"cwd through a link", "ok/**", "alias/ok/f", Allow, false},
	} {
		rule := compile(t, c.pattern, a, c.kind)
		if got := rule.Match(resolve(t, c.path, root)); got != c.want {
			t.Errorf("%s: %q on %s = %v", c.name, c.pattern, c.path, got)
		}
	}
	// A working directory that is itself named through a link counts in both spellings.
	linked := Anchor{SourceDir: filepath.Join(root, "alias"), Cwd: filepath.Join(root, "alias"), Home: root}
	for _, path := range []string{"alias/ok/f", "p/ok/f"} {
		if !compile(t, "ok/**", linked, Allow).Match(resolve(t, path, root)) {
			t.Errorf("%s is not covered from the linked working directory", path)
		}
	}
}

func TestMatchIdentity(t *testing.T) {
	root := tree(t, "p/.env", "q/")
	if err := os.Link(filepath.Join(root, "p/.env"), filepath.Join(root, "q/other")); err != nil {
		t.Skipf("no hard links here: %v", err)
	}
	a := Anchor{SourceDir: root, Cwd: filepath.Join(root, "p"), Home: root}
	hard := resolve(t, "q/other", root)
	if !compile(t, ".env", a, DenyAsk).Match(hard) {
		t.Error("a hard link to a denied file is not denied")
	}
	if compile(t, ".env", a, Allow).Match(hard) {
		t.Error("a hard link to an allowed file is allowed")
	}
	if NewList(compile(t, ".env", a, DenyAsk), compile(t, "!other.env", a, DenyAsk)).Match(hard) == nil {
		t.Error("a list with exceptions does not see the hard link")
	}
	if NewList(compile(t, ".env", a, DenyAsk), compile(t, "!.env", a, DenyAsk)).Match(hard) != nil {
		t.Error("the exception of the name itself does not hold for its hard link")
	}
}

func TestBrokenPatterns(t *testing.T) {
	root := tree(t, "p/a[b", "p/z", `p/c\`)
	a := Anchor{SourceDir: root, Cwd: filepath.Join(root, "p"), Home: ""}
	for _, pattern := range []string{"a[b", "a[b/**", "[:x", `z\`, "[[:nope:]]", "a\x00b", "!", "~/x", "*/../z", "//../x"} {
		if r, err := Compile(pattern, a, Allow); err == nil {
			t.Errorf("allow %q compiled to %+v", pattern, r)
		}
		r, err := Compile(pattern, a, DenyAsk)
		if err != nil || len(r.Warnings()) == 0 {
			t.Errorf("deny %q: %v, no warning", pattern, err)
		}
	}
	for _, k := range []Kind{Allow, DenyAsk} {
		if _, err := Compile(" ", a, k); err == nil {
			t.Error("an empty pattern compiled")
		}
		if _, err := Compile(strings.Repeat("a", MaxPattern+1), a, k); err == nil {
			t.Error("an endless pattern compiled")
		}
	}
	if !compile(t, "a[b", a, DenyAsk).Match(resolve(t, "p/A[b", root)) || compile(t, "a[b", a, DenyAsk).Match(resolve(t, "p/z", root)) {
		t.Error("a pattern that cannot be compiled does not guard its literal path")
	}
	if !compile(t, `c\`, a, DenyAsk).Match(resolve(t, `p/c\`, root)) {
		t.Error("a last backslash does not guard its literal path")
	}
	var none *Rule
	if none.Match(resolve(t, "p/z", root)) || compile(t, "**", a, Allow).Match(Resolved{}) {
		t.Error("a nil rule or a zero path matches")
	}
}

func TestWarnings(t *testing.T) {
	root := tree(t, "p/")
	a := Anchor{SourceDir: root, Cwd: root, Home: root}
	for pattern, want := range map[string]string{
		"/etc/passwd": "write //etc", "~user/x": "home directory", "$SECRETS/x": "not expanded", "*.{a,b}": "braces",
		"x\x00": "matches nothing", "!": "matches nothing", "$HOME/x": "read as ~", ".env": "", "//etc/passwd": "",
	} {
		got := strings.Join(compile(t, pattern, a, DenyAsk).Warnings(), "\n")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q: warnings %q, want %q", pattern, got, want)
		}
	}
}

func TestFold(t *testing.T) {
	for _, pair := range [][2]string{
		{".GIT", ".git"}, {"caf\u00e9", "cafe\u0301"}, {".g\u200cit", ".git"}, {".con\ufb01g", ".config"},
		{".c\u017faude", ".csaude"}, {"\u212aey", "key"}, {"stra\u00dfe", "STRASSE"}, {"ΣΑΣ", "σας"},
	} {
		if fold(pair[0]) != fold(pair[1]) {
			t.Errorf("%q and %q fold to %q and %q", pair[0], pair[1], fold(pair[0]), fold(pair[1]))
		}
	}
	root := tree(t, "p/")
	a := Anchor{SourceDir: root, Cwd: root}
	composed, decomposed := resolve(t, "caf\u00e9", root), resolve(t, "cafe\u0301", root)
	if r := compile(t, "caf\u00e9", a, DenyAsk); !r.Match(composed) || !r.Match(decomposed) {
		t.Error("deny tells compositions apart")
	}
	if r := compile(t, "caf\u00e9", a, Allow); !r.Match(composed) || r.Match(decomposed) {
		t.Error("allow does not tell compositions apart")
	}
}

func TestListExceptions(t *testing.T) {
	root := tree(t, "d/a.env", "d/example.env", "s/pub/x", "s/k", "l -> d/a.env", "d/example.env.link -> a.env")
	a := Anchor{SourceDir: root, Cwd: root}
	list := func(k Kind, patterns ...string) List {
		var rules []*Rule
		for _, p := range patterns {
			rules = append(rules, compile(t, p, a, k))
		}
		return NewList(rules...)
	}
	for _, c := range []struct {
		kind     Kind
		patterns []string
		path     string
		want     string
	}{
		{DenyAsk, []string{"*.env", "!example.env"}, "d/a.env", "*.env"},
		{DenyAsk, []string{"*.env", "!example.env"}, "d/example.env", ""},
		{DenyAsk, []string{"*.env", "!example.env"}, "d/EXAMPLE.env", "*.env"}, // exceptions are exact
		{DenyAsk, []string{"!example.env", "*.env"}, "d/example.env", "*.env"}, // the last one decides
		{DenyAsk, []string{"s", "!s/pub"}, "s/pub/x", "s"},                     // nothing inside a covered folder
		{DenyAsk, []string{"s/**", "!s/pub/**"}, "s/pub/x", "s/**"},
		{DenyAsk, []string{"/s/*", "!/s/pub/**", "!/s/pub"}, "s/pub/x", ""},
		{DenyAsk, []string{"/s", "!/s/**"}, "s", "/s"}, // the exception speaks of what is in it
		{DenyAsk, []string{"/s/*", "!/s/pub"}, "s/k", "/s/*"},
		{DenyAsk, []string{"*.env", "!l"}, "l", "*.env"}, // the target is not excepted
		{DenyAsk, []string{"!", "*.env"}, "d/a.env", "*.env"},
		{Allow, []string{"**", "!s"}, "d/a.env", "**"},
		{Allow, []string{"**", "!s"}, "s/k", ""},
		{Allow, []string{"**", "!S"}, "s/k", ""}, // what narrows is loose
		{Allow, []string{"**", "!a.env"}, "l", ""},
		{DenyAsk, nil, "d/a.env", ""},
	} {
		if c.kind == Allow && len(c.patterns) > 0 && c.patterns[0] == "!" {
			continue
		}
		got := ""
		if r := list(c.kind, c.patterns...).Match(resolve(t, c.path, root)); r != nil {
			got = r.Pattern()
		}
		if got != c.want {
			t.Errorf("%v on %s: matched %q, want %q", c.patterns, c.path, got, c.want)
		}
	}
	if compile(t, "!x", a, DenyAsk).Match(resolve(t, "x", root)) {
		t.Error("an exception matches by itself")
	}
}

func TestProtected(t *testing.T) {
	for path, want := range map[string]bool{
		"/p/.git/hooks/pre-commit": true, "/p/.GIT/hooks/pre-commit": true, "/p/.Cursor/mcp.json": true, "/p/.git": true,
		"/p/.gi\u200ct/config": true, "/p/GIT~1/config": true, "/p/.git./config": true, "/p/.git::$INDEX_ALLOCATION/x": true,
		"/p/.gitignore": false, "/p/.github/workflows/x": false, "/p/git/x": false, "/p/.config/git/config": true, "/p/.config/x": false,
		"/p/.claude/settings.json": true, "/p/.sevengate/settings.json": true, "/p/.claude/worktrees/a/x.go": false,
		"/p/.claude/worktrees/a/.git/config": true, "/p/.claude/worktrees/a/.claude/settings.json": true, "/p/.claude/worktrees": true,
		"/p/.sevengate/worktrees/a/b": false, "/p/.bashrc": true, "/p/.bashrc/x": false, "/p/.MCP.json": true, "/p/lefthook.yml": true,
		"/p/.claude/worktrees/../settings.json": true, "/p/main.go": false, "/": false,
	} {
		got, why := Protected(path)
		if got != want || got != (why != "") {
			t.Errorf("Protected(%q) = %v, %q", path, got, why)
		}
	}
	if got, _ := Protected("/opt/State/x", "", "/opt/state"); !got {
		t.Error("an extra folder is not protected")
	}
}

func TestCritical(t *testing.T) {
	scope := Scope{Cwd: "/w/u/proj/app", Home: "/h/u", Roots: []string{"/data/shared/x"}}
	for _, c := range []struct {
		path string
		glob bool
		want bool
	}{
		{"/", false, true}, {"/usr", false, true}, {"/usr/", false, true}, {"/usr/lib", false, false}, {"/h/u", false, true}, {"/h", true, true},
		{"/w/u/proj/app", false, true}, {"/w/u/proj", false, true}, {"/w/u/PROJ", false, true}, {"/w/u/proj/app/build", false, false},
		{"/w/u/proj/other", false, false}, {"/data/shared/x", false, false}, {"/data/shared/x", true, true}, {"/data/shared", true, true},
		{"/data/shared/x/y", true, false}, {"rel", false, true}, {"/w/u/proj/app/../..", false, true},
	} {
		if got, why := Critical(c.path, scope, c.glob); got != c.want || got != (why != "") {
			t.Errorf("Critical(%q, glob %v) = %v, %q", c.path, c.glob, got, why)
		}
	}
	win := platform{windows: true}
	for path, want := range map[string]bool{`C:\`: true, `c:\Users`: true, `C:\Users\a`: true, `C:\Users\a\x`: false, `D:/`: true} {
		if got, _ := win.critical(path, Scope{Home: `c:\users\a`}, false); got != want {
			t.Errorf("Windows: critical(%q) = %v", path, got)
		}
	}
}

func TestSpellings(t *testing.T) {
	win, mac := platform{windows: true}, platform{darwin: true}
	for in, want := range map[string]string{`C:\Users\a`: "/c/Users/a", `c:/x`: "/c/x", `C:`: "/c/"} {
		if got := win.slash(in); got != want {
			t.Errorf("slash(%q) = %q", in, got)
		}
	}
	if got := win.native("/c/Users/a"); got != `C:\Users\a` {
		t.Errorf("native: %q", got)
	}
	for in, want := range map[string]string{
		"/private/etc/x": "/etc/x", "/private/var": "/var", "/private/tmp/a": "/tmp/a", "/private/x": "/private/x", "/private": "/private",
	} {
		if got := mac.slash(in); got != want {
			t.Errorf("mac slash(%q) = %q", in, got)
		}
	}
	for in, want := range map[string]string{
		`C:\a\b`: `C:\a\b`, `c:/a`: `C:\a`, `/c/Users`: `C:\Users`, `\\?\C:\a`: `C:\a`, `\??\c:\a`: `C:\a`, `\\.\C:\a`: `C:\a`,
		`a\b`: `a\b`, `C:`: `C:\`, `\a`: `\a`, `//?/C:/a`: `C:\a`,
	} {
		if got, err := windowsPath(in); err != nil || got != want {
			t.Errorf("windowsPath(%q) = %q, %v", in, got, err)
		}
	}
	for _, in := range []string{`\\h\s`, `//h/s`, `\??\UNC\h\s`, `\\?\UNC\h\s`, `\\?\unc\h\s`, `\\?\\\h\s`} {
		if _, err := windowsPath(in); !errors.Is(err, ErrNetworkPath) {
			t.Errorf("windowsPath(%q): %v", in, err)
		}
	}
	for _, in := range []string{`C:a`, `C:\a:stream`, `\\.\PhysicalDrive0`, `\\?\Volume{x}\a`, `a:b:c`} {
		if got, err := windowsPath(in); err == nil {
			t.Errorf("windowsPath(%q) = %q", in, got)
		}
	}
	for in, want := range map[string]string{
		`C:\Users\a\**`: "//c/Users/a/**", `src\*.go`: "src/*.go", `a\[b]`: `a\[b]`, `src\x\y`: "src/x/y", `~\x`: "~/x", `//c/x`: "//c/x",
	} {
		if got := windowsPattern(in); got != want {
			t.Errorf("windowsPattern(%q) = %q", in, got)
		}
	}
	for in, want := range map[string]bool{
		`\\h\s`: true, `\??\UNC\h\s`: true, "/net/host/x": true, "/net": false, "/net/": false, "/network/x": false, "/a/b": false, `C:\a`: false,
	} {
		if got := IsNetwork(in); got != want {
			t.Errorf("IsNetwork(%q) = %v", in, got)
		}
	}
}
