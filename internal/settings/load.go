package settings

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// gitTimeout bounds the question whether a file is tracked.
const gitTimeout = 5 * time.Second

// Why entries are held.
const (
	heldUntrusted   = "this folder is not trusted yet"
	heldLink        = "the file is reached through a symbolic link, so it may come from the repository, and this folder is not trusted yet"
	heldTracked     = "the file is tracked by git, so it comes from the repository, and this folder is not trusted yet"
	heldUnknown     = "the file may come from the repository (whether git tracks it is asked only in a trusted folder)"
	heldManagedOnly = "managed settings allow managed rules only"
)

// Load reads all settings files. It fails when there is no usable place to start from, when the file that --settings
// names cannot be used, and when a managed file exists and cannot be used: an administrator's rules must not be lost.
// What is wrong with other files is in the snapshot.
func Load(ctx context.Context, o Options) (*Snapshot, error) {
	l, err := newLayout(o)
	if err != nil {
		return nil, err
	}
	return l.load(ctx, nil)
}

// load reads everything; last is the snapshot before, whose deny and ask rules stand in for files that broke since.
func (l *layout) load(ctx context.Context, last *Snapshot) (*Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	s := &Snapshot{layout: l, broken: map[Source]bool{}}
	// What is noted of the files is noted before they are read: a change in between shows up at the next look.
	s.prints = l.fingerprints(nil)
	places, err := l.places()
	if err != nil {
		return nil, err
	}
	s.Trust = Trust{Key: l.trustKey}
	if s.Trust.Trusted, s.Trust.Parent, err = l.Trust.lookup(l.trustKey); err != nil {
		s.Warnings = append(s.Warnings, Problem{File: l.Trust.path, Text: err.Error()})
	}
	for _, p := range places {
		d := &document{place: p, state: Absent}
		if err := d.open(); err != nil {
			return nil, err
		}
		if d.state == Broken {
			d.keep(last)
		}
		l.hold(ctx, d, s.Trust)
		s.docs = append(s.docs, d)
	}
	s.Settings = combine(s.docs, s.Trust)
	s.holdUnmanaged()
	s.dropLooseMode()
	for _, d := range s.docs {
		s.Problems = append(s.Problems, d.problems...)
		s.Warnings = append(s.Warnings, d.warnings...)
		if d.state == Broken {
			s.broken[d.source] = true
		}
		env, _ := d.values["env"].(map[string]any)
		s.Files = append(s.Files, File{
			Source: d.source, Path: d.path, State: d.state, Repository: d.repository,
			Allow: len(d.lists[Allow]), Ask: len(d.lists[Ask]), Deny: len(d.lists[Deny]),
			Directories: len(d.dirs), Hooks: len(d.hooks), Env: len(env),
		})
	}
	return s, nil
}

// open fills the document from its file. An error is one that must stop the program.
func (d *document) open() error {
	data := d.inline
	if d.path != "" {
		var err error
		data, err = readLimited(d.path, MaxFile)
		switch {
		case err == nil:
		case absent(err) && d.must:
			return fmt.Errorf("--settings %s: there is no such file", d.path)
		case absent(err):
			return nil
		default:
			d.problem(-1, "", "cannot be read: %v", plainReason(err))
			return d.fatal()
		}
	} else if len(data) > MaxFile {
		return fmt.Errorf("--settings: larger than %d bytes", MaxFile)
	}
	d.parse(data)
	return d.fatal()
}

// plainReason takes the path off an error that is shown behind it.
func plainReason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// absent tells that there is no file. A parent that is no folder counts too: then there can be none.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }

// fatal is the error of a broken file that must not be broken.
func (d *document) fatal() error {
	if len(d.problems) == 0 {
		return nil
	}
	switch d.source {
	case PolicySettings:
		return fmt.Errorf("managed settings cannot be used, so nothing may run: %s", d.problems[0])
	case FlagSettings:
		return fmt.Errorf("--settings cannot be used: %s", d.problems[0])
	}
	return nil
}

