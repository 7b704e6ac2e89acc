package walk

import (
	"io"
	"path"
	"path/filepath"
	"strings"
)

// limited reads at most one byte more than its limit, so that a reader sees that there was more.
type limited struct {
	r    io.Reader
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, io.EOF
	}
	if len(p) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	l.left -= n
	return n, err
}

// repository reads what applies to the whole of the repository whose work tree begins at dir.
func (r *rules) repository(dir string, fold bool) *repository {
	repo := &repository{}
	common := gitCommonDir(dir)
	if common != "" {
		repo.excludePath = path.Join(common, "info/exclude")
		repo.exclude = r.readList(repo.excludePath, fold, true)
	}
	if r.opts.NoGlobal {
		return repo
	}
	repo.globalPath = r.global().excludes
	if common != "" {
		if own := parseGitConfig(readSmall(path.Join(common, "config"), true)); own.excludes != "" {
			repo.globalPath = r.expand(own.excludes, dir)
		}
	}
	if repo.globalPath != "" {
		repo.global = r.readList(repo.globalPath, fold, true)
	}
	return repo
}

func (r *rules) repositoryFolds(dir string) bool {
	own := parseGitConfig(readSmall(path.Join(gitCommonDir(dir), "config"), true))
	if own.caseSet {
		return own.ignoreCase
	}
	return !r.opts.NoGlobal && r.global().ignoreCase
}

// gitCommonDir returns the directory that holds a repository's info and config, or "". In a linked work tree or a
// submodule, .git is a file that names the directory.
func gitCommonDir(dir string) string {
	dotGit := path.Join(dir, ".git")
	data := readSmall(dotGit, true)
	if data == nil {
		if exists(dotGit) {
			return dotGit
		}
		return ""
	}
	target, ok := strings.CutPrefix(string(data), "gitdir:")
	if !ok {
		return ""
	}
	gitDir := absolute(strings.TrimSpace(target), dir)
	if common := readSmall(path.Join(gitDir, "commondir"), true); common != nil {
		return absolute(strings.TrimSpace(string(common)), gitDir)
	}
	return gitDir
}

func absolute(p, base string) string {
	p = filepath.ToSlash(p)
	if filepath.IsAbs(filepath.FromSlash(p)) {
		return path.Clean(p)
	}
	return path.Join(base, p)
}

func (r *rules) home() string {
	if h := r.getenv("HOME"); h != "" {
		return filepath.ToSlash(h)
	}
	return filepath.ToSlash(r.getenv("USERPROFILE"))
}

// expand resolves "~/" and relative paths of a configuration value.
func (r *rules) expand(p, base string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		if r.home() == "" {
			return ""
		}
		return path.Join(r.home(), rest)
	}
	return absolute(p, base)
}

// readGlobalConfig reads the system's and the person's configuration. Files named by include.path are not read.
func (r *rules) readGlobalConfig() globalConfig {
	home := r.home()
	xdg := filepath.ToSlash(r.getenv("XDG_CONFIG_HOME"))
	if xdg == "" && home != "" {
		xdg = path.Join(home, ".config")
	}
	var files []string
	if no := r.getenv("GIT_CONFIG_NOSYSTEM"); no == "" || no == "0" || no == "false" {
		files = append(files, "/etc/gitconfig")
	}
	if f := r.getenv("GIT_CONFIG_GLOBAL"); f != "" {
		files = append(files, filepath.ToSlash(f))
	} else {
		if xdg != "" {
			files = append(files, path.Join(xdg, "git/config"))
		}
		if home != "" {
			files = append(files, path.Join(home, ".gitconfig"))
		}
	}
	var c globalConfig
	for _, f := range files {
		own := parseGitConfig(readSmall(f, true))
		if own.excludesSet {
			c.excludes = ""
			if own.excludes != "" {
				c.excludes = r.expand(own.excludes, path.Dir(f))
			}
		}
		if own.caseSet {
			c.ignoreCase = own.ignoreCase
		}
		if own.excludesSet {
			xdg = ""
		}
	}
	if c.excludes == "" && xdg != "" {
		c.excludes = path.Join(xdg, "git/ignore")
	}
	return c
}

type gitConfig struct {
	excludes             string
	ignoreCase           bool
	excludesSet, caseSet bool
}

// parseGitConfig reads the two settings of section core that matter here.
func parseGitConfig(data []byte) gitConfig {
	var c gitConfig
	section := ""
	for text := string(data); text != ""; {
		line, rest, _ := strings.Cut(text, "\n")
		text = rest
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			head, after, ok := strings.Cut(line[1:], "]")
			if !ok {
				continue
			}
			section = strings.ToLower(strings.TrimSpace(head))
			line = strings.TrimSpace(after)
		}
		if section != "core" || line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, hasValue := strings.Cut(line, "=")
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "excludesfile":
			c.excludes, c.excludesSet = configValue(value), true
		case "ignorecase":
			switch strings.ToLower(configValue(value)) {
			case "true", "yes", "on", "1":
				c.ignoreCase = true
			default:
				c.ignoreCase = !hasValue
			}
			c.caseSet = true
		}
	}
	return c
}

// configValue removes quotes, escapes and a comment.
func configValue(s string) string {
	s = strings.TrimSpace(s)
	var b strings.Builder
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && i+1 < len(s):
			i++
			switch s[i] {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			default:
				b.WriteByte(s[i])
			}
		case (c == '#' || c == ';') && !quoted:
			return strings.TrimSpace(b.String())
		default:
			b.WriteByte(c)
		}
	}
	return strings.TrimSpace(b.String())
}
