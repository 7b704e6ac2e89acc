package settings

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

const (
	ownFolder      = ".sevengate"
	claudeFolder   = ".claude"
	sharedFile     = "settings.json"
	localFile      = "settings.local.json"
	managedFile    = "managed-settings.json"
	managedDropins = "managed-settings.d"
	trustFile      = "trust.json"
)

// Options tells Load where to look. Only Dir is needed.
type Options struct {
	// Dir is the session's start folder, absolute.
	Dir string
	// Home is the home directory; empty: the user's.
	Home string
	// StateDir is $SEVENGATE_HOME; empty: .sevengate in Home.
	StateDir string
	// ClaudeDir is $CLAUDE_CONFIG_DIR; empty: .claude in Home.
	ClaudeDir string
	// Flag is the value of --settings: a file, or JSON when it starts with "{".
	Flag string
	// Only narrows which of UserSettings, ProjectSettings and LocalSettings are read; nil reads all. Managed and flag
	// settings are always read. See ParseSources.
	Only []Source
	// ManagedDirs replaces the system's folders of managed settings, the weaker first. For tests and embedding
	// programs; it must never come from the environment, where a managed user could set it.
	ManagedDirs []string
	// WiderTrust tells that running here at all is a sign of trust (a headless run): git may be asked whether a local
	// file is tracked.
	WiderTrust bool
	// Trust is the record of trusted folders; nil: the one in StateDir.
	Trust *TrustStore
}

// FromEnvironment returns the options for a start folder with SEVENGATE_HOME and CLAUDE_CONFIG_DIR taken from the
// environment.
func FromEnvironment(dir string) Options {
	return Options{Dir: dir, StateDir: os.Getenv("SEVENGATE_HOME"), ClaudeDir: os.Getenv("CLAUDE_CONFIG_DIR")}
}

// ParseSources reads the value of --setting-sources: a comma-separated list of user, project and local. The empty text
// means none of them.
func ParseSources(text string) ([]Source, error) {
	out := []Source{}
	for name := range strings.SplitSeq(text, ",") {
		switch strings.TrimSpace(name) {
		case "":
		case "user":
			out = append(out, UserSettings)
		case "project":
			out = append(out, ProjectSettings)
		case "local":
			out = append(out, LocalSettings)
		default:
			return nil, fmt.Errorf("setting source %q is not known: use user, project, local", strings.TrimSpace(name))
		}
	}
	return out, nil
}

// place is one file to look for.
type place struct {
	source Source
	path   string // "" for inline
	dir    string // anchor of "/path" patterns
	inline []byte
	must   bool // a missing file is an error
}

// layout is where everything is, worked out once at the start of a session: a repository that appears or moves
// afterwards does not change what is read.
type layout struct {
	Options
	repo     repository
	trustKey string
}

func newLayout(o Options) (*layout, error) {
	if !filepath.IsAbs(o.Dir) {
		return nil, fmt.Errorf("settings: the start folder %q is not an absolute path", o.Dir)
	}
	o.Dir = filepath.Clean(o.Dir)
	if o.Home == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("settings: find the home directory: %w", err)
		}
		o.Home = home
	}
	if o.StateDir == "" {
		o.StateDir = filepath.Join(o.Home, ownFolder)
	}
	if o.ClaudeDir == "" {
		o.ClaudeDir = filepath.Join(o.Home, claudeFolder)
	}
	for _, dir := range []*string{&o.Home, &o.StateDir, &o.ClaudeDir} {
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return nil, fmt.Errorf("settings: %w", err)
		}
		*dir = abs
	}
	if o.ManagedDirs == nil {
		o.ManagedDirs = managedDirs()
	}
	if o.Trust == nil {
		o.Trust = OpenTrust(o.StateDir, o.Home)
	}
	l := &layout{Options: o, repo: findRepository(o.Dir)}
	l.trustKey = trustKey(o.Dir, l.repo)
	return l, nil
}