// keep takes over the deny and ask rules that the file had when it was last whole.
func (d *document) keep(last *Snapshot) {
	if last == nil {
		return
	}
	for _, old := range last.docs {
		if old.path != d.path || old.source != d.source {
			continue
		}
		for _, b := range []Behavior{Deny, Ask} {
			for _, e := range old.lists[b] {
				e.Salvaged, e.Held = true, ""
				if d.lists == nil {
					d.lists = map[Behavior][]Entry{}
				}
				if !slices.ContainsFunc(d.lists[b], func(h Entry) bool { return h.Text == e.Text }) {
					d.lists[b] = append(d.lists[b], e)
				}
			}
		}
	}
}

// hold decides whether a file counts as the repository's, and marks what waits for trust. Deny and ask rules never
// wait.
func (l *layout) hold(ctx context.Context, d *document, trust Trust) {
	if d.state == Absent || !fromRepository(d.source) {
		return
	}
	why := ""
	switch d.source {
	case ProjectSettings:
		d.repository, why = true, heldUntrusted
	case LocalSettings:
		d.repository, why = l.localOrigin(ctx, d, trust)
	}
	if trust.Trusted || why == "" {
		return
	}
	mark := func(list []Entry) {
		for i := range list {
			list[i].Held = why
		}
	}
	mark(d.lists[Allow])
	mark(d.dirs)
	if mode, ok := lookup(d.values, []string{"permissions", "defaultMode"}); ok && mode == "acceptEdits" {
		d.warn(-1, "permissions.defaultMode", "not in force: %s", why)
		remove(d.values, []string{"permissions", "defaultMode"})
	}
}

// localOrigin tells whether a local file is the repository's rather than the person's, and why its allow rules wait.
func (l *layout) localOrigin(ctx context.Context, d *document, trust Trust) (repository bool, why string) {
	for _, p := range []string{d.path, filepath.Dir(d.path)} {
		if info, err := os.Lstat(p); err != nil || info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
			return true, heldLink
		}
	}
	if l.repo.top == "" {
		return false, ""
	}
	if !trust.Trusted && !trust.Parent && !l.WiderTrust {
		return true, heldUnknown
	}
	if tracked(ctx, d.path) {
		return true, heldTracked
	}
	return false, ""
}

// tracked asks git whether the file, in any letter case, is in its index. When git cannot tell, it is.
func tracked(ctx context.Context, path string) bool {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	// What a repository's configuration may name to be run is switched off.
	cmd := exec.CommandContext(ctx, "git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath="+os.DevNull,
		"ls-files", "--cached", "--", ":(icase)"+filepath.Base(path))
	cmd.Dir = filepath.Dir(path)
	cmd.WaitDelay = time.Second
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
	out, err := cmd.Output()
	return err != nil || len(out) > 0
}

// holdUnmanaged takes all rules but the administrator's out of force, if the administrator says so.
func (s *Snapshot) holdUnmanaged() {
	if !s.Settings.AllowManagedPermissionRulesOnly {
		return
	}
	p := &s.Settings.Permissions
	for _, list := range [][]Entry{p.Allow, p.Ask, p.Deny} {
		for i := range list {
			if list[i].Source != PolicySettings {
				list[i].Held = heldManagedOnly
			}
		}
	}
}

// dropLooseMode drops a start mode that a lock forbids.
func (s *Snapshot) dropLooseMode() {
	p := &s.Settings.Permissions
	if p.DefaultMode == "bypassPermissions" && p.DisableBypassPermissionsMode || p.DefaultMode == "auto" && p.DisableAutoMode {
		s.Warnings = append(s.Warnings, Problem{Source: p.DefaultModeSource, Field: "permissions.defaultMode",
			Text: fmt.Sprintf("ignored: mode %s is disabled by another setting", p.DefaultMode)})
		p.DefaultMode, p.DefaultModeSource = "", ""
	}
}

// String gives the problem on one line: file:line:column: field: text.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.File == "" {
		b.WriteString(string(p.Source))
	}
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	if p.Field != "" {
		b.WriteString(": " + p.Field)
	}
	b.WriteString(": " + p.Text)
	return b.String()
}
