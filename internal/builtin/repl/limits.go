package repl

import "time"

// The limits of a script.
const (
	// DefaultTimeout and MaxTimeout bound its time, calls included. While a
	// person is asked the clock stands, if the caller says so by [PauseClock].
	DefaultTimeout = 30 * time.Second
	MaxTimeout     = 600 * time.Second
	// MaxCode bounds the code, in bytes, MaxNesting how deep its brackets may
	// nest, and MaxTreeDepth how deep its syntax tree may be, in which a chain
	// of operators is as deep as it is long.
	MaxCode      = 32 << 10
	MaxNesting   = 100
	MaxTreeDepth = 400
	// MaxCompileTime bounds the time that it takes to read.
	MaxCompileTime = 2 * time.Second
	// MaxCalls bounds the calls of one script. How many run at once is for the
	// scheduler to say.
	MaxCalls = 200
	// MaxSleeps bounds the sleeps that are under way at the same time.
	MaxSleeps = 1000
	// MaxLogChars bounds what is printed, in bytes; MaxLogLines the lines.
	MaxLogChars = 20_000
	MaxLogLines = 1000
	// MaxResult bounds what is returned, as JSON in bytes. What the model sees
	// of it is bounded as for every tool.
	MaxResult = 1 << 20
	// MaxString bounds the strings that built-in functions take and make, in
	// UTF-16 units, and MaxArray the arrays, in elements.
	MaxString = 4 << 20
	MaxArray  = 1 << 20
	// MaxArguments bounds the arguments of one call made with a list.
	MaxArguments = 10_000
	// MaxDepth bounds calls inside calls, and MaxJSONDepth values inside values.
	MaxDepth     = 1000
	MaxJSONDepth = 500
	// MaxHeapGrowth is by how much the heap of the process may grow, in bytes,
	// while a script runs.
	MaxHeapGrowth = 256 << 20
	// MaxMatchTime bounds the search for one match of a regular expression.
	MaxMatchTime = 500 * time.Millisecond
	// StopGrace is how long a script that is stopped may go on with the
	// built-in function that it is in before it is left behind.
	StopGrace = 2 * time.Second
)

const (
	heapSample        = 5 * time.Millisecond
	maxStuck          = 2
	maxBound          = 10_000 // functions made by bind
	maxNative         = 200    // built-in functions inside each other
	maxListedFailures = 10
	maxErrorChars     = 2000
	maxPatterns       = 500 // regular expressions kept compiled
)
