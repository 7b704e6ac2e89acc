package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of the files.
const (
	MaxFileBytes = 16 << 20
	MaxServers   = 500
)

// Options say where to look.
type Options struct {
	// Dir is the project's root, Home the home directory, StateDir the state
	// folder.
	Dir, Home, StateDir string
	// ManagedDirs are the folders that an administrator's managed-mcp.json may
	// stand in.
	ManagedDirs []string
	// Flags are files or inline JSON, as given to --mcp-config; the last of a
	// name counts. Strict reads nothing else.
	Flags  []string
	Strict bool
	// ManagedServers is what an administrator's settings say in managedMcpServers:
	// servers at an address, for everyone, which no other entry of the same name
	// replaces.
	ManagedServers json.RawMessage
	// NoFlags refuses Flags, where an administrator says so
	// (disableSideloadFlags). NoPersonal leaves out what persons and repositories
	// define (strictPluginOnlyCustomization).
	NoFlags, NoPersonal bool
	// NoProject and NoUser leave scopes out.
	NoProject, NoUser bool
	// Environ is where variables are expanded from, as from os.Environ.
	Environ []string
}

// Loaded is what was found.
type Loaded struct {
	Servers  []Server // sorted by name, each name once
	Warnings []Warning
}

type fileShape struct {
	Servers  json.RawMessage `json:"mcpServers"`
	Projects map[string]struct {
		Servers json.RawMessage `json:"mcpServers"`
	} `json:"projects"`
}

// Load reads the definitions. A file that is missing is no error; one that
// cannot be read is a warning, except for what Flags name.
func Load(o Options) (Loaded, error) {
	l := loader{o: o, found: map[string]Server{}, lookup: Lookup(o.Environ)}
	if o.NoFlags && len(o.Flags) > 0 {
		return Loaded{}, errors.New("MCP configuration: the administrator does not allow --mcp-config (disableSideloadFlags)")
	}
	l.managed(o.ManagedServers)
	for _, dir := range o.ManagedDirs {
		path := filepath.Join(dir, "managed-mcp.json")
		f, err := l.file(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil { // an administrator's word that cannot be read closes the door
			return Loaded{Warnings: []Warning{{path, "", err.Error() + "; no server is started"}}}, nil
		}
		l.add(ScopeManaged, path, o.Dir, f.Servers)
		return l.done(), nil
	}
	for _, flag := range slices.Backward(o.Flags) {
		if err := l.flag(flag); err != nil {
			return Loaded{}, err
		}
	}
	if o.Strict || o.NoPersonal {
		return l.done(), nil
	}
	own, other := filepath.Join(o.StateDir, "mcp.json"), filepath.Join(o.Home, ".claude.json")
	personal := map[string]fileShape{}
	if !o.NoUser {
		for _, path := range []string{own, other} {
			f, err := l.file(path)
			if err != nil {
				l.missing(path, err)
				continue
			}
			personal[path] = f
		}
	}
	for _, path := range []string{own, other} {
		for _, dir := range []string{o.Dir, realDir(o.Dir)} {
			l.add(ScopeLocal, path, o.Dir, personal[path].Projects[dir].Servers)
		}
	}
	if !o.NoProject {
		for _, path := range []string{filepath.Join(o.Dir, ".sevengate", "mcp.json"), filepath.Join(o.Dir, ".mcp.json")} {
			if f, err := l.file(path); err != nil {
				l.missing(path, err)
			} else {
				l.add(ScopeProject, path, o.Dir, f.Servers)
			}
		}
	}
	for _, path := range []string{own, other} {
		l.add(ScopeUser, path, o.Dir, personal[path].Servers)
	}
	return l.done(), nil
}

type loader struct {
	o        Options
	lookup   func(string) (string, bool)
	found    map[string]Server
	warnings []Warning
}

func (l *loader) warn(file, server, format string, args ...any) {
	l.warnings = append(l.warnings, Warning{file, server, fmt.Sprintf(format, args...)})
}

func (l *loader) missing(path string, err error) {
	if !errors.Is(err, fs.ErrNotExist) {
		l.warn(path, "", "%s", err)
	}
}

// managed takes over the servers of the administrator's settings, which must
// not run commands.
func (l *loader) managed(raw json.RawMessage) {
	const file = "managedMcpServers"
	l.add(ScopeManaged, file, l.o.Dir, raw)
	for name, s := range l.found {
		if s.Type != HTTP && s.Type != SSE && s.Invalid == "" || s.HeadersHelper != "" {
			delete(l.found, name)
			l.warn(file, name, "only servers of type http and sse, and without a helper, can be given to everyone; it is left out")
		}
	}
}

// flag reads a file or inline JSON. What a person names must be right.
func (l *loader) flag(text string) error {
	path := ""
	var f fileShape
	var err error
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		f, err = decode([]byte(text))
	} else {
		if path = text; !filepath.IsAbs(path) {
			path = filepath.Join(l.o.Dir, path)
		}
		f, err = l.file(path)
	}
	if err == nil && len(f.Servers) == 0 {
		err = errors.New(`it has no "mcpServers"`)
	}
	if err != nil {
		if path == "" {
			path = "inline JSON"
		}
		return fmt.Errorf("MCP configuration %s: %w", path, err)
	}
	l.add(ScopeFlag, path, l.o.Dir, f.Servers)
	return nil
}

func (l *loader) file(path string) (fileShape, error) {
	// A pipe would be waited for.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fileShape{}, errors.New("it is not a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return fileShape{}, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return fileShape{}, errors.New("it is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(file, MaxFileBytes+1))
	if err != nil {
		return fileShape{}, err
	}
	if len(data) > MaxFileBytes {
		return fileShape{}, fmt.Errorf("it is larger than %d bytes", MaxFileBytes)
	}
	return decode(data)
}

func decode(data []byte) (f fileShape, err error) {
	if err := json.Unmarshal(data, &f); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			line := 1 + strings.Count(string(data[:min(int(syntax.Offset), len(data))]), "\n")
			return f, fmt.Errorf("it is not valid JSON: line %d: %w", line, err)
		}
		return f, errors.New(jsonError(err))
	}
	return f, nil
}

// add takes over the servers of one place that no stronger place named.
func (l *loader) add(scope Scope, path, dir string, raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(raw, &entries); err != nil {
		l.warn(path, "", "mcpServers must be an object")
		return
	}
	for name, entry := range entries {
		if _, taken := l.found[name]; taken {
			continue
		}
		if len(l.found) == MaxServers {
			l.warn(path, "", "there are more than %d servers; the rest is left out", MaxServers)
			return
		}
		s, warnings := parse(name, entry, scope, path, dir, l.lookup)
		l.found[name] = s
		l.warnings = append(l.warnings, warnings...)
	}
}

func (l *loader) done() Loaded {
	out := Loaded{Warnings: l.warnings}
	for _, s := range l.found {
		out.Servers = append(out.Servers, s)
	}
	slices.SortFunc(out.Servers, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(out.Warnings, func(a, b Warning) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// Lookup finds variables in a list like that of os.Environ; the last of a name
// counts.
func Lookup(environ []string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, kv := range slices.Backward(environ) {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				return v, true
			}
		}
		return "", false
	}
}

func realDir(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}