// places lists the files from the strongest to the weakest.
func (l *layout) places() ([]place, error) {
	var weakFirst []place
	add := func(s Source, anchor string, path ...string) {
		weakFirst = append(weakFirst, place{source: s, path: filepath.Join(path...), dir: anchor})
	}
	if l.wants(UserSettings) {
		add(UserSettings, l.ClaudeDir, l.ClaudeDir, sharedFile)
		add(UserSettings, l.StateDir, l.StateDir, sharedFile)
	}
	if l.wants(ProjectSettings) {
		add(ProjectSettings, l.Dir, l.Dir, claudeFolder, sharedFile)
		add(ProjectSettings, l.Dir, l.Dir, ownFolder, sharedFile)
	}
	if l.wants(LocalSettings) {
		for _, folder := range []string{claudeFolder, ownFolder} {
			add(LocalSettings, l.Dir, l.Dir, folder, localFile)
			if root := l.localRoot(); root != l.Dir {
				add(LocalSettings, l.Dir, root, folder, localFile)
			}
		}
	}
	if text := strings.TrimSpace(l.Flag); text != "" {
		p := place{source: FlagSettings, dir: l.Dir, must: true}
		if text[0] == '{' {
			p.inline = []byte(text)
		} else {
			p.path = text
			if !filepath.IsAbs(text) {
				p.path = filepath.Join(l.Dir, text)
			}
			p.dir = filepath.Dir(p.path)
		}
		weakFirst = append(weakFirst, p)
	}
	for _, dir := range l.ManagedDirs {
		// Managed files belong to no project: a pattern with one slash starts at the root of the file system.
		root := filepath.VolumeName(l.Dir) + string(filepath.Separator)
		add(PolicySettings, root, dir, managedFile)
		dropins, err := os.ReadDir(filepath.Join(dir, managedDropins))
		if err != nil && !absent(err) {
			return nil, fmt.Errorf("managed settings: %w", err)
		}
		for _, e := range dropins {
			if strings.HasSuffix(e.Name(), ".json") && !strings.HasPrefix(e.Name(), ".") {
				add(PolicySettings, root, dir, managedDropins, e.Name())
			}
		}
	}
	var out []place
	seen := map[string]bool{}
	// A start folder that is the home directory makes the user's file also the project's: it is the user's.
	for _, p := range weakFirst {
		if p.path == "" || !seen[p.path] {
			seen[p.path] = true
			out = append([]place{p}, out...)
		}
	}
	return out, nil
}

func (l *layout) wants(s Source) bool {
	if l.Only == nil {
		return true
	}
	for _, o := range l.Only {
		if o == s {
			return true
		}
	}
	return false
}

// localRoot is the folder whose local settings are read and written: the root of the main checkout, or the start
// folder outside git, in a repository that is the home directory or belongs to someone else, and on Windows.
func (l *layout) localRoot() string {
	root := l.repo.main
	if root == "" || runtime.GOOS == "windows" || root == realPath(l.Dir) || root == realPath(l.Home) || !sameOwner(root, l.repo.common) {
		return l.Dir
	}
	return root
}

// repository is the git repository around a folder; all empty outside one.
type repository struct {
	top    string // the checkout that the folder is in
	main   string // the main checkout, which differs from top in a linked worktree
	common string // the git folder that all worktrees share
}

// findRepository looks upwards for a checkout, reading files only: git itself may run what a repository's
// configuration names.
func findRepository(dir string) repository {
	for d := realPath(dir); ; d = filepath.Dir(d) {
		dot := filepath.Join(d, ".git")
		if info, err := os.Lstat(dot); err == nil {
			r := repository{top: d, main: d, common: dot}
			if info.Mode().IsRegular() {
				r.main, r.common = linkedFrom(d, dot)
			}
			return r
		}
		if d == filepath.Dir(d) {
			return repository{}
		}
	}
}

// linkedFrom finds the main checkout that a linked worktree belongs to. The claim must be confirmed from the other
// side: else any folder could name a trusted repository as its own.
func linkedFrom(top, dotFile string) (main, common string) {
	main = top
	gitDir, ok := readLine(dotFile, "gitdir: ")
	if !ok {
		return main, ""
	}
	gitDir = realPath(absoluteIn(top, gitDir))
	back, ok := readLine(filepath.Join(gitDir, "gitdir"), "")
	if !ok || realPath(absoluteIn(gitDir, back)) != realPath(dotFile) {
		return main, gitDir
	}
	shared, ok := readLine(filepath.Join(gitDir, "commondir"), "")
	if !ok {
		return main, gitDir
	}
	common = realPath(absoluteIn(gitDir, shared))
	if filepath.Dir(filepath.Dir(gitDir)) != common || filepath.Base(common) != ".git" {
		return main, common
	}
	return filepath.Dir(common), common
}

func absoluteIn(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// maxPointerFile is more than any file needs that only holds one path.
const maxPointerFile = 16 << 10

func readLine(path, prefix string) (string, bool) {
	data, err := readLimited(path, maxPointerFile)
	if err != nil {
		return "", false
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	return strings.CutPrefix(strings.TrimRight(string(line), "\r"), prefix)
}

// realPath follows links as far as the path exists.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	return filepath.Join(realPath(dir), filepath.Base(path))
}
