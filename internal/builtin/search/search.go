// Package search is the family of tools that look for files: Glob finds them by
// name, Grep by what is in them.
//
// Both look below one folder, the search root, which is all that they read. What
// a rule keeps from being read appears in no result and is never opened. A folder
// that cannot be read does not end a search, but the result says so; a search that
// cannot begin at all is an error, never an empty result.
//
// The family decides nothing about permission, follows no link below the search
// root, and runs no other program.
package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sevengate/sevengate/tool"
)

// Limits of the family.
const (
	// MaxGlobFiles is how many files one Glob lists.
	MaxGlobFiles = 100
	// DefaultGlobTimeout bounds one Glob; in the Linux of a Windows machine, whose
	// disks are slow to walk, it is DefaultGlobTimeoutWSL.
	DefaultGlobTimeout    = 20 * time.Second
	DefaultGlobTimeoutWSL = 60 * time.Second
	// GrepTimeout bounds one Grep.
	GrepTimeout = 60 * time.Second
	// DefaultHeadLimit is how many entries one Grep gives when it is not told.
	DefaultHeadLimit = 250
	// MaxLineChars is how many characters of one line are shown.
	MaxLineChars = 500
	// MaxContextLines is how many lines around a match can be asked for.
	MaxContextLines = 1_000
	// MaxGrepResultChars bounds the text of one Grep that the model sees at once.
	MaxGrepResultChars = 20_000
	// maxContentBytes bounds the text of one Grep as a whole.
	maxContentBytes = 4 << 20
	// maxListed bounds the files of one Grep without a limit.
	maxListed = 100_000
	// maxSimilarScan bounds the names looked at for the words of an error.
	maxSimilarScan = 5_000
)

// Deps is what the family needs from the program around it. The zero value is
// usable.
type Deps struct {
	// ReadDenials gives, at the beginning of each call, what tells for the whole of
	// it whether a rule keeps an absolute path from being read. That is asked for
	// the path as given and for where it leads, from several goroutines at once, with
	// the type of what is at the path, [fs.ModeIrregular] where it is not known. Nil
	// hides nothing, and costs nothing.
	ReadDenials func() func(path string, typ fs.FileMode) bool
	// GlobNoIgnore: Glob lists files that ignore files name too. Nil means yes.
	GlobNoIgnore *bool
	// GlobHidden: Glob lists names that begin with a dot. Nil means yes.
	GlobHidden *bool
	// GlobTimeout bounds one Glob; 0 means [DefaultGlobTimeout], or
	// [DefaultGlobTimeoutWSL] where that applies.
	GlobTimeout time.Duration
}

// New makes the tools: Glob and Grep.
func New(d Deps) []tool.Tool {
	f := &family{
		denials:     d.ReadDenials,
		noIgnore:    d.GlobNoIgnore == nil || *d.GlobNoIgnore,
		hidden:      d.GlobHidden == nil || *d.GlobHidden,
		globTimeout: func() time.Duration { return d.GlobTimeout },
		grepTimeout: GrepTimeout,
	}
	if d.GlobTimeout <= 0 {
		f.globTimeout = sync.OnceValue(defaultGlobTimeout)
	}
	return []tool.Tool{f.globTool(), f.grepTool()}
}

type family struct {
	denials          func() func(path string, typ fs.FileMode) bool // nil hides nothing
	noIgnore, hidden bool
	globTimeout      func() time.Duration
	grepTimeout      time.Duration
}

func defaultGlobTimeout() time.Duration {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err == nil && strings.Contains(strings.ToLower(string(release)), "microsoft") {
		return DefaultGlobTimeoutWSL
	}
	return DefaultGlobTimeout
}

// root is where a search begins.
type root struct {
	given  string // absolute
	real   string // with every link followed
	info   fs.FileInfo
	denied denied // the walk asks it for each path below, and for where that leads if the root is a link
}

// open finds the search root. A path that may not be read is refused before the
// disk is looked at; one that is not there is a [fs.ErrNotExist].
func (f *family) open(path string, at tool.Place) (root, error) {
	r := root{given: path}
	if f.denials != nil {
		r.denied = f.denials()
	}
	switch {
	case !filepath.IsAbs(path):
		return r, fmt.Errorf("%s is a relative path and no working directory is known; give an absolute path", quoted(path))
	case r.denied.hides(path):
		return r, deniedError(path)
	}
	var err error
	if r.real, err = filepath.EvalSymlinks(path); err == nil {
		if r.denied.hides(r.real) {
			return r, deniedError(path)
		}
		r.info, err = os.Stat(r.real)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // or something above it is a file
		return r, missing(path, at, r.denied)
	case err != nil:
		return r, fmt.Errorf("the search cannot begin: %w", err)
	case !r.info.IsDir() && !r.info.Mode().IsRegular():
		return r, fmt.Errorf("%s is neither a file nor a folder (%s); it is not opened", path, r.info.Mode().Type())
	}
	return r, nil
}

// denied tells for one call whether a path may not be read. Nil denies none.
type denied func(path string, typ fs.FileMode) bool

// hides tells whether a path or a folder above it may not be read.
func (d denied) hides(path string) bool {
	if d == nil {
		return false
	}
	for {
		if d(path, fs.ModeIrregular) {
			return true
		}
		up := filepath.Dir(path)
		if up == path {
			return false
		}
		path = up
	}
}

// hidesLink tells whether a link leads to what may not be read.
func (d denied) hidesLink(path string) bool {
	if d == nil {
		return false
	}
	real, err := filepath.EvalSymlinks(path)
	return err != nil || d.hides(real)
}

func deniedError(path string) error {
	return fmt.Errorf("%s is not searched: a permission rule keeps it from being read; search elsewhere", path)
}

type missingError struct{ msg string }

func (e *missingError) Error() string { return e.msg }
func (e *missingError) Unwrap() error { return fs.ErrNotExist }

// missing is the error for a search root that is not there.
func missing(path string, at tool.Place, hidden denied) error {
	msg := fmt.Sprintf("%s does not exist.", path)
	if at.Cwd != "" {
		msg += fmt.Sprintf(" The working directory is %s; leave path out to search there.", at.Cwd)
	}
	if name := similar(path, hidden); name != "" {
		msg += fmt.Sprintf(" Did you mean %s?", name)
	}
	return &missingError{msg}
}

// similar finds a name beside path that differs only in letter case.
func similar(path string, hidden denied) string {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return ""
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxSimilarScan)
	for _, name := range names {
		if found := filepath.Join(filepath.Dir(path), name); strings.EqualFold(name, filepath.Base(path)) && found != path && !hidden.hides(found) {
			return found
		}
	}
	return ""
}

// stopped tells how a search under a time limit ended: because the call was
// stopped, which is an error; because the limit was reached; or by itself.
func stopped(ctx, limited context.Context) (timedOut bool, err error) {
	if ctx.Err() != nil {
		return false, fmt.Errorf("the search was stopped: %w", context.Cause(ctx))
	}
	return limited.Err() != nil, nil
}
