package shellrun

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestManyKindsUnderACap runs 200 commands of all sorts of behaviour, ten at a time, and expects of each what it would get
// alone. That nothing is left of any, ways checks.
func TestManyKindsUnderACap(t *testing.T) {
	need(t, "setsid")
	kinds := []struct {
		name, command string
		change        func(*Spec)
		code          int // -1: any
		killed        KillReason
		out           string // the beginning
		size          int64  // -1: any
	}{
		{"quick", "echo quick; exit 7", nil, 7, "", "quick\n", 6},
		{"large", "head -c 1000000 /dev/zero | tr '\\0' z", nil, 0, "", "zzz", 1000000},
		{"timeout", "echo begun; sleep 1000 | cat", func(s *Spec) { s.Timeout = 50 * time.Millisecond }, -1, KilledTimeout, "", -1},
		{"daemon", "(setsid bash -c 'trap \"\" TERM HUP; echo $$; exec sleep 1000' &); echo done", func(s *Spec) { s.KillLeftovers = true }, 0, "", "", -1},
		{"left behind", "setsid sleep 1000 >/dev/null 2>&1 & echo done", nil, 0, "", "done\n", 5},
		{"flood", "yes flood", func(s *Spec) { s.MaxOutput = 100_000 }, -1, KilledOutputLimit, "flood\n", 100_000},
		{"stdin", "cat; read x; echo \"<$x>\"", nil, 0, "", "<>\n", 3},
		{"forks", "for i in 1 2 3 4 5 6 7 8; do (sleep 0.02; echo $i) & done; wait", nil, 0, "", "", 16},
		{"signal", "kill -SEGV $$", nil, 139, "", "", -1},
		{"binary", `printf '\xff\0\xe5\x90'`, nil, 0, "", "\xff\x00\xe5\x90", 4},
	}
	ways(t, func(t *testing.T, r *Runner) {
		slots := make(chan struct{}, 10)
		var wg sync.WaitGroup
		for i := range 200 {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				k := kinds[i%len(kinds)]
				name := fmt.Sprintf("%d %s", i, k.name)
				ctx, cancel := context.WithCancel(testContext(t))
				defer cancel()
				spec := Spec{Command: k.command, Dir: "/"}
				if k.change != nil {
					k.change(&spec)
				}
				want := k.killed
				p, err := r.Start(ctx, spec)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				if k.killed == "" && i%7 == 0 { // some are cancelled, wherever that finds them
					cancel()
					want = KilledCancelled
				}
				res, err := p.Wait(testContext(t))
				if err != nil || res.Err != nil {
					t.Errorf("%s: %v %v", name, err, res.Err)
					return
				}
				if want == KilledCancelled {
					if res.Killed != want && res.Killed != "" {
						t.Errorf("%s: killed %q", name, res.Killed)
					}
					return
				}
				b, err := os.ReadFile(res.OutputFile)
				if err != nil || res.Killed != want || k.code >= 0 && res.ExitCode != k.code || !strings.HasPrefix(string(b), k.out) ||
					k.size >= 0 && int64(len(b)) != k.size {
					t.Errorf("%s: %+v, %d bytes: %.40q %v", name, res, len(b), b, err)
				}
			})
		}
		wg.Wait()
	})
}
