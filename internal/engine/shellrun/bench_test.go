//go:build unix

package shellrun

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// BenchmarkOverhead runs "true" plainly and through a Runner, in turns so that both see the same machine, and reports what
// the Runner adds.
func BenchmarkOverhead(b *testing.B) {
	sh := Shell{Path: bash(b), Kind: "bash"}
	rc := "f() { echo x; }; alias ll='ls -l'"
	for _, c := range []struct {
		name   string
		change func(*Options)
	}{
		{"cgroup", func(*Options) {}},
		{"nocgroup", func(o *Options) { o.NoCgroup = true }},
		{"snapshot", func(o *Options) { o.Snapshot = true }},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := newRunner(b, func(o *Options) {
				o.Shell = sh
				c.change(o)
				if err := os.WriteFile(filepath.Join(o.Home, ".bashrc"), []byte(rc), 0o600); err != nil {
					b.Fatal(err)
				}
			})
			if r.snap != nil {
				r.snap.get(testContext(b))
				<-r.snap.ready
			}
			dir, ctx := b.TempDir(), testContext(b)
			if _, err := r.Run(ctx, Spec{Command: "true", Dir: dir}); err != nil {
				b.Fatal(err)
			}
			var plain, ours time.Duration
			for b.Loop() {
				start := time.Now()
				p, err := os.StartProcess(sh.Path, []string{"bash", "-c", "true"}, &os.ProcAttr{
					Dir: dir, Env: r.base, Files: []*os.File{r.null, r.null, r.null}, Sys: &syscall.SysProcAttr{Setsid: true}})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := p.Wait(); err != nil {
					b.Fatal(err)
				}
				plain += time.Since(start)
				start = time.Now()
				if _, err := r.Run(ctx, Spec{Command: "true", Dir: dir}); err != nil {
					b.Fatal(err)
				}
				ours += time.Since(start)
			}
			n := float64(b.N)
			b.ReportMetric(float64(plain.Microseconds())/n, "plain-µs")
			b.ReportMetric(float64(ours.Microseconds())/n, "ours-µs")
			b.ReportMetric(float64((ours-plain).Microseconds())/n, "added-µs")
			b.ReportMetric(float64(ours)/float64(plain), "ratio")
		})
	}
}

// BenchmarkFirstCommand is a whole short life: a Runner, its watcher, one command, Close.
func BenchmarkFirstCommand(b *testing.B) {
	sh := Shell{Path: bash(b), Kind: "bash"}
	for b.Loop() {
		r, err := New(Options{OutputDir: filepath.Join(b.TempDir(), "out"), Shell: sh})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := r.Run(testContext(b), Spec{Command: "true", Dir: "/"}); err != nil {
			b.Fatal(err)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCleanText(b *testing.B) {
	line := "\x1b[32mok\x1b[0m  github.com/example/module/package\t0.123s\n"
	in := make([]byte, 0, 1<<20)
	for len(in) < 1<<20-len(line) {
		in = append(in, line...)
	}
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		_ = CleanText(in)
	}
}
