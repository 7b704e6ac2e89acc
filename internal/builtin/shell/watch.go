package shell

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/sevengate/sevengate/internal/engine/shellrun"
	"github.com/sevengate/sevengate/tool"
)

const (
	watchDrain  = 200 * time.Millisecond // for what a pipe still holds when its command has ended
	watchBuffer = 32 << 10
	maxAbout    = 120
	keptLine    = 8 << 10 // bytes of a line that are looked at
)

// watch tells the lines that come through a pipe, and keeps them in the output
// file of a task. One goroutine of its own reads; finish waits for it.
type watch struct {
	pipe   *os.File
	about  string
	notify func(tool.Notice)

	once  sync.Once
	until atomic.Int64 // when reading must end, as Unix nanoseconds; 0 while the command runs
	done  chan struct{}

	// Of the reader, and of others when done is closed.
	task    *shellrun.Process
	file    *os.File
	bytes   int64
	line    []byte // what there is of an unfinished line
	long    int64  // bytes of it that are not kept
	batch   []string
	chars   int // in the batch
	left    int // lines of the batch that are not told
	due     time.Time
	notices int
	told    int // characters in all
	why     string
}

func newWatch(pipe *os.File, about string, notify func(tool.Notice)) *watch {
	return &watch{pipe: pipe, about: about, notify: notify, done: make(chan struct{})}
}

// oneLine is the beginning of a text, on one line.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(visible(s)), " ")
	if r := []rune(s); len(r) > maxAbout {
		return string(r[:maxAbout]) + "…"
	}
	return s
}

// begin starts the reader; once, whether the caller or the end of the task is first.
func (w *watch) begin(p *shellrun.Process) {
	w.once.Do(func() {
		w.task = p
		go w.run()
	})
}

// finish waits until all is told that the command printed, and says what the model
// should know beside how it ended.
func (w *watch) finish(p *shellrun.Process) string {
	w.begin(p)
	until := time.Now().Add(watchDrain)
	w.until.Store(until.UnixNano())
	if w.pipe.SetReadDeadline(until) != nil {
		w.pipe.Close()
	}
	<-w.done
	return w.why
}

func (w *watch) run() {
	defer close(w.done)
	defer w.pipe.Close()
	var err error
	if w.file, err = os.OpenFile(w.task.OutputFile(), os.O_WRONLY|os.O_APPEND, 0); err == nil {
		defer w.file.Close()
	}
	buf := make([]byte, watchBuffer)
	for {
		w.setDeadline()
		n, err := w.pipe.Read(buf)
		if n > 0 {
			w.take(buf[:n])
		}
		now := time.Now()
		if !w.due.IsZero() && !now.Before(w.due) {
			w.flush()
		}
		until := w.until.Load()
		if err != nil && !os.IsTimeout(err) || until != 0 && now.UnixNano() >= until {
			break
		}
	}
	if len(w.line) > 0 || w.long > 0 {
		w.add()
	}
	w.flush()
}

// setDeadline ends the next read when the batch is due. Where pipes have no
// deadlines every read is a batch.
func (w *watch) setDeadline() {
	if w.pipe.SetReadDeadline(w.due) != nil && !w.due.IsZero() {
		w.flush()
	}
	// finish stores first and sets its deadline then: whatever the order, its
	// deadline holds.
	if until := w.until.Load(); until != 0 {
		_ = w.pipe.SetReadDeadline(time.Unix(0, until))
	}
}

// take adds output to the file and its lines to the batch.
func (w *watch) take(b []byte) {
	w.bytes += int64(len(b))
	if w.file != nil && w.bytes <= MaxMonitorBytes {
		if _, err := w.file.Write(b); err != nil && w.why == "" {
			w.why = "Not all of its output could be kept."
		}
	}
	if w.bytes > MaxMonitorBytes {
		w.giveUp(fmt.Sprintf("It was stopped, since it printed more than %s.", human(MaxMonitorBytes)))
		return
	}
	for {
		rest, more := b, false
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			rest, b, more = b[:i], b[i+1:], true
		}
		room := max(keptLine-len(w.line), 0)
		w.line = append(w.line, rest[:min(len(rest), room)]...)
		w.long += int64(max(len(rest)-room, 0))
		if !more {
			return
		}
		w.add()
	}
}

// add puts the line that is complete into the batch.
func (w *watch) add() {
	text := lineText(w.line, w.long)
	w.line, w.long = w.line[:0], 0
	if w.due.IsZero() {
		w.due = time.Now().Add(MonitorBatch)
	}
	if n := utf8.RuneCountInString(text); len(w.batch) < MaxMonitorNoticeLines && w.chars+n <= MaxMonitorNoticeChars {
		w.batch, w.chars = append(w.batch, text), w.chars+n
		return
	}
	w.left++
}

// lineText makes a line fit to be told. What is not text is only described.
func lineText(line []byte, long int64) string {
	size := int64(len(line)) + long
	whole := line
	if long > 0 { // a cut may have split a character
		for i := 0; i < utf8.UTFMax && len(whole) > 0 && !utf8.Valid(whole); i++ {
			whole = whole[:len(whole)-1]
		}
	}
	if bytes.IndexByte(whole, 0) >= 0 || !utf8.Valid(whole) {
		return fmt.Sprintf("[binary line, %s]", human(size))
	}
	text := strings.ReplaceAll(strings.TrimRight(shellrun.CleanText(whole), "\n"), "\n", " ")
	if r := []rune(text); len(r) > MaxMonitorLine {
		return fmt.Sprintf("%s… [line of %s]", string(r[:MaxMonitorLine]), human(size))
	} else if long > 0 {
		return fmt.Sprintf("%s… [line of %s]", text, human(size))
	}
	return text
}

// flush tells the batch.
func (w *watch) flush() {
	w.due = time.Time{}
	if len(w.batch) == 0 && w.left == 0 {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Monitor %s (%s) printed:", w.task.ID(), w.about)
	for _, line := range w.batch {
		b.WriteString("\n  " + line)
	}
	if w.left > 0 {
		fmt.Fprintf(&b, "\n[and %s more; all of them are in %s]", counted(int64(w.left), "line"), w.task.OutputFile())
	}
	w.batch, w.chars, w.left = nil, 0, 0
	if w.notices >= MaxMonitorNotices || w.told >= MaxMonitorChars {
		return // stopping
	}
	w.notices++
	w.told += b.Len()
	w.notify(tool.Notice{Text: b.String(), Wake: true})
	if w.notices >= MaxMonitorNotices || w.told >= MaxMonitorChars {
		w.giveUp("It was stopped, since it told too much; print only what matters.")
	}
}

// giveUp stops the command; its pipe is read on until it has ended, so that it is
// not blocked meanwhile.
func (w *watch) giveUp(why string) {
	if w.why == "" || !strings.HasPrefix(w.why, "It was stopped") {
		w.why = why
	}
	w.task.Halt()
}
