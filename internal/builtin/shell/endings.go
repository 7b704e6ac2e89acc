package shell

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/sevengate/sevengate/internal/engine/shellrun"
	"github.com/sevengate/sevengate/tool"
)

// Kinds of tasks, as the model and the runner's labels name them.
const (
	taskBash       = "local_bash"
	taskPowerShell = "local_powershell"
	taskMonitor    = "monitor"
)

// endings sees to it that the model learns of the end of each task once: by a
// notice, or by the result of a call that asked for the task. It is safe for
// concurrent use.
type endings struct {
	mu   sync.Mutex
	open map[string]*ending // of tasks whose end the model does not know, by id
}

// ending is what the model is yet to learn of a task.
type ending struct {
	all    *endings
	notify func(tool.Notice)
	// drained is closed when all output of the task is in its file; nil where that
	// is so as soon as the task has ended.
	drained chan struct{}

	// Guarded by all.mu.
	asking int    // calls under way that may tell the end
	told   bool   // the model knows
	text   string // of the notice; empty while the task runs
}

// expect prepares for the end of a command that may become a task. Its method end
// is called when it has; add makes it known under the task's id.
func (s *endings) expect(env *tool.Env) *ending {
	// The notice may come long after the call: of its surroundings only this is kept.
	later := &tool.Env{OnNotice: env.OnNotice}
	return &ending{all: s, notify: later.Notify}
}

// add makes the end of a task one that other calls can tell. It does nothing when
// the model has been told already.
func (s *endings) add(id string, e *ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.told {
		return
	}
	if s.open == nil {
		s.open = map[string]*ending{}
	}
	s.open[id] = e
}

// end tells the model, unless a call that is under way will. Nothing is told of a
// session that closes.
func (e *ending) end(p *shellrun.Process, note string) {
	res, _ := p.Result()
	e.all.mu.Lock()
	e.text = endText(p, note)
	say := e.asking == 0 && !e.told
	if say || res.Killed == shellrun.KilledClosed {
		e.settle(p.ID())
	}
	e.all.mu.Unlock()
	if say && res.Killed != shellrun.KilledClosed {
		e.notify(tool.Notice{Text: e.text, Wake: true})
	}
}

func (e *ending) settle(id string) {
	e.told = true
	delete(e.all.open, id)
}

// ask begins a call that may tell the end of a task. The function that it gives
// must be called at the end of that call, with whether it told.
func (s *endings) ask(id string) (drained <-chan struct{}, done func(told bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.open[id]
	if e == nil {
		return nil, func(bool) {}
	}
	e.asking++
	return e.drained, func(told bool) {
		s.mu.Lock()
		e.asking--
		say := !told && !e.told && e.asking == 0 && e.text != ""
		if told || say {
			e.settle(id)
		}
		s.mu.Unlock()
		if say {
			e.notify(tool.Notice{Text: e.text, Wake: true})
		}
	}
}

// endText is the notice of a task's end.
func endText(p *shellrun.Process, note string) string {
	t := taskState(p)
	what := "Background command"
	if t.TaskType == taskMonitor {
		what = "Monitor"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s has ended: %s.", what, t.TaskID, t.state())
	if t.Killed == string(shellrun.KilledTimeout) {
		b.WriteString(" It had reached its time limit.")
	}
	if note != "" {
		b.WriteString(" " + note)
	}
	fmt.Fprintf(&b, "\nCommand: %s", strings.ReplaceAll(t.Description, "\n", "\n  "))
	if info, err := os.Stat(t.OutputFile); err == nil && info.Size() > 0 {
		fmt.Fprintf(&b, "\nOutput (%s): %s\nRead that file, or call TaskOutput with task_id %s for what was not given yet.", human(info.Size()), t.OutputFile, t.TaskID)
	} else {
		b.WriteString("\nIt printed nothing.")
	}
	if res, ok := p.Result(); ok && res.LeftBehind {
		fmt.Fprintf(&b, "\nSomething that it started still runs; TaskStop with task_id %s ends it.", t.TaskID)
	}
	return b.String()
}
