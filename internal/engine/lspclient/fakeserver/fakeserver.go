// Package fakeserver is a language server for tests: it knows words, takes lines with
// ERROR for errors, and misbehaves on request. It is run by test binaries that start
// themselves again.
package fakeserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// Env is the variable whose presence makes a test binary a server; its value is a
// list of misbehaviours, separated by commas. See [Main].
const Env = "SEVENGATE_FAKE_LANGUAGE_SERVER"

type server struct {
	in    *bufio.Reader
	modes map[string]bool
	docs  map[string]string
	log   []string // what came, by method
	seen  map[string]json.RawMessage
	asked int
}

type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   any             `json:"error,omitempty"`
}

// Main serves on standard input and output until it is told to end. The
// misbehaviours are those of the switch statements below; "die:METHOD" ends the
// process at a message, "once:FILE" ends it at the first start only.
func Main(modes string) {
	s := &server{in: bufio.NewReader(os.Stdin), modes: map[string]bool{}, docs: map[string]string{}, seen: map[string]json.RawMessage{}}
	for m := range strings.SplitSeq(modes, ",") {
		s.modes[m] = true
		if file, ok := strings.CutPrefix(m, "once:"); ok {
			if f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
				f.Close()
				s.modes["die:textDocument/hover"] = true
			}
		}
		if file, ok := strings.CutPrefix(m, "count:"); ok {
			f, _ := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			fmt.Fprintln(f, os.Getpid())
			f.Close()
		}
		if file, ok := strings.CutPrefix(m, "child:"); ok {
			child := exec.Command("sleep", "600")
			child.Stdout, child.Stderr = os.Stdout, os.Stderr
			if child.Start() == nil {
				_ = os.WriteFile(file, []byte(strconv.Itoa(child.Process.Pid)), 0o600)
			}
		}
	}
	switch {
	case s.modes["crash"]:
		fmt.Fprintln(os.Stderr, "cannot find the \x1b[31mfrobnicator")
		os.Exit(3)
	case s.modes["garbage"]:
		fmt.Println("Welcome to the server!")
	case s.modes["header"]:
		fmt.Print(strings.Repeat("X-Padding: yes\r\n", 10_000))
	case s.modes["longline"]:
		fmt.Print(strings.Repeat("x", 1<<20))
	case s.modes["body"]:
		fmt.Print("Content-Length: 999999999999\r\n\r\n")
	case s.modes["negative"]:
		fmt.Print("Content-Length: -5\r\n\r\n{}")
	case s.modes["nolength"]:
		fmt.Print("Content-Type: x\r\n\r\n{}")
	case s.modes["notjson"]:
		fmt.Print("Content-Length: 3\r\n\r\n{{{")
	case s.modes["deep"]:
		s.write([]byte(`{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}"))
	case s.modes["half"]:
		fmt.Print("Content-Length: 100\r\n\r\n{\"json")
		os.Exit(0)
	case s.modes["noread"]:
		time.Sleep(time.Hour)
	case s.modes["chatter"]:
		for range 100 {
			fmt.Fprintln(os.Stderr, strings.Repeat("chatter ", 1000))
		}
		fmt.Fprintln(os.Stderr, "the last word")
	}
	for {
		m, err := s.read()
		if err != nil {
			if s.modes["stubborn"] {
				time.Sleep(time.Hour)
			}
			return
		}
		s.serve(m)
	}
}

func (s *server) read() (m message, err error) {
	length := 0
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			return m, err
		}
		line = strings.TrimSpace(line)
		if line == "" {
			break
		}
		if v, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			length, _ = strconv.Atoi(v)
		}
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(s.in, body); err != nil {
		return m, err
	}
	return m, json.Unmarshal(body, &m)
}

func (s *server) write(body []byte) { fmt.Printf("Content-Length: %d\r\n\r\n%s", len(body), body) }

func (s *server) send(m message) {
	m.JSONRPC = "2.0"
	body, _ := json.Marshal(m)
	s.write(body)
}

func (s *server) answer(id json.RawMessage, result any) {
	raw, _ := json.Marshal(result)
	body, _ := json.Marshal(map[string]json.RawMessage{"jsonrpc": json.RawMessage(`"2.0"`), "id": id, "result": raw})
	s.write(body)
}

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type params struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
		Text    string `json:"text"`
	} `json:"textDocument"`
	ContentChanges []struct {
		Text string `json:"text"`
	} `json:"contentChanges"`
	Position position `json:"position"`
	Query    string   `json:"query"`
	Item     struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
		Data int    `json:"data"`
	} `json:"item"`
}

func (s *server) serve(m message) {
	s.log = append(s.log, m.Method)
	if s.modes["die:"+m.Method] {
		fmt.Fprintln(os.Stderr, "dying at "+m.Method)
		os.Exit(4)
	}
	if m.Method == "" {
		s.seen[string(m.ID)] = m.Params
		if m.Error != nil {
			raw, _ := json.Marshal(m.Error)
			s.seen[string(m.ID)] = raw
		} else if raw, err := json.Marshal(m.Result); err == nil {
			s.seen[string(m.ID)] = raw
		}
		return
	}
	if s.modes["silent"] || s.modes["mute"] && m.Method != "initialize" && m.Method != "shutdown" {
		return
	}
	var p params
	_ = json.Unmarshal(m.Params, &p)
	uri := p.TextDocument.URI
	switch m.Method {
	case "initialize":
		caps := map[string]any{"textDocumentSync": 1, "definitionProvider": true, "referencesProvider": map[string]any{}, "hoverProvider": true,
			"documentSymbolProvider": true, "workspaceSymbolProvider": true, "callHierarchyProvider": true, "implementationProvider": false}
		if s.modes["utf8"] {
			caps["positionEncoding"] = "utf-8"
		}
		if s.modes["asks"] {
			for i, method := range []string{"workspace/configuration", "client/registerCapability", "window/workDoneProgress/create", "window/showMessageRequest",
				"workspace/applyEdit", "workspace/workspaceFolders", "workspace/semanticTokens/refresh", "evil/method", "window/showDocument"} {
				id, _ := json.Marshal(fmt.Sprintf("q%d", i))
				s.send(message{ID: id, Method: method, Params: json.RawMessage(`{"items":[{"section":"a.b"},{"section":"no.such"},{}]}`)})
			}
			s.send(message{Method: "window/logMessage", Params: json.RawMessage(`{"type":1,"message":"hello"}`)})
			s.send(message{Method: "$/progress", Params: json.RawMessage(`{"token":7,"value":{"kind":"begin","title":"Loading"}}`)})
		}
		if s.modes["strange"] {
			s.answer(json.RawMessage(`"one"`), 1)
			s.answer(json.RawMessage(`4711`), 1)
			s.answer(json.RawMessage(`null`), 1)
		}
		s.answer(m.ID, map[string]any{"capabilities": caps})
	case "shutdown":
		if !s.modes["stubborn"] {
			s.answer(m.ID, nil)
		}
	case "exit":
		if !s.modes["stubborn"] {
			os.Exit(0)
		}
	case "textDocument/didOpen":
		s.docs[uri] = p.TextDocument.Text
		s.publish(uri, p.TextDocument.Version)
	case "textDocument/didChange":
		s.docs[uri] = p.ContentChanges[len(p.ContentChanges)-1].Text
		s.publish(uri, p.TextDocument.Version)
	case "textDocument/didClose":
		delete(s.docs, uri)
	case "textDocument/hover":
		switch {
		case s.modes["log"]:
			s.answer(m.ID, map[string]any{"contents": strings.Join(s.log, " ")})
		case s.modes["asks"]:
			raw, _ := json.Marshal(s.seen)
			s.answer(m.ID, map[string]any{"contents": []any{string(raw)}})
		case s.modes["modified"] && s.asked < 2:
			s.asked++
			s.send(message{ID: m.ID, Error: map[string]any{"code": -32801, "message": "content modified"}})
		case s.modes["error"]:
			s.send(message{ID: m.ID, Error: map[string]any{"code": -32603, "message": strings.Repeat("no ", 1000)}})
		case s.modes["badshape"]:
			s.answer(m.ID, 42)
		default:
			s.answer(m.ID, map[string]any{"contents": map[string]any{"kind": "markdown", "value": "the word " + word(s.docs[uri], p.Position)}})
		}
	case "textDocument/definition":
		if s.modes["loading"] && s.asked == 0 {
			s.asked++
			s.send(message{Method: "$/progress", Params: json.RawMessage(`{"token":"l","value":{"kind":"begin","title":"Loading"}}`)})
			s.answer(m.ID, nil)
			time.Sleep(200 * time.Millisecond)
			s.send(message{Method: "$/progress", Params: json.RawMessage(`{"token":"l","value":{"kind":"end"}}`)})
			return
		}
		places := s.find(word(s.docs[uri], p.Position), uri)
		if len(places) > 0 {
			s.answer(m.ID, map[string]any{"targetUri": places[0]["uri"], "targetRange": places[0]["range"], "targetSelectionRange": places[0]["range"]})
			return
		}
		s.answer(m.ID, nil)
	case "textDocument/references":
		places := s.find(word(s.docs[uri], p.Position), "")
		if s.modes["many"] {
			for i := range 50_000 {
				places = append(places, map[string]any{"uri": uri, "range": span{position{i, 0}, position{i, 1}}})
			}
		}
		if s.modes["odd"] {
			places = append(places, map[string]any{"uri": "jdt://contents/Thing.class", "range": span{}},
				map[string]any{"uri": uri, "range": span{position{1 << 40, -5}, position{}}}, map[string]any{"uri": "%zz"})
		}
		s.answer(m.ID, places)
	case "textDocument/documentSymbol":
		r := span{position{0, 0}, position{2, 0}}
		s.answer(m.ID, []any{map[string]any{"name": "outer", "kind": 5, "range": r, "selectionRange": span{}, "children": []any{
			map[string]any{"name": "inner", "kind": 6, "detail": "func()", "range": span{position{1, 0}, position{1, 3}}, "selectionRange": span{position{1, 0}, position{1, 3}}}}}})
	case "workspace/symbol":
		var out []any
		for _, pl := range s.find(p.Query, "") {
			out = append(out, map[string]any{"name": p.Query, "kind": 12, "location": pl, "containerName": "pkg"})
		}
		s.answer(m.ID, out)
	case "textDocument/prepareCallHierarchy":
		s.answer(m.ID, []any{map[string]any{"name": word(s.docs[uri], p.Position), "kind": 12, "uri": uri, "range": span{}, "selectionRange": span{}, "data": 99}})
	case "callHierarchy/incomingCalls":
		if p.Item.Data != 99 {
			s.send(message{ID: m.ID, Error: map[string]any{"code": -32602, "message": "not my item"}})
			return
		}
		s.answer(m.ID, []any{map[string]any{"from": map[string]any{"name": "caller", "kind": 12, "uri": p.Item.URI, "range": span{}, "selectionRange": span{}},
			"fromRanges": []any{span{position{4, 0}, position{4, 1}}, span{position{2, 0}, position{2, 1}}}}})
	case "callHierarchy/outgoingCalls":
		s.answer(m.ID, nil)
	default:
		if len(m.ID) > 0 {
			s.send(message{ID: m.ID, Error: map[string]any{"code": -32601, "message": "no " + m.Method}})
		}
	}
}

// word is the word at a position, which counts in UTF-16 units.
func word(text string, p position) string {
	lines := strings.Split(text, "\n")
	if p.Line >= len(lines) {
		return ""
	}
	units := utf16.Encode([]rune(lines[p.Line]))
	start, end := min(p.Character, len(units)), min(p.Character, len(units))
	is := func(u uint16) bool { return u == '_' || u >= 'a' && u <= 'z' || u >= 'A' && u <= 'Z' }
	for start > 0 && is(units[start-1]) {
		start--
	}
	for end < len(units) && is(units[end]) {
		end++
	}
	return string(utf16.Decode(units[start:end]))
}

// find gives the places of a word in the open files, or in one of them.
func (s *server) find(w, only string) (out []map[string]any) {
	for uri, text := range s.docs {
		if w == "" || only != "" && uri != only {
			continue
		}
		for i, line := range strings.Split(text, "\n") {
			if at := strings.Index(line, w); at >= 0 {
				from := len(utf16.Encode([]rune(line[:at])))
				out = append(out, map[string]any{"uri": uri, "range": span{position{i, from}, position{i, from + len(w)}}})
			}
		}
	}
	return out
}

func (s *server) publish(uri string, version int) {
	if s.modes["nodiag"] {
		return
	}
	if s.modes["flood"] {
		for i := range 5_000 {
			s.diag(fmt.Sprintf("file:///nowhere/%d", i), 0, []any{})
		}
	}
	found := []any{}
	for i, line := range strings.Split(s.docs[uri], "\n") {
		if strings.Contains(line, "ERROR") {
			found = append(found, map[string]any{"range": span{position{i, 0}, position{i, 5}}, "severity": 1, "source": "fake", "code": "E1", "message": "found: " + strings.TrimSpace(line)})
		}
		if strings.Contains(line, "HINT") {
			found = append(found, map[string]any{"range": span{position{i, 0}, position{i, 5}}, "severity": 4, "message": "a hint"})
		}
	}
	if s.modes["steps"] {
		s.diag(uri, version, []any{})
		time.Sleep(50 * time.Millisecond)
	}
	if s.modes["noversion"] {
		version = 0
	}
	s.diag(uri, version, found)
}

func (s *server) diag(uri string, version int, list []any) {
	p := map[string]any{"uri": uri, "diagnostics": list}
	if version > 0 {
		p["version"] = version
	}
	raw, _ := json.Marshal(p)
	s.send(message{Method: "textDocument/publishDiagnostics", Params: raw})
}
