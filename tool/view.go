package tool

// View is how a person sees a call. Every function is optional; what is nil is
// shown in a plain form made from the tool's name and input.
type View[In, Out any] struct {
	// Use is one line for a call that is about to run, such as its command.
	Use func(In) string
	// Queued is shown while a call waits for its turn.
	Queued func(In) string
	// Progress shows a running call.
	Progress func(In, Progress) string
	// Result shows what came out.
	Result func(In, Out) Rendering
	// Rejected shows a call that was refused, such as the edit that was not made.
	Rejected func(In) Rendering
	// Error shows a failed call.
	Error func(In, error) string
	// Grouped is one line for several calls side by side.
	Grouped func([]In) string
	// Preview shows what a call would do, for the person who is asked.
	Preview func(in In, at Place) Rendering
}

// Rendering is text for a person, with a hint of how to draw it.
type Rendering struct {
	Summary string // one line
	Detail  string
	Format  Format
}

// Format says how to draw a detail.
type Format string

// The formats of a detail.
const (
	FormatPlain    Format = ""
	FormatDiff     Format = "diff"
	FormatMarkdown Format = "markdown"
)

// Progress is news of a running call.
type Progress struct {
	// Text is what came last, such as the last lines of output.
	Text string
	// Bytes and Lines count the output so far; Seconds the time.
	Bytes, Lines int64
	Seconds      float64
	// Data is for programs; it must be encodable as JSON.
	Data any
}
