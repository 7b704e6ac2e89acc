package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/atomicfile"
)

// ErrSeveral says that a name stands in several scopes, and none was chosen.
var ErrSeveral = errors.New("it is defined in several scopes")

// Files are the files in which people write down servers: what [Load] reads,
// with its options of the same names. Methods read the files anew each time;
// changes are atomic and may be made by several processes at once.
type Files struct {
	Dir, Home, StateDir string
	ManagedDirs         []string
	Environ             []string
}

// EditScopes are the scopes that servers can be added to, the strongest first.
func EditScopes() []Scope { return []Scope{ScopeLocal, ScopeProject, ScopeUser} }

// ParseScope reads the name of a scope that servers can be added to.
func ParseScope(text string) (Scope, error) {
	if s := Scope(text); slices.Contains(EditScopes(), s) {
		return s, nil
	}
	return "", fmt.Errorf("scope %q: it must be local (yours, this project), project (shared, in the repository) or user (yours, everywhere)", text)
}

// Definition is an entry as it stands in a file.
type Definition struct {
	Scope Scope
	File  string
	// Written is the entry as it was written, variables and all.
	Written json.RawMessage
	// ReadOnly: the file belongs to another program, and is never changed here.
	ReadOnly bool
}

// Added tells what [Files.Add] did.
type Added struct {
	File     string
	Server   Server
	Warnings []Warning
	// Stronger is the scope whose server of the same name counts instead; empty
	// if the new one counts.
	Stronger Scope
	// Literal names values that are written out in a file that others will read
	// too: variables of the environment and headers.
	Literal []string
}

// place is where entries of a scope can stand.
type place struct {
	scope    Scope
	file     string
	project  string // the key under "projects"; empty: the top level
	readOnly bool
	shared   bool // links are not followed: whoever wrote the repository chose them
}

func (p place) path() []string {
	if p.project != "" {
		return []string{"projects", p.project, "mcpServers"}
	}
	return []string{"mcpServers"}
}

func (p place) entries(f fileShape) (map[string]json.RawMessage, error) {
	raw := f.Servers
	if p.project != "" {
		raw = f.Projects[p.project].Servers
	}
	var out map[string]json.RawMessage
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &out); err != nil {
			return nil, errors.New("mcpServers must be an object")
		}
	}
	return out, nil
}

// places lists where entries can stand, in the order in which they count. The
// first of a scope that is neither read-only nor second to another is where new
// entries go.
func (f Files) places() []place {
	own, other := filepath.Join(f.StateDir, "mcp.json"), filepath.Join(f.Home, ".claude.json")
	keys := slices.Compact([]string{f.Dir, realDir(f.Dir)})
	var out []place
	for _, path := range []string{own, other} {
		for _, key := range keys {
			out = append(out, place{scope: ScopeLocal, file: path, project: key, readOnly: path == other})
		}
	}
	return append(out,
		place{scope: ScopeProject, file: filepath.Join(f.Dir, ".sevengate", "mcp.json"), shared: true},
		place{scope: ScopeProject, file: filepath.Join(f.Dir, ".mcp.json"), shared: true},
		place{scope: ScopeUser, file: own},
		place{scope: ScopeUser, file: other, readOnly: true})
}

func (f Files) target(scope Scope) place {
	switch scope {
	case ScopeProject:
		return place{scope: scope, file: filepath.Join(f.Dir, ".mcp.json"), shared: true}
	case ScopeLocal:
		return place{scope: scope, file: filepath.Join(f.StateDir, "mcp.json"), project: realDir(f.Dir)}
	}
	return place{scope: scope, file: filepath.Join(f.StateDir, "mcp.json")}
}

// Find gives the definitions of a server, the one that counts first. Files that
// cannot be read are warnings.
func (f Files) Find(name string) (found []Definition, warnings []Warning) {
	for _, at := range f.find(name, &warnings) {
		found = append(found, at.Definition)
	}
	return found, warnings
}

type foundAt struct {
	Definition
	at place
}

func (f Files) find(name string, warnings *[]Warning) (found []foundAt) {
	var l loader
	for _, p := range f.places() {
		shape, err := l.file(p.file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var entries map[string]json.RawMessage
		if err == nil {
			entries, err = p.entries(shape)
		}
		if w := (Warning{p.file, "", fmt.Sprint(err)}); err != nil && !slices.Contains(*warnings, w) {
			*warnings = append(*warnings, w)
		}
		if raw, ok := entries[name]; ok {
			found = append(found, foundAt{Definition{p.scope, p.file, raw, p.readOnly}, p})
		}
	}
	return found
}

// Written gives the entry that a server was read from, as it stands in its file.
// It is an error if the entry is not what was read.
func Written(s *Server) (json.RawMessage, error) {
	if s.File == "" {
		return nil, errors.New("the entry was given inline")
	}
	var l loader
	shape, err := l.file(s.File)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.File, err)
	}
	for _, project := range slices.Compact([]string{realDir(s.Dir), s.Dir, ""}) {
		if (project != "") != (s.Scope == ScopeLocal) {
			continue
		}
		entries, err := place{project: project}.entries(shape)
		if raw, ok := entries[s.Name]; err == nil && ok && fingerprint(s.Name, raw) == s.Fingerprint {
			return raw, nil
		}
	}
	return nil, fmt.Errorf("%s: the entry of %s was changed since it was read", s.File, s.Name)
}

