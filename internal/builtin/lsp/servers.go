package lsp

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Server says how a language server is started and which files it knows.
type Server struct {
	Name    string
	Command string // a name that is looked up on PATH, or an absolute path
	Args    []string
	// Languages are the protocol's language names by file extension (".go").
	Languages map[string]string
	// RootMarkers are names of files or folders that stand in a project's root.
	RootMarkers []string
	// Env are more variables (NAME=value) for the server.
	Env []string
	// InitializationOptions and Settings are handed on to the server.
	InitializationOptions, Settings json.RawMessage
	// StartupTimeout and RequestTimeout bound the start and one question; 0 means 45
	// and 60 seconds.
	StartupTimeout, RequestTimeout time.Duration
	// MaxRestarts is how often a server that ended is started again; 0 means
	// [DefaultMaxRestarts], less than 0 never.
	MaxRestarts int
}

// DefaultServers are the servers that are known without configuration.
func DefaultServers() []Server {
	script := map[string]string{".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact",
		".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact"}
	c := map[string]string{".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp", ".hxx": "cpp", ".m": "objective-c", ".mm": "objective-cpp"}
	return []Server{
		{Name: "gopls", Command: "gopls", Languages: map[string]string{".go": "go"}, RootMarkers: []string{"go.work", "go.mod"}},
		{Name: "typescript-language-server", Command: "typescript-language-server", Args: []string{"--stdio"}, Languages: script,
			RootMarkers: []string{"tsconfig.json", "jsconfig.json", "package.json"},
			// Its second server answers before the project is loaded, and wrongly.
			InitializationOptions: json.RawMessage(`{"tsserver":{"useSyntaxServer":"never"}}`)},
		{Name: "pyright", Command: "pyright-langserver", Args: []string{"--stdio"}, Languages: map[string]string{".py": "python", ".pyi": "python"},
			RootMarkers: []string{"pyrightconfig.json", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"},
			Settings:    json.RawMessage(`{"python":{"analysis":{"autoSearchPaths":true,"useLibraryCodeForTypes":true}}}`)},
		{Name: "rust-analyzer", Command: "rust-analyzer", Languages: map[string]string{".rs": "rust"}, RootMarkers: []string{"Cargo.toml"}},
		{Name: "clangd", Command: "clangd", Languages: c, RootMarkers: []string{"compile_commands.json", "compile_flags.txt", ".clangd"}},
	}
}

// language is the language of a path, if the server knows it.
func (s Server) language(path string) (string, bool) {
	l, ok := s.Languages[strings.ToLower(filepath.Ext(path))]
	return l, ok
}

// maxRootSteps bounds the way up from a file.
const maxRootSteps = 64

// root finds the project that a file belongs to: the nearest folder with a marker of
// the server, else the nearest repository, else the root of the session that holds
// the file, else its folder. The home directory and what is above it are no project.
func (s Server) root(path, home string, roots []string) string {
	up := func(markers ...string) string {
		dir := filepath.Dir(path)
		for range maxRootSteps {
			if dir == home || dir == filepath.Dir(dir) || home != "" && strings.HasPrefix(home, dir+string(filepath.Separator)) {
				break
			}
			for _, m := range markers {
				if _, err := os.Lstat(filepath.Join(dir, m)); err == nil {
					return dir
				}
			}
			dir = filepath.Dir(dir)
		}
		return ""
	}
	if len(s.RootMarkers) > 0 {
		if dir := up(s.RootMarkers...); dir != "" {
			return dir
		}
	}
	if dir := up(".git"); dir != "" {
		return dir
	}
	for _, r := range roots {
		if within(r, path) {
			return r
		}
	}
	return filepath.Dir(path)
}

// within tells whether a path is a folder or lies below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// lookPath finds a program on the PATH of an environment. Folders that are not
// absolute do not count: what runs must not depend on where.
func lookPath(env []string, command string) (string, bool) {
	if filepath.IsAbs(command) {
		return command, executable(command)
	}
	if command == "" || strings.ContainsAny(command, `/\`) {
		return "", false
	}
	if runtime.GOOS == "windows" {
		path, err := exec.LookPath(command)
		return path, err == nil && filepath.IsAbs(path)
	}
	for _, dir := range filepath.SplitList(variable(env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path := filepath.Join(dir, command); executable(path) {
			return path, true
		}
	}
	return "", false
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0)
}

func variable(env []string, name string) (value string) {
	for _, kv := range env {
		if n, v, ok := strings.Cut(kv, "="); ok && n == name {
			value = v
		}
	}
	return value
}
