package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// ErrManagedOnly is returned when rules may not be saved because only an administrator's count.
var ErrManagedOnly = errors.New("managed settings allow managed rules only; nothing can be saved")

// Saved tells what a change did.
type Saved struct {
	File    string
	Changed bool // false: the file said so already
	// Note is set when the file was written and something beside it was not: the file could not be kept out of git.
	Note string
}

// AddRule adds a permission rule to the .sevengate file of LocalSettings, ProjectSettings or UserSettings, keeping
// comments and layout, in one step and safe against other processes that do the same. The file and its folder are
// made as needed; a local file is also entered in the repository's own exclude list (.git/info/exclude; the user's
// global git configuration is left alone), so that it is not committed. Files and folders that are symbolic links, and
// files that do not parse, are refused and left as they are.
func (w *Watcher) AddRule(source Source, b Behavior, rule string) (Saved, error) {
	if why := badRule(rule); why != "" {
		return Saved{}, fmt.Errorf("add rule %q: %s", clip(rule), why)
	}
	return w.change(source, b, appendRule(rule))
}

func appendRule(rule string) func(*hujson.Array) bool {
	return func(list *hujson.Array) bool {
		if indexOf(list, rule) >= 0 {
			return false
		}
		e := hujson.Value{Value: hujson.String(rule)}
		if n := len(list.Elements); n > 0 {
			e.BeforeExtra = indentOf(list.Elements[n-1].BeforeExtra)
		}
		appendValue(list, e)
		return true
	}
}

// RemoveRule removes a permission rule, as AddRule adds it; only the .sevengate file is looked at.
func (w *Watcher) RemoveRule(source Source, b Behavior, rule string) (Saved, error) {
	return w.change(source, b, func(list *hujson.Array) bool {
		found := false
		for i := indexOf(list, rule); i >= 0; i = indexOf(list, rule) {
			comments := bytes.TrimRight(list.Elements[i].BeforeExtra, " \t\r\n")
			list.Elements = slices.Delete(list.Elements, i, i+1)
			if len(comments) > 0 {
				// They may speak of the element before.
				after := &list.AfterExtra
				if i < len(list.Elements) {
					after = &list.Elements[i].BeforeExtra
				}
				*after = slices.Concat(hujson.Extra(comments), hujson.Extra("\n"), *after)
			}
			found = true
		}
		return found
	})
}

func (w *Watcher) change(source Source, b Behavior, edit func(*hujson.Array) bool) (Saved, error) {
	if b != Allow && b != Ask && b != Deny {
		return Saved{}, fmt.Errorf("behavior %q is not known: use allow, ask, deny", b)
	}
	w.mu.Lock()
	only := w.current.Settings.AllowManagedPermissionRulesOnly
	w.mu.Unlock()
	if only {
		return Saved{}, ErrManagedOnly
	}
	path, err := w.layout.target(source)
	if err != nil {
		return Saved{}, err
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return Saved{}, fmt.Errorf("save rule: %w", err)
	}
	if err := plainTarget(folder, path); err != nil {
		return Saved{}, err
	}
	// The lock stands in the state folder: a lock file in a repository would show up in it.
	if err := os.MkdirAll(w.layout.StateDir, 0o700); err != nil {
		return Saved{}, fmt.Errorf("save rule: %w", err)
	}
	unlock, err := lockFile(filepath.Join(w.layout.StateDir, "settings.lock"))
	if err != nil {
		return Saved{}, fmt.Errorf("save rule: %w", err)
	}
	defer unlock()
	saved := Saved{File: path}
	mode := os.FileMode(0o644)
	if source != ProjectSettings {
		mode = 0o600
	}
	old, err := readLimited(path, MaxFile)
	switch {
	case err == nil:
		if info, err := os.Stat(path); err == nil {
			mode = info.Mode().Perm()
		}
	case !errors.Is(err, fs.ErrNotExist):
		return saved, fmt.Errorf("save rule: %w", err)
	}
	data, changed, err := editList(old, b, edit)
	if err != nil {
		return saved, fmt.Errorf("save rule: %s is left as it is: %w", path, err)
	}
	if !changed {
		return saved, nil
	}
	if len(data) > MaxFile {
		return saved, fmt.Errorf("save rule: %s would become larger than %d bytes", path, MaxFile)
	}
	if err := replaceFile(path, data, mode); err != nil {
		return saved, err
	}
	saved.Changed = true
	if source == LocalSettings {
		if err := w.layout.exclude(); err != nil {
			saved.Note = fmt.Sprintf("git may show %s as a new file: %v", path, err)
		}
	}
	return saved, nil
}

