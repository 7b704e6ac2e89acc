package permission

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/sevengate/sevengate/tool"
)

func TestManyAtOnce(t *testing.T) {
	s := newScratch(t)
	p := s.policy([]string{"Bash(npm:*)"}, nil, []string{"Read(.env)"})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				if i == 0 {
					if err := p.AddSession(tool.Allow, fmt.Sprintf("Bash(x%d)", j)); err != nil {
						t.Error(err)
					}
					p.SetCommandRules([]string{"Bash(y)"})
					continue
				}
				if d := s.judge(t, p, "npm test && cat .env", ModeBypass); d.Behavior != tool.Deny {
					t.Errorf("got %s: %s", d.Behavior, d.Reason.Message)
				}
				p.Warnings()
				p.ReadDenied(s.at.Cwd)
			}
		})
	}
	wg.Wait()
}

func TestMemoryIsFlat(t *testing.T) {
	s := newScratch(t)
	p := s.policy([]string{"Bash(npm:*)"}, nil, []string{"Read(.env)"})
	shell := shellTool("Bash", nil)
	run := func(from, n int) uint64 {
		for i := range n {
			call := bind(t, shell, s.at, shellInput{Command: fmt.Sprintf("cat file%d && npm run x%d", from+i, from+i)})
			p.Decide(context.Background(), Request{Call: call, Env: &tool.Env{AgentID: fmt.Sprint(i)}})
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := run(0, 500)
	after := run(500, 3000)
	if after > before+(1<<20) {
		t.Errorf("3000 decisions left %d bytes behind", after-before)
	}
}
