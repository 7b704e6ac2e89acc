package lspclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// Defaults and limits of a server.
const (
	// DefaultStartupTimeout bounds the start, up to the answer to initialize.
	DefaultStartupTimeout = 45 * time.Second
	// DefaultRequestTimeout bounds one question.
	DefaultRequestTimeout = 60 * time.Second
	// ShutdownTimeout is how long a server may take to end when it is asked to.
	ShutdownTimeout = 2 * time.Second
	// afterEnd is how long what a server said is still read when it has ended.
	afterEnd = time.Second
	// MaxStderrBytes is how much of the last words of a server is kept.
	MaxStderrBytes = 8 << 10
	// MaxOpenFiles is how many files a server has open at once; the one that was not
	// used for the longest time is closed first.
	MaxOpenFiles = 32
	// MaxFileBytes is the largest file that is shown to a server.
	MaxFileBytes = 4 << 20
	// MaxDiagnosticFiles and MaxFileDiagnostics bound the diagnostics that are kept.
	MaxDiagnosticFiles = 2_000
	MaxFileDiagnostics = 500
	// maxConfigItems bounds one question of a server for its configuration.
	maxConfigItems = 1_000
	// maxTasks bounds the running tasks of a server that are kept.
	maxTasks = 64
)

// Config says how a server is started. It is not changed.
type Config struct {
	// Name is for messages.
	Name string
	// Path is the program; Args, Env and Dir are its arguments, whole environment and
	// working directory.
	Path string
	Args []string
	Env  []string
	// Root is the project's folder, absolute; the server is started in it.
	Root string
	// InitializationOptions are handed on; nil leaves them out.
	InitializationOptions json.RawMessage
	// Settings are what the server is told when it asks for its configuration: an
	// object, in which a section "a.b" is looked up step by step.
	Settings json.RawMessage
	// Timeouts; 0 means the defaults.
	StartupTimeout, RequestTimeout time.Duration
}

// Server is a running language server. It is safe for concurrent use.
type Server struct {
	cfg    Config
	cmd    *exec.Cmd
	conn   *conn
	stderr tail
	exited chan struct{} // closed when the process is gone
	caps   map[string]json.RawMessage
	closed sync.Once

	mu    sync.Mutex
	tasks map[string]string // running tasks by token
	diags diagnostics

	docs documents
}

// Start starts a server and greets it. The end of ctx ends only the start. Errors
// tell the last words of a server that would not start.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.StartupTimeout <= 0 {
		cfg.StartupTimeout = DefaultStartupTimeout
	}
	if cfg.RequestTimeout <= 0 {
		cfg.RequestTimeout = DefaultRequestTimeout
	}
	s := &Server{cfg: cfg, exited: make(chan struct{}), tasks: map[string]string{}}
	s.diags.init()
	s.docs.init()
	s.cmd = exec.Command(cfg.Path, cfg.Args...)
	s.cmd.Dir, s.cmd.Env, s.cmd.Stderr, s.cmd.WaitDelay = cfg.Root, cfg.Env, &s.stderr, ShutdownTimeout
	detach(s.cmd)
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", cfg.Name, err)
	}
	// A pipe of our own: that of StdoutPipe is closed as soon as the process has
	// ended, whatever is still in it.
	out, write, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("starting %s: %w", cfg.Name, err)
	}
	s.cmd.Stdout = write
	err = s.cmd.Start()
	write.Close()
	if err != nil {
		out.Close()
		return nil, fmt.Errorf("starting %s: %w", cfg.Name, err)
	}
	s.conn = newConn(out, in, s.handle)
	go s.reap() // awaited by Close, which every way out of here calls
	ctx, cancel := context.WithTimeoutCause(ctx, cfg.StartupTimeout, fmt.Errorf("it did not answer within %s", cfg.StartupTimeout))
	defer cancel()
	if err := s.initialize(ctx); err != nil {
		s.kill()
		words := s.LastWords()
		if words != "" {
			words = "; its last words: " + words
		}
		return nil, fmt.Errorf("starting %s: %w%s", cfg.Name, err, words)
	}
	return s, nil
}

