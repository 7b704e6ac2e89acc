package shellscan

import "testing"

func benchmark(b *testing.B, src string) {
	o := Options{Cwd: "/src/project", Home: "/home/user"}
	Scan(src, o)
	b.ReportAllocs()
	for b.Loop() {
		if Scan(src, o).Class == Invalid {
			b.Fatal("invalid")
		}
	}
}

func BenchmarkScanOne(b *testing.B) { benchmark(b, "git status --short") }
func BenchmarkScanEveryday(b *testing.B) {
	benchmark(b, "cd sub && grep -rn 'needle' --include='*.go' . 2>/dev/null | head -20")
}
func BenchmarkScanQuoted(b *testing.B) {
	benchmark(b, "git commit -m \"$(cat <<'EOF'\nfix: keep names\n\nsee the notes\nEOF\n)\"")
}
func BenchmarkScanLoop(b *testing.B) {
	benchmark(b, "for f in *.txt; do if [ -s \"$f\" ]; then sed -n '1,3p' \"$f\"; fi; done")
}
func BenchmarkScanFind(b *testing.B) {
	benchmark(b, "find . -name '*.md' -exec grep -l foo {} \\; 2>/dev/null | sort | uniq -c")
}