// target is the file that rules of a source are saved to.
func (l *layout) target(source Source) (string, error) {
	switch source {
	case LocalSettings:
		return filepath.Join(l.localRoot(), ownFolder, localFile), nil
	case ProjectSettings:
		return filepath.Join(l.Dir, ownFolder, sharedFile), nil
	case UserSettings:
		return filepath.Join(l.StateDir, sharedFile), nil
	}
	return "", fmt.Errorf("rules of %s are not saved to a file: use %s, %s or %s", source, LocalSettings, ProjectSettings, UserSettings)
}

// plainTarget refuses to write through links: a repository could lead the file anywhere with them.
func plainTarget(folder, path string) error {
	for _, p := range []string{folder, path} {
		info, err := os.Lstat(p)
		if err == nil && info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
			return fmt.Errorf("save rule: %s is a symbolic link; settings are not written through links", p)
		}
	}
	return nil
}

// editList applies edit to one permissions list of a file's text, which may be empty.
func editList(data []byte, b Behavior, edit func(*hujson.Array) bool) (out []byte, changed bool, err error) {
	fresh := len(bytes.TrimSpace(data)) == 0
	if fresh {
		data = []byte("{}")
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if _, deep := tooDeep(data); deep {
		return nil, false, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	root, err := hujson.Parse(bytes.Clone(data))
	if err != nil {
		return nil, false, err
	}
	object, ok := root.Value.(*hujson.Object)
	if !ok {
		return nil, false, errors.New("it is not an object")
	}
	permissions, made, err := member[*hujson.Object](object, "permissions", func() hujson.ValueTrimmed { return &hujson.Object{} })
	if err != nil {
		return nil, false, err
	}
	list, madeList, err := member[*hujson.Array](permissions, string(b), func() hujson.ValueTrimmed { return &hujson.Array{} })
	if err != nil {
		return nil, false, err
	}
	if !edit(list) {
		return data, false, nil
	}
	if fresh || made || madeList {
		root.Format()
	}
	return root.Pack(), true, nil
}

// member finds the value of a key, or makes it. The last one counts if it is written more than once.
func member[T hujson.ValueTrimmed](object *hujson.Object, key string, make func() hujson.ValueTrimmed) (value T, made bool, err error) {
	for i := len(object.Members) - 1; i >= 0; i-- {
		if literal(object.Members[i].Name) != key {
			continue
		}
		v, ok := object.Members[i].Value.Value.(T)
		if !ok {
			return value, false, fmt.Errorf("%q is %s", key, kindOf(object.Members[i].Value))
		}
		return v, false, nil
	}
	v := make()
	object.Members = append(object.Members, hujson.ObjectMember{
		Name: hujson.Value{BeforeExtra: hujson.Extra("\n"), Value: hujson.String(key)}, Value: hujson.Value{Value: v},
	})
	return v.(T), true, nil
}

func indexOf(list *hujson.Array, text string) int {
	return slices.IndexFunc(list.Elements, func(v hujson.Value) bool {
		return v.Value.Kind() == '"' && literal(v) == text
	})
}

// appendValue adds an element at the end, keeping a comment that follows the last one where it is.
func appendValue(list *hujson.Array, e hujson.Value) {
	if len(list.Elements) == 0 {
		list.Elements = append(list.Elements, e)
		return
	}
	trailing := list.AfterExtra
	if list.Elements[len(list.Elements)-1].AfterExtra != nil {
		e.AfterExtra = hujson.Extra{} // there is a comma after the last element; keep it so
	}
	if comment := bytes.TrimRight(trailing, " \t\r\n"); len(comment) > 0 {
		e.BeforeExtra = append(slices.Clone(hujson.Extra(comment)), e.BeforeExtra...)
		if !bytes.Contains(e.BeforeExtra, []byte("\n")) {
			e.BeforeExtra = append(e.BeforeExtra, '\n') // a line comment must end
		}
		trailing = trailing[len(comment):]
	}
	list.Elements = append(list.Elements, e)
	list.AfterExtra = trailing
}

// indentOf is the white space before an element, without comments.
func indentOf(extra hujson.Extra) hujson.Extra {
	if i := bytes.LastIndexByte(extra, '\n'); i >= 0 {
		tail := extra[i:]
		return slices.Clone(tail[:len(tail)-len(bytes.TrimLeft(tail, " \t\r\n"))])
	}
	return hujson.Extra(" ")
}

// exclude enters the local settings file in the repository's own exclude list.
func (l *layout) exclude() error {
	if l.repo.common == "" {
		return nil
	}
	dir := filepath.Join(l.repo.common, "info")
	path := filepath.Join(dir, "exclude")
	line := "**/" + ownFolder + "/" + localFile
	old, err := readLimited(path, MaxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for have := range strings.Lines(string(old)) {
		if strings.TrimRight(have, "\r\n") == line {
			return nil
		}
	}
	if err := plainTarget(dir, path); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if len(old) > 0 && !bytes.HasSuffix(old, []byte("\n")) {
		old = append(old, '\n')
	}
	return replaceFile(path, append(old, line+"\n"...), 0o644)
}