// reap waits for the end of the process.
func (s *Server) reap() {
	err := s.cmd.Wait()
	text := "the server ended"
	if err != nil {
		text += ": " + err.Error()
	}
	killRest(s.cmd.Process) // what it started and left behind
	select {
	case <-s.conn.done: // all that it sent was read
	case <-time.After(afterEnd):
		s.conn.fail(errors.New(text))
	}
	close(s.exited)
}

func (s *Server) initialize(ctx context.Context) error {
	yes := map[string]any{"dynamicRegistration": false}
	link := map[string]any{"dynamicRegistration": false, "linkSupport": true}
	params := map[string]any{
		"processId": os.Getpid(),
		"rootUri":   URIOf(s.cfg.Root),
		"rootPath":  s.cfg.Root,
		"workspaceFolders": []any{
			map[string]any{"uri": URIOf(s.cfg.Root), "name": filepath.Base(s.cfg.Root)},
		},
		"capabilities": map[string]any{
			"general": map[string]any{"positionEncodings": []string{"utf-16"}},
			"window":  map[string]any{"workDoneProgress": true},
			"workspace": map[string]any{
				"configuration": true, "workspaceFolders": true, "applyEdit": false,
				"didChangeWatchedFiles":  map[string]any{"dynamicRegistration": true},
				"didChangeConfiguration": yes, "symbol": yes,
			},
			"textDocument": map[string]any{
				"synchronization": map[string]any{"dynamicRegistration": false, "didSave": true},
				"definition":      link, "implementation": link, "references": yes, "callHierarchy": yes,
				"hover":              map[string]any{"contentFormat": []string{"markdown", "plaintext"}},
				"documentSymbol":     map[string]any{"hierarchicalDocumentSymbolSupport": true},
				"publishDiagnostics": map[string]any{"versionSupport": true, "relatedInformation": false},
			},
		},
	}
	if s.cfg.InitializationOptions != nil {
		params["initializationOptions"] = s.cfg.InitializationOptions
	}
	raw, err := s.conn.call(ctx, "initialize", params)
	if err != nil {
		return err
	}
	var answer struct {
		Capabilities map[string]json.RawMessage `json:"capabilities"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("its answer to initialize cannot be read: %w", err)
	}
	var encoding string
	if json.Unmarshal(answer.Capabilities["positionEncoding"], &encoding) == nil && encoding != "" && encoding != "utf-16" {
		return fmt.Errorf("it counts positions in %.20q, and was offered utf-16 only", encoding)
	}
	s.caps = answer.Capabilities
	if err := s.conn.notify("initialized", struct{}{}); err != nil {
		return err
	}
	if s.cfg.Settings != nil {
		return s.conn.notify("workspace/didChangeConfiguration", map[string]any{"settings": s.cfg.Settings})
	}
	return nil
}

// Has tells whether the server can do something, by the name of its capability.
func (s *Server) Has(capability string) bool {
	raw, ok := s.caps[capability]
	return ok && string(raw) != "false" && string(raw) != "null"
}

// Request asks the server, within the configured time.
func (s *Server) Request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.RequestTimeout, fmt.Errorf("%s did not answer %s within %s", s.cfg.Name, method, s.cfg.RequestTimeout))
	defer cancel()
	return s.conn.call(ctx, method, params)
}

// Done is closed when the connection to the server is over.
func (s *Server) Done() <-chan struct{} { return s.conn.done }

// Reason is why the connection is over; to be asked after Done.
func (s *Server) Reason() error { return s.conn.reason() }

// LastWords is the end of what the server wrote to its standard error, on one line.
func (s *Server) LastWords() string { return s.stderr.text() }

// Busy names the tasks that the server says it is at, such as loading the project.
func (s *Server) Busy() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, title := range s.tasks {
		out = append(out, title)
	}
	return out
}

// idlePoll is how often WaitIdle looks.
const idlePoll = 50 * time.Millisecond

// WaitIdle waits until the server says that it is at nothing any more; false if that
// did not come before the end of ctx or of the server.
func (s *Server) WaitIdle(ctx context.Context) bool {
	tick := time.NewTicker(idlePoll)
	defer tick.Stop()
	for len(s.Busy()) > 0 {
		select {
		case <-tick.C:
		case <-s.Done():
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// Close asks the server to end, and ends it and all that it started if it does not.
// It waits for both, at most some multiples of [ShutdownTimeout].
func (s *Server) Close() {
	s.closed.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), ShutdownTimeout)
		defer cancel()
		if _, err := s.conn.call(ctx, "shutdown", nil); err == nil {
			_ = s.conn.notify("exit", nil)
			select {
			case <-s.exited:
			case <-ctx.Done():
			}
		}
	})
	s.kill()
}

// kill ends the process now, and waits for all that belongs to it.
func (s *Server) kill() {
	select {
	case <-s.exited:
	default:
		_ = killTree(s.cmd.Process)
		<-s.exited
	}
	s.conn.close()
}

// handle answers what the server sends on its own.
func (s *Server) handle(method string, params json.RawMessage) (any, *RPCError) {
	switch method {
	case "textDocument/publishDiagnostics":
		s.diags.publish(params)
	case "$/progress":
		s.progress(params)
	case "workspace/configuration":
		return s.configuration(params), nil
	case "workspace/workspaceFolders":
		return []any{map[string]any{"uri": URIOf(s.cfg.Root), "name": filepath.Base(s.cfg.Root)}}, nil
	case "workspace/applyEdit":
		return map[string]any{"applied": false, "failureReason": "this client changes no files"}, nil
	case "window/showDocument":
		return map[string]any{"success": false}, nil
	case "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create", "window/showMessageRequest":
	default:
		if strings.HasPrefix(method, "workspace/") && strings.HasSuffix(method, "/refresh") {
			return nil, nil
		}
		return nil, &RPCError{Code: codeMethodNotFound, Message: "this client does not know " + clip(method, 100)}
	}
	return nil, nil
}

func (s *Server) progress(params json.RawMessage) {
	var p struct {
		Token json.RawMessage `json:"token"`
		Value struct {
			Kind  string `json:"kind"`
			Title string `json:"title"`
		} `json:"value"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch token := clip(string(p.Token), 100); {
	case p.Value.Kind == "begin" && len(s.tasks) < maxTasks:
		s.tasks[token] = clip(p.Value.Title, 100)
	case p.Value.Kind == "end":
		delete(s.tasks, token)
	}
}

// configuration looks up the sections that the server asks for.
func (s *Server) configuration(params json.RawMessage) []json.RawMessage {
	var p struct {
		Items []struct {
			Section string `json:"section"`
		} `json:"items"`
	}
	_ = json.Unmarshal(params, &p)
	out := make([]json.RawMessage, min(len(p.Items), maxConfigItems))
	for i := range out {
		out[i] = json.RawMessage("null")
		value := s.cfg.Settings
		found := value != nil
		for step := range strings.SplitSeq(p.Items[i].Section, ".") {
			if step == "" || !found {
				continue
			}
			var object map[string]json.RawMessage
			_ = json.Unmarshal(value, &object)
			value, found = object[step]
		}
		if found {
			out[i] = value
		}
	}
	return out
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if len(p) > MaxStderrBytes {
		p = p[len(p)-MaxStderrBytes:]
	}
	if over := len(t.data) + len(p) - MaxStderrBytes; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	t.data = append(t.data, p...)
	return n, nil
}

// maxWordsChars bounds the last words in an error.
const maxWordsChars = 400

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	words := strings.Join(strings.Fields(strings.ToValidUTF8(string(t.data), string(utf8.RuneError))), " ")
	r := []rune(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1 // colours and the like
		}
		return r
	}, words))
	if len(r) > maxWordsChars {
		return "…" + string(r[len(r)-maxWordsChars:])
	}
	return string(r)
}
