// Package builtin is the one flat list of all tools. Read it to know what
// exists.
package builtin

import (
	"slices"

	"github.com/sevengate/sevengate/internal/builtin/ask"
	"github.com/sevengate/sevengate/internal/builtin/todo"
	"github.com/sevengate/sevengate/tool"
)

// Deps is what the families need from above. Every field may be left zero;
// then the tools that need it refuse to work, and say so.
type Deps struct {
	// ReadDenied tells whether a rule keeps a path from being read, so that it
	// does not appear in listings and search results.
	ReadDenied func(path string) bool
	// BeforeChange is told a file just before it is changed.
	BeforeChange func(path string) error
}

// All lists the tools.
func All(d Deps) []tool.Tool {
	return slices.Concat(
		[]tool.Tool{ask.New()},
		[]tool.Tool{todo.New()},
	)
}
