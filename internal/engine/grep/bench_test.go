package grep

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sevengate/sevengate/internal/engine/walk"
)

var benchPatterns = []string{
	`ErrUnexpectedEOF`, `zzqqxxyyzz`, `func `, `(?i)deadlineexceeded`, `(?i)todo`,
	`ErrUnexpectedEOF|ErrShortWrite|ErrClosedPipe|ErrNoProgress`, `(?i)(fixme|hackish|xxx)`,
	`func \([a-z]+ \*?[A-Za-z]+\) (Read|Write)\(`, `[A-Z][a-z]+Handler[A-Za-z]*\(`, `[A-Za-z0-9_]+Deadline\(`,
	`[a-z]{3}[0-9]{2}[a-z]{2}[0-9]`, `\b(len|cap)\(`, `return .*errors\.New.*closed`,
}

const benchPiece = 12 << 10

// The source of the standard library, in memory.
func benchText(b *testing.B) []byte {
	var buf bytes.Buffer
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Skipf("no go command: %v", err)
	}
	filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "src", "net"), func(p string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(p, ".go") {
			data, _ := os.ReadFile(p)
			buf.Write(data)
		}
		return nil
	})
	if buf.Len() == 0 {
		b.Skip("the Go source tree is not installed")
	}
	return buf.Bytes()
}

func BenchmarkScanner(b *testing.B) {
	text := benchText(b)
	for _, expr := range benchPatterns {
		p := compile(b, expr, Options{})
		b.Run(expr, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			s := newScanner(p)
			for b.Loop() {
				for rest := text; len(rest) > 0; { // pieces of the size of a file
					n := min(benchPiece, len(rest))
					n += bytes.IndexByte(rest[n-1:], '\n')
					s.begin(rest[:n])
					for pos := 0; pos < n; {
						start, end := s.next(pos)
						if start < 0 {
							break
						}
						pos = end + 1
					}
					rest = rest[n:]
				}
			}
		})
	}
}

func BenchmarkRegexp(b *testing.B) {
	text := benchText(b)
	for _, expr := range benchPatterns {
		re := regexp.MustCompile("(?m)" + expr)
		b.Run(expr, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				for pos := 0; pos < len(text); {
					m := re.FindIndex(text[pos:])
					if m == nil {
						break
					}
					i := bytes.IndexByte(text[pos+m[1]:], '\n')
					if i < 0 {
						break
					}
					pos += m[1] + i + 1
				}
			}
		})
	}
}

// TestSideBySide prints times next to ripgrep's for a tree: SEVENGATE_GREP_BENCH=DIR. The counts of lines must agree.
func TestSideBySide(t *testing.T) {
	dir := os.Getenv("SEVENGATE_GREP_BENCH")
	if dir == "" {
		t.Skip("set SEVENGATE_GREP_BENCH to a directory to compare speed with rg")
	}
	rg := ripgrep(t)
	for _, expr := range benchPatterns {
		p := compile(t, expr, Options{})
		best, bestUnordered, bestRG := time.Hour, time.Hour, time.Hour
		var lines, rgLines int64
		for range 5 {
			for _, unordered := range []bool{false, true} {
				begin := time.Now()
				st, err := Search(context.Background(), p, SearchOptions{Roots: []string{dir}, Binary: BinaryText, Unordered: unordered, Mode: ModeContent,
					Walk: walk.Options{NoIgnore: true, Hidden: true}}, func(Event) error { return nil })
				if err != nil {
					t.Fatal(err)
				}
				lines = st.Lines
				if unordered {
					bestUnordered = min(bestUnordered, time.Since(begin))
				} else {
					best = min(best, time.Since(begin))
				}
			}
			begin := time.Now()
			out, _ := exec.Command(rg, "-a", "-uu", "-c", "--no-filename", "-j2", "-e", expr, dir).Output()
			bestRG = min(bestRG, time.Since(begin))
			rgLines = 0
			for _, n := range strings.Fields(string(out)) {
				k, _ := strconv.ParseInt(n, 10, 64)
				rgLines += k
			}
		}
		note := ""
		if lines != rgLines {
			note = " DIFFERENT"
		}
		fmt.Printf("%-62s sorted %4d ms (%.2f)  unordered %4d ms (%.2f)  rg %4d ms  lines %d/%d%s\n", expr, best.Milliseconds(), float64(best)/float64(bestRG),
			bestUnordered.Milliseconds(), float64(bestUnordered)/float64(bestRG), bestRG.Milliseconds(), lines, rgLines, note)
	}
}