// Add writes a new entry into the file of a scope. Nothing is written if [Load]
// would not take the entry, or if the scope has the name already.
func (f Files) Add(ctx context.Context, scope Scope, name string, entry json.RawMessage) (Added, error) {
	out, err := f.add(ctx, scope, name, entry)
	if err != nil {
		return Added{}, fmt.Errorf("adding the MCP server %q: %w", clipName(name), err)
	}
	return out, nil
}

func (f Files) add(ctx context.Context, scope Scope, name string, entry json.RawMessage) (out Added, err error) {
	if _, err := ParseScope(string(scope)); err != nil {
		return out, err
	}
	if !plainName(name) {
		return out, fmt.Errorf("a name is 1 to %d letters, digits, hyphens and underscores", MaxName)
	}
	for _, dir := range f.ManagedDirs {
		if path := filepath.Join(dir, "managed-mcp.json"); !missing(path) {
			return out, fmt.Errorf("an administrator decides about servers here (%s); others would not be used", path)
		}
	}
	if err := checkEntry(entry); err != nil {
		return out, err
	}
	to := f.target(scope)
	out.File = to.file
	out.Server, out.Warnings = parse(name, entry, scope, to.file, f.Dir, Lookup(f.Environ))
	if out.Server.Invalid != "" {
		return out, errors.New(out.Server.Invalid)
	}
	var unreadable []Warning
	for _, have := range f.find(name, &unreadable) {
		if have.Scope == scope {
			return out, have.taken(name)
		}
		if out.Stronger == "" && slices.Index(EditScopes(), have.Scope) < slices.Index(EditScopes(), scope) {
			out.Stronger = have.Scope
		}
	}
	if scope == ScopeProject {
		out.Literal = literals(entry)
	}
	err = f.change(ctx, to, func(data []byte, have map[string]json.RawMessage) ([]byte, error) {
		if _, taken := have[name]; taken { // by another process, meanwhile
			return nil, foundAt{Definition{Scope: scope, File: to.file}, to}.taken(name)
		}
		if len(have) >= MaxServers {
			return nil, fmt.Errorf("%s has %d servers; more are not read", to.file, len(have))
		}
		out, err := putMember(data, to.path(), name, entry)
		if err != nil {
			return nil, fmt.Errorf("%s is left as it is: %w", to.file, err)
		}
		return out, to.holds(data, out, name, entry)
	})
	return out, err
}

func (e foundAt) taken(name string) error {
	if e.ReadOnly {
		return fmt.Errorf("the %s scope has it already, in %s, which belongs to another program; choose another name or scope", e.Scope, e.File)
	}
	return fmt.Errorf("the %s scope has it already, in %s; to replace it: sevengate mcp remove -s %s %s", e.Scope, e.File, e.Scope, name)
}

// Remove takes a server out of a scope or, where scope is empty, out of the only
// scope that has it; otherwise the error is [ErrSeveral]. It names the scope and
// the files.
func (f Files) Remove(ctx context.Context, scope Scope, name string) (Scope, []string, error) {
	scope, files, err := f.remove(ctx, scope, name)
	if err != nil {
		return "", files, fmt.Errorf("removing the MCP server %q: %w", clipName(name), err)
	}
	return scope, files, nil
}

func (f Files) remove(ctx context.Context, scope Scope, name string) (Scope, []string, error) {
	var warnings []Warning
	all := f.find(name, &warnings)
	var scopes []string
	for _, e := range all {
		if s := string(e.Scope); !slices.Contains(scopes, s) {
			scopes = append(scopes, s)
		}
	}
	if scope == "" && len(scopes) > 1 {
		return "", nil, fmt.Errorf("%w: %s; say which with -s", ErrSeveral, strings.Join(scopes, ", "))
	}
	all = slices.DeleteFunc(all, func(e foundAt) bool { return scope != "" && e.Scope != scope })
	if len(all) == 0 {
		where := "it is in no scope (local, project, user)"
		switch {
		case len(scopes) > 0:
			where = fmt.Sprintf("it is not in the %s scope, but in: %s", scope, strings.Join(scopes, ", "))
		case scope != "":
			where = fmt.Sprintf("it is not in the %s scope, nor in another", scope)
		}
		if len(warnings) > 0 {
			where += "; " + warnings[0].String()
		}
		return "", nil, errors.New(where)
	}
	var files []string
	for _, e := range all {
		if e.ReadOnly {
			return "", files, fmt.Errorf("it stands in %s, which belongs to another program; take it out there", e.File)
		}
	}
	for _, e := range all {
		err := f.change(ctx, e.at, func(data []byte, _ map[string]json.RawMessage) ([]byte, error) {
			out, err := dropMember(data, e.at.path(), name)
			if err != nil {
				return nil, fmt.Errorf("%s is left as it is: %w", e.File, err)
			}
			return out, e.at.holds(data, out, name, nil)
		})
		if err != nil {
			return "", files, err
		}
		if !slices.Contains(files, e.File) {
			files = append(files, e.File)
		}
	}
	return all[0].Scope, files, nil
}

