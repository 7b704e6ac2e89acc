package shellrun

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Shell is a shell that commands are given to.
type Shell struct {
	Path string // absolute
	Kind string // "bash" or "zsh"
}

// FindShell chooses the shell: SEVENGATE_SHELL, then CLAUDE_CODE_SHELL, then SHELL, each only if it names an executable
// bash or zsh; else bash, then zsh, from PATH. A value of the first two that cannot be used is an error, so that a wish is
// never silently dropped; SHELL is taken as a hint. getenv is usually os.Getenv.
func FindShell(getenv func(string) string) (Shell, error) {
	for _, name := range []string{EnvShell, EnvShellCompat} {
		if v := getenv(name); v != "" {
			s, err := shellAt(v)
			if err != nil {
				return Shell{}, fmt.Errorf("%s: %w", name, err)
			}
			return s, nil
		}
	}
	if v := getenv("SHELL"); v != "" {
		if s, err := shellAt(v); err == nil {
			return s, nil
		}
	}
	for _, name := range []string{"bash", "zsh"} {
		if p := lookIn(getenv("PATH"), name); p != "" {
			return Shell{Path: p, Kind: name}, nil
		}
	}
	return Shell{}, errors.New("no shell found: neither bash nor zsh is on PATH; set " + EnvShell + " to one")
}

// lookIn searches absolute directories only: a relative PATH entry would let a project supply the shell.
func lookIn(path, name string) string {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return p
		}
	}
	return ""
}

func shellAt(path string) (Shell, error) {
	if !filepath.IsAbs(path) {
		return Shell{}, fmt.Errorf("shell %q refused: an absolute path to bash or zsh is needed", path)
	}
	kind := strings.TrimSuffix(strings.ToLower(filepath.Base(path)), ".exe")
	if kind != "bash" && kind != "zsh" {
		return Shell{}, fmt.Errorf("shell %q refused: only bash and zsh are supported", path)
	}
	if _, err := exec.LookPath(path); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return Shell{}, fmt.Errorf("shell %q does not exist", path)
		}
		return Shell{}, fmt.Errorf("shell %q cannot be run: %w", path, err)
	}
	return Shell{Path: path, Kind: kind}, nil
}
