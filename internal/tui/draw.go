package tui

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/sevengate/sevengate/internal/agent"
	"github.com/sevengate/sevengate/internal/gate"
	"github.com/sevengate/sevengate/tool"
)

// maxResultLines bounds what is shown of one result.
const maxResultLines = 12

// Drawer writes what happens in a run, as lines. It is safe for concurrent use.
type Drawer struct {
	mu      sync.Mutex
	out     io.Writer
	inText  bool // the last thing written was a piece of the answer
	Verbose bool
	// Timing adds to each call when it started and how long it took.
	Timing bool
	begin  time.Time

	asking  *sync.Mutex   // held while a question is open; may be nil
	waiting []agent.Event // came while one was
}

// NewDrawer writes to out.
func NewDrawer(out io.Writer) *Drawer { return &Drawer{out: out, begin: time.Now()} }

// Event draws one event of a run. While a question is open nothing is drawn over
// it: what happens meanwhile is drawn with the first event after the answer.
func (d *Drawer) Event(e agent.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asking != nil {
		if !d.asking.TryLock() {
			d.waiting = append(d.waiting, e)
			return
		}
		defer d.asking.Unlock()
	}
	for _, w := range d.waiting {
		d.draw(w)
	}
	d.waiting = nil
	d.draw(e)
}

func (d *Drawer) draw(e agent.Event) {
	switch e.Kind {
	case agent.EventText:
		fmt.Fprint(d.out, Printable(e.Text))
		d.inText = true
	case agent.EventMessage:
		if e.Message.Role == tool.RoleAssistant {
			d.endText()
		}
	case agent.EventRetry:
		d.endText()
		fmt.Fprintf(d.out, "  (the model's API: %v; trying again in %s, attempt %d of %d)\n", e.Retry.Err, e.Retry.Delay.Round(100*time.Millisecond), e.Retry.Attempt, e.Retry.MaxAttempts)
	case agent.EventNotice:
		d.endText()
		fmt.Fprintf(d.out, "  (%s)\n", Printable(e.Text))
	case agent.EventResult:
		d.endText()
		d.result(e.Result)
	}
}

func (d *Drawer) endText() {
	if d.inText {
		fmt.Fprintln(d.out)
		d.inText = false
	}
}

func (d *Drawer) result(r *gate.Result) {
	title, use := r.Use.Name, ""
	if r.Call != nil {
		title = r.Call.Tool().Facts().Title
		if title == "" {
			return // the tool hides its calls
		}
		use = r.Call.ViewUse()
	}
	line := "* " + title
	if use = Printable(strings.ReplaceAll(use, "\n", " ; ")); use != "" {
		line += "  " + clip(use, 160)
	}
	fmt.Fprintln(d.out, line)
	if d.Timing {
		fmt.Fprintf(d.out, "    %s\n", d.timing(r))
	}
	switch {
	case r.Denied:
		fmt.Fprintf(d.out, "    refused: %s\n", d.text(plain(r.Block.Content)))
		return
	case r.Block.IsError:
		fmt.Fprintf(d.out, "    failed: %s\n", d.text(plain(r.Block.Content)))
		return
	}
	shown := r.Call.ViewResult(r.Outcome, r.Block.Content)
	if shown.Summary != "" {
		fmt.Fprintf(d.out, "    %s\n", d.text(shown.Summary))
	}
	if shown.Detail != "" {
		fmt.Fprintf(d.out, "    %s\n", d.text(shown.Detail))
	}
}

// timing says by what a call was decided, when it ran and how long.
func (d *Drawer) timing(r *gate.Result) string {
	decision := string(r.Decision.Behavior)
	if r.Decision.Reason.Layer != "" {
		decision += " by " + string(r.Decision.Reason.Layer)
	}
	if r.Decision.Reason.Rule != "" {
		decision += " " + r.Decision.Reason.Rule
	}
	if r.Start.IsZero() {
		return decision
	}
	return fmt.Sprintf("%s; ran from %s to %s (%s)", decision, stamp(r.Start.Sub(d.begin)), stamp(r.End.Sub(d.begin)), r.End.Sub(r.Start).Round(100*time.Microsecond))
}

func stamp(t time.Duration) string { return fmt.Sprintf("%.3fs", t.Seconds()) }

func (d *Drawer) text(s string) string {
	return indentBy(clipLines(strings.TrimRight(Printable(s), "\n"), maxResultLines), "    ")
}

func plain(content []tool.Block) string {
	var parts []string
	for _, b := range content {
		if b.Type == tool.BlockText {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