// change replaces a file by what edit makes of it. What Load could not read is
// left as it is.
func (f Files) change(ctx context.Context, p place, edit func(data []byte, have map[string]json.RawMessage) ([]byte, error)) error {
	var o atomicfile.Options
	if p.shared {
		rel, err := filepath.Rel(f.Dir, p.file)
		if err != nil {
			return err
		}
		real := filepath.Join(realDir(f.Dir), rel)
		if now, err := atomicfile.Resolve(p.file); err != nil || now != real {
			return fmt.Errorf("%s is a symbolic link, or its folder is; files of a repository are not written through links", p.file)
		}
		o = atomicfile.Options{ResolvedMustBe: real, NoParents: true}
	} else if err := makePrivate(p.file); err != nil {
		return err
	}
	_, err := atomicfile.Update(ctx, p.file, o, func(old []byte, exists bool) ([]byte, error) {
		if len(bytes.TrimSpace(old)) == 0 {
			old = []byte("{}\n")
		}
		shape, err := decode(old)
		var have map[string]json.RawMessage
		if err == nil {
			have, err = p.entries(shape)
		}
		if err != nil {
			return nil, fmt.Errorf("%s is left as it is: %w", p.file, err)
		}
		data, err := edit(old, have)
		if err == nil && len(data) > MaxFileBytes {
			err = fmt.Errorf("%s would become larger than %d bytes", p.file, MaxFileBytes)
		}
		return data, err
	})
	return err
}

// makePrivate makes the file, if there is none, so that only its owner can read
// it: entries may hold secrets.
func makePrivate(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString("{}\n")
	return errors.Join(err, file.Close())
}

// holds tells whether Load would find in the file what it found before, but for
// exactly this entry, or none, of the name.
func (p place) holds(old, data []byte, name string, entry json.RawMessage) error {
	want, err := entriesOf(old)
	if err != nil {
		return err
	}
	if entry == nil {
		delete(want, [2]string{p.project, name})
	} else {
		want[[2]string{p.project, name}] = fingerprint(name, entry)
	}
	if got, err := entriesOf(data); err != nil || !maps.Equal(got, want) {
		return fmt.Errorf("%s is left as it is: it cannot be changed without changing more; is a key written twice, or with other letters than mcpServers?", p.file)
	}
	return nil
}

// entriesOf gives the fingerprints of a file's entries by project and name.
func entriesOf(data []byte) (map[[2]string]string, error) {
	shape, err := decode(data)
	if err != nil {
		return nil, err
	}
	out := map[[2]string]string{}
	add := func(project string) {
		entries, _ := place{project: project}.entries(shape) // what is no object, Load does not read
		for name, raw := range entries {
			out[[2]string{project, name}] = fingerprint(name, raw)
		}
	}
	add("")
	for project := range shape.Projects {
		add(project)
	}
	return out, nil
}

// plainName tells whether a name needs no change to stand in names of tools.
func plainName(name string) bool {
	ok := func(r rune) bool {
		return r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	return name != "" && len(name) <= MaxName && !strings.ContainsFunc(name, func(r rune) bool { return !ok(r) })
}

// checkEntry refuses what must not be written down.
func checkEntry(entry json.RawMessage) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(entry, &fields); err != nil || fields == nil {
		return errors.New("the entry must be one JSON object, such as {\"command\":\"…\",\"args\":[]} or {\"type\":\"http\",\"url\":\"https://…\"}")
	}
	if fields["mcpServers"] != nil {
		return errors.New("the entry must be that of one server, without \"mcpServers\" around it")
	}
	var oauth map[string]json.RawMessage
	_ = json.Unmarshal(fields["oauth"], &oauth)
	for key := range oauth {
		switch strings.ToLower(strings.ReplaceAll(key, "_", "")) {
		case "clientsecret", "secret", "token", "accesstoken", "refreshtoken":
			return fmt.Errorf("oauth.%s: secrets are not kept in this file; give the client's secret as MCP_CLIENT_SECRET when you sign in (sevengate mcp login)", clipName(key))
		}
	}
	return nil
}

// literals names the variables and headers whose values do not come from the
// environment.
func literals(entry json.RawMessage) (out []string) {
	var w struct {
		Env     map[string]scalar `json:"env"`
		Headers map[string]string `json:"headers"`
	}
	if json.Unmarshal(entry, &w) != nil {
		return nil
	}
	for k, v := range w.Env {
		if !strings.Contains(string(v), "${") {
			out = append(out, k)
		}
	}
	for k, v := range w.Headers {
		if !strings.Contains(v, "${") {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func clipName(name string) string {
	if r := []rune(name); len(r) > MaxName {
		return string(r[:MaxName]) + "…"
	}
	return name
}
