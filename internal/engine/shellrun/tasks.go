package shellrun

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// ErrEnded is returned for what can only be done to a running command.
var ErrEnded = errors.New("the command has ended")

// MoveToBackground makes a foreground command a task: its context and Timeout no longer end it, progress is no longer
// reported, its output goes on to the same file. limit is the time it still has; 0: none. It returns ErrEnded if the
// command has ended or is being killed, and does nothing to a task.
func (p *Process) MoveToBackground(limit time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.background {
		return nil
	}
	select {
	case p.back <- limit:
	case <-p.done:
		return ErrEnded
	}
	p.background = true
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	if !p.r.closed {
		p.r.addTask(p)
	}
	return nil
}

// Halt tells the command to end, as Stop does, and does not wait.
func (p *Process) Halt() { p.once.Do(func() { close(p.stop) }) }

// Background reports whether the process is a task.
func (p *Process) Background() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.background
}

// addTask is called with r.mu held.
func (r *Runner) addTask(p *Process) {
	r.tasks[p.spec.ID] = p
	r.taskList = append(r.taskList, p)
	over := len(r.taskList) - MaxKeptTasks
	if over <= 0 {
		return
	}
	r.taskList = slices.DeleteFunc(r.taskList, func(t *Process) bool {
		if _, ended := t.Result(); !ended || over <= 0 {
			return false
		}
		over--
		delete(r.tasks, t.spec.ID)
		return true
	})
}

// Task returns a background task by its id.
func (r *Runner) Task(id string) (*Process, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.tasks[id]
	return p, ok
}

// Tasks returns the background tasks in the order in which they became tasks: all that run, and the newest of the ended.
func (r *Runner) Tasks() []*Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.taskList)
}

// ReadNew returns output that earlier calls have not returned, at most limit bytes of it, as it is in the file. more tells
// that there is more already. Each byte is returned once, whoever calls.
func (p *Process) ReadNew(limit int) (data []byte, more bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, err := os.Open(p.file)
	if err != nil {
		return nil, false, fmt.Errorf("reading the output of command %s: %w", p.spec.ID, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, false, fmt.Errorf("reading the output of command %s: %w", p.spec.ID, err)
	}
	size := info.Size()
	n := min(size-p.cursor, int64(max(limit, 0)))
	if n <= 0 {
		return nil, size > p.cursor, nil
	}
	data = make([]byte, n)
	k, err := f.ReadAt(data, p.cursor)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, fmt.Errorf("reading the output of command %s: %w", p.spec.ID, err)
	}
	data = data[:k]
	if k > 4 && p.cursor+int64(k) < size {
		data = data[:wholeRunes(data)] // the rest of a cut rune comes with the next call
	}
	p.cursor += int64(len(data))
	return data, size > p.cursor, nil
}
