package shellscan

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxConfig bounds what is read of one configuration file.
const maxConfig = 1 << 20

// RepoRunsHelpers tells whether the configuration of the Git repository that
// holds dir would make git run programs while it only looks (a file system
// monitor, an external diff, text conversion, filters, a hook on reading the
// index), and names the setting. It reads the repository's own files alone, not
// the user's; what cannot be read is reported as a helper. A directory outside
// every repository has none.
func RepoRunsHelpers(dir string) (runs bool, key string) {
	gitDir, found, err := findGitDir(dir)
	if err != nil {
		return true, "(its .git cannot be read)"
	}
	if !found {
		return false, ""
	}
	common := gitDir
	if b, err := readSmall(filepath.Join(gitDir, "commondir")); err == nil {
		if common = strings.TrimSpace(string(b)); !filepath.IsAbs(common) {
			common = filepath.Join(gitDir, common)
		}
	}
	hooks := filepath.Join(common, "hooks")
	for _, f := range []string{filepath.Join(common, "config"), filepath.Join(gitDir, "config.worktree")} {
		b, err := readSmall(f)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return true, "(" + filepath.Base(f) + " cannot be read)"
		}
		if key, moved := dangerousKey(b); key != "" {
			return true, key
		} else if moved != "" {
			if hooks = moved; !filepath.IsAbs(hooks) {
				hooks = filepath.Join(dir, hooks)
			}
		}
	}
	if info, err := os.Stat(filepath.Join(hooks, "post-index-change")); err == nil && info.Mode()&0o111 != 0 {
		return true, "hook post-index-change"
	}
	return false, ""
}

// findGitDir looks for the repository from dir upwards.
func findGitDir(dir string) (gitDir string, found bool, err error) {
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		p := filepath.Join(d, ".git")
		info, err := os.Stat(p)
		switch {
		case err == nil && info.IsDir():
			return p, true, nil
		case err == nil:
			b, err := readSmall(p)
			if err != nil {
				return "", false, err
			}
			to, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir:")
			if !ok {
				return "", false, os.ErrInvalid
			}
			if to = strings.TrimSpace(to); !filepath.IsAbs(to) {
				to = filepath.Join(d, to)
			}
			return to, true, nil
		case !os.IsNotExist(err) && !isNotDir(err):
			return "", false, err
		}
		// A bare repository, or the inside of a .git directory.
		if exists(filepath.Join(d, "HEAD")) && exists(filepath.Join(d, "objects")) && exists(filepath.Join(d, "refs")) {
			return d, true, nil
		}
		if filepath.Dir(d) == d {
			return "", false, nil
		}
	}
}

func isNotDir(err error) bool { return strings.Contains(err.Error(), "not a directory") }

func exists(p string) bool {
	_, err := os.Stat(p)
	return err == nil
}

func readSmall(p string) ([]byte, error) {
	info, err := os.Stat(p)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, os.ErrInvalid // a pipe would block
	}
	f, err := os.Open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(b) > maxConfig {
		err = os.ErrInvalid
	}
	return b, err
}

// dangerousKey finds a setting that makes git run a program while it only looks,
// and where hooks have been moved to.
func dangerousKey(config []byte) (key, hooks string) {
	section, sub := "", ""
	promisor, transport := false, ""
	sc := bufio.NewScanner(bytes.NewReader(config))
	sc.Buffer(nil, maxConfig+1)
	for sc.Scan() {
		line := sc.Text()
		for strings.HasSuffix(line, "\\") && sc.Scan() {
			line = line[:len(line)-1] + sc.Text()
		}
		line = strings.TrimLeft(strings.TrimPrefix(line, "\ufeff"), " \t\r\f\v")
		for strings.HasPrefix(line, "[") {
			end := sectionEnd(line)
			if end < 0 {
				return "(a section that is not understood)", ""
			}
			head := line[1:end]
			section, sub, _ = strings.Cut(head, " ")
			if k := strings.IndexAny(section, ".\t\""); k >= 0 {
				section, sub = section[:k], head[k+1:]
			}
			section = strings.ToLower(section)
			line = strings.TrimLeft(line[end+1:], " \t\r")
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		name, value, has := strings.Cut(line, "=")
		if k := strings.IndexAny(name, "#;"); k >= 0 {
			name, has = name[:k], false
		}
		name = strings.ToLower(strings.TrimSpace(name))
		value = strings.Trim(strings.TrimSpace(value), "\"")
		if !has {
			value = "true"
		}
		full := section + "." + name
		if sub != "" {
			full = section + "." + strings.Trim(strings.TrimSpace(sub), "\"") + "." + name
		}
		switch section {
		case "core":
			switch name {
			case "fsmonitor":
				switch strings.ToLower(value) {
				case "true", "false", "yes", "no", "on", "off", "1", "0", "":
				default:
					return full, ""
				}
			case "hookspath":
				hooks = value
			case "alternaterefscommand", "gitproxy":
				return full, ""
			case "sshcommand":
				transport = full
			case "worktree":
				return full, ""
			}
		case "diff":
			if name == "external" || name == "command" || name == "textconv" {
				return full, ""
			}
		case "filter":
			if (name == "clean" || name == "smudge" || name == "process") && !strings.HasPrefix(value, "git-lfs ") {
				return full, ""
			}
			if strings.ContainsAny(value, ";|&$`<>\\\"'") && name != "required" {
				return full, ""
			}
		case "include", "includeif":
			return full, ""
		case "log":
			if name == "showsignature" && strings.ToLower(value) != "false" {
				return full, ""
			}
		case "gpg":
			if name == "program" || name == "defaultkeycommand" {
				return full, ""
			}
		case "remote":
			switch name {
			case "promisor", "partialclonefilter":
				promisor = true
			case "uploadpack", "vcs":
				transport = full
			case "url":
				if strings.Contains(value, "::") || strings.HasPrefix(value, "-") {
					transport = full
				}
			}
		case "extensions":
			promisor = promisor || name == "partialclone"
		case "man", "browser":
			return full, "" // git help
		case "help":
			if name == "format" && value != "man" || name == "browser" {
				return full, ""
			}
		case "interactive", "trailer", "merge", "alias", "pager":
			// These run only for subcommands or terminals that no look has.
		}
	}
	if sc.Err() != nil {
		return "(its settings cannot be read)", ""
	}
	if promisor && transport != "" {
		return transport, ""
	}
	return "", hooks
}

// sectionEnd finds the ] that ends a section's head.
func sectionEnd(line string) int {
	quoted := false
	for i := 1; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == ']' && !quoted:
			return i
		}
	}
	return -1
}
