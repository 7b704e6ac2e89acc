package tool

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// Effects says what a call may read and what it may write. The zero value is
// "unknown": it conflicts with everything, so a tool that declares nothing
// runs alone.
//
// Every path stands for itself and all that lies beneath it. A relative path
// is relative to the directory in which the call was bound; a leading "~"
// stands for the home directory. State that is not a file is named by
// [Resource].
//
// Effects are values; the methods return new ones.
type Effects struct {
	known  bool
	reads  []string
	writes []string
}

// Nothing declares that a call touches neither files nor shared state.
func Nothing() Effects { return Effects{known: true} }

// Reads declares the paths that a call may read.
func Reads(paths ...string) Effects { return Effects{known: true, reads: slices.Clone(paths)} }

// Writes declares the paths that a call may create, change or remove.
func Writes(paths ...string) Effects { return Effects{known: true, writes: slices.Clone(paths)} }

// resourcePrefix cannot begin a path that the system would accept.
const resourcePrefix = "\x00"

// Resource names shared state that is not a file, such as a task list, so
// that it can stand where a path can.
func Resource(name string) string { return resourcePrefix + name }

// IsResource tells whether an entry of Effects was made by [Resource], and its
// name.
func IsResource(entry string) (name string, ok bool) {
	return strings.CutPrefix(entry, resourcePrefix)
}

// And joins two declarations. What is unknown stays unknown.
func (e Effects) And(other Effects) Effects {
	return Effects{
		known:  e.known && other.known,
		reads:  slices.Concat(e.reads, other.reads),
		writes: slices.Concat(e.writes, other.writes),
	}
}

// Known is false when the call may touch anything.
func (e Effects) Known() bool { return e.known }

// ReadPaths returns what may be read, as declared.
func (e Effects) ReadPaths() []string { return slices.Clone(e.reads) }

// WritePaths returns what may be written, as declared.
func (e Effects) WritePaths() []string { return slices.Clone(e.writes) }

// Resolve makes every path absolute. It does not follow links and does not
// look at the disk.
func (e Effects) Resolve(at Place) Effects {
	abs := func(in []string) []string {
		if len(in) == 0 {
			return nil
		}
		out := make([]string, len(in))
		for i, p := range in {
			if strings.HasPrefix(p, resourcePrefix) {
				out[i] = p
			} else {
				out[i] = at.Abs(p)
			}
		}
		return out
	}
	return Effects{known: e.known, reads: abs(e.reads), writes: abs(e.writes)}
}

// MarshalJSON writes {"known", "reads", "writes"}; resources read
// "resource:NAME".
func (e Effects) MarshalJSON() ([]byte, error) {
	name := func(in []string) []string {
		out := make([]string, len(in))
		for i, p := range in {
			if n, ok := IsResource(p); ok {
				p = "resource:" + n
			}
			out[i] = p
		}
		return out
	}
	return json.Marshal(struct {
		Known  bool     `json:"known"`
		Reads  []string `json:"reads"`
		Writes []string `json:"writes"`
	}{e.known, name(e.reads), name(e.writes)})
}

// Place is where a call is bound: what relative paths and "~" mean, and which
// directories belong to the session. All paths are absolute.
type Place struct {
	Cwd   string   `json:"cwd"`
	Home  string   `json:"home,omitempty"`
	Roots []string `json:"roots,omitempty"` // Cwd's project and the added directories
}

// Abs makes a path absolute: "~" and "~/x" under Home, relative ones under
// Cwd. It cleans the path and follows no links.
func (p Place) Abs(path string) string {
	switch {
	case path == "~":
		path = p.Home
	case strings.HasPrefix(path, "~/"), strings.HasPrefix(path, `~\`):
		path = filepath.Join(p.Home, path[2:])
	}
	if !filepath.IsAbs(path) {
		return filepath.Join(p.Cwd, path)
	}
	return filepath.Clean(path)
}
