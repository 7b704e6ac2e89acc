package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const helperEnv = "CONFIG_TEST_ADD"

// TestMain is, in a helper process, one that adds servers.
func TestMain(m *testing.M) {
	if root := os.Getenv(helperEnv); root != "" {
		f := files(root)
		for i := range 20 {
			if _, err := f.Add(context.Background(), ScopeLocal, fmt.Sprintf("%s-%d", os.Args[1], i), json.RawMessage(`{"command":"x"}`)); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func files(root string) Files {
	return Files{Dir: filepath.Join(root, "p"), Home: filepath.Join(root, "h"), StateDir: filepath.Join(root, "s"), Environ: []string{"X=1"}}
}

func scratch(t interface {
	TempDir() string
	Fatal(...any)
}) Files {
	f := files(t.TempDir())
	if err := os.MkdirAll(f.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f Files) loaded(t interface{ Fatal(...any) }) map[string]string {
	l, err := Load(Options{Dir: f.Dir, Home: f.Home, StateDir: f.StateDir})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, s := range l.Servers {
		out[s.Name] = string(s.Scope) + " " + s.Command
	}
	return out
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestAddLooksLikeTheFile(t *testing.T) {
	for _, c := range []struct{ name, before, after string }{
		{"none", "", "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"c\",\n      \"args\": [\n        \"<&>\"\n      ]\n    }\n  }\n}\n"},
		{"blank", " \n", "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"c\",\n      \"args\": [\n        \"<&>\"\n      ]\n    }\n  }\n}\n"},
		{"one line", `{"mcpServers":{"b":{"command":"d"}},"x":1}`, `{"mcpServers":{"b":{"command":"d"},"a":{"command":"c","args":["<&>"]}},"x":1}`},
		{"spaced line", `{ "mcpServers": { "b": {"command":"d"} } }`, `{ "mcpServers": { "b": {"command":"d"}, "a": {"command":"c","args":["<&>"]} } }`},
		{"tabs, other keys, an order of its own", "{\n\t\"z\": [1,  2],\n\t\"mcpServers\": {\n\t\t\"b\": {\"command\":\t\"d\", \"own\": 1.50}\n\t},\n\t\"a\": null\n}",
			"{\n\t\"z\": [1,  2],\n\t\"mcpServers\": {\n\t\t\"b\": {\"command\":\t\"d\", \"own\": 1.50},\n\t\t\"a\": {\n\t\t\t\"command\": \"c\",\n\t\t\t\"args\": [\n\t\t\t\t\"<&>\"\n\t\t\t]\n\t\t}\n\t},\n\t\"a\": null\n}"},
		{"four blanks, no servers", "{\n    \"x\": {}\n}\n", "{\n    \"x\": {},\n    \"mcpServers\": {\n        \"a\": {\n            \"command\": \"c\",\n            \"args\": [\n                \"<&>\"\n            ]\n        }\n    }\n}\n"},
		{"CRLF", "{\r\n  \"mcpServers\": {}\r\n}\r\n", "{\r\n  \"mcpServers\": {\r\n    \"a\": {\r\n      \"command\": \"c\",\r\n      \"args\": [\r\n        \"<&>\"\r\n      ]\r\n    }\r\n  }\r\n}\r\n"},
		{"null", `{"mcpServers":null}`, `{"mcpServers":{"a":{"command":"c","args":["<&>"]}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := scratch(t)
			path := filepath.Join(f.Dir, ".mcp.json")
			if c.before != "" {
				write(t, path, c.before)
			}
			if _, err := f.Add(t.Context(), ScopeProject, "a", json.RawMessage(`{"command": "c", "args": ["<&>"]}`)); err != nil {
				t.Fatal(err)
			}
			if got := read(t, path); got != c.after {
				t.Errorf("after adding:\n%q\nwant\n%q", got, c.after)
			}
			if _, _, err := f.Remove(t.Context(), "", "a"); err != nil {
				t.Fatal(err)
			}
			if got := read(t, path); strings.Contains(c.before, `"b"`) && got != c.before {
				t.Errorf("after removing:\n%q\nwant what it was:\n%q", got, c.before)
			}
		})
	}
}

func TestProjectsOfOneFileKeepApart(t *testing.T) {
	f := scratch(t)
	own := filepath.Join(f.StateDir, "mcp.json")
	write(t, own, "{\n  \"projects\": {\n    \"/else\": {\n      \"mcpServers\": {\"a\": {\"command\": \"else\"}},\n      \"note\": 1\n    }\n  }\n}\n")
	before := read(t, own)
	if _, err := f.Add(t.Context(), ScopeLocal, "a", json.RawMessage(`{"command":"mine"}`)); err != nil {
		t.Fatal(err)
	}
	if got := f.loaded(t)["a"]; got != "local mine" {
		t.Errorf("loaded %q", got)
	}
	if _, files, err := f.Remove(t.Context(), "", "a"); err != nil || !slices.Equal(files, []string{own}) {
		t.Errorf("%v, %v", files, err)
	}
	if got := read(t, own); got != before {
		t.Errorf("what is left:\n%s", got)
	}
}

func TestRefused(t *testing.T) {
	f := scratch(t)
	write(t, filepath.Join(f.Home, ".claude.json"), `{"mcpServers":{"theirs":{"command":"x"}}}`)
	write(t, filepath.Join(f.Dir, ".sevengate", "mcp.json"), `{"mcpServers":{"ours":{"command":"x"}}}`)
	if _, err := f.Add(t.Context(), ScopeUser, "have", json.RawMessage(`{"command":"x"}`)); err != nil {
		t.Fatal(err)
	}
	before := read(t, filepath.Join(f.StateDir, "mcp.json"))
	for _, c := range []struct {
		scope             Scope
		name, entry, want string
	}{
		{ScopeUser, "have", `{"command":"x"}`, "sevengate mcp remove -s user have"},
		{ScopeUser, "theirs", `{"command":"x"}`, "belongs to another program"},
		{ScopeProject, "ours", `{"command":"x"}`, ".sevengate"},
		{ScopeUser, "workspace", `{"command":"x"}`, "reserved"},
		{ScopeUser, "a b", `{"command":"x"}`, "letters, digits"},
		{ScopeUser, "ü", `{"command":"x"}`, "letters, digits"},
		{ScopeUser, "", `{"command":"x"}`, "letters, digits"},
		{ScopeUser, strings.Repeat("a", MaxName+1), `{"command":"x"}`, "letters, digits"},
		{ScopeUser, "n", `{"command":""}`, "command is missing"},
		{ScopeUser, "n", `{"url":"https://x"}`, `add "type": "http"`},
		{ScopeUser, "n", `{"type":"ws","url":"https://x"}`, "ws:// or wss://"},
		{ScopeUser, "n", `{"type":"http","url":"file:///x"}`, "http:// or https://"},
		{ScopeUser, "n", `{"type":"http","url":"https://x","headers":{"A":"b\r\nC: d"}}`, "line break"},
		{ScopeUser, "n", `{"type":"http","url":"https://x","oauth":{"clientSecret":"hunter2"}}`, "MCP_CLIENT_SECRET"},
		{ScopeUser, "n", `{"mcpServers":{"n":{"command":"x"}}}`, "without"},
		{ScopeUser, "n", `[]`, "one JSON object"},
		{ScopeUser, "n", `null`, "one JSON object"},
		{ScopeUser, "n", `{"command":"x"} {}`, "one JSON object"},
		{ScopeManaged, "n", `{"command":"x"}`, "local"},
	} {
		_, err := f.Add(t.Context(), c.scope, c.name, json.RawMessage(c.entry))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s %q %s: %v", c.scope, c.name, c.entry, err)
		}
	}
	if got := read(t, filepath.Join(f.StateDir, "mcp.json")); got != before {
		t.Errorf("something was written:\n%s", got)
	}
	f.ManagedDirs = []string{t.TempDir()}
	write(t, filepath.Join(f.ManagedDirs[0], "managed-mcp.json"), `{}`)
	if _, err := f.Add(t.Context(), ScopeUser, "n", json.RawMessage(`{"command":"x"}`)); err == nil || !strings.Contains(err.Error(), "administrator") {
		t.Error(err)
	}
}

func TestUnreadableFilesAreLeft(t *testing.T) {
	for _, text := range []string{`{"mcpServers":`, `{"mcpServers":[]}`, `[]`, "// mine\n{}", `{"mcpServers":{},"mcpServers":{}}`, `{"MCPServers":{"b":{"command":"x"}}}`, `{"projects":{},"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}`} {
		f := scratch(t)
		path := filepath.Join(f.Dir, ".mcp.json")
		write(t, path, text)
		_, addErr := f.Add(t.Context(), ScopeProject, "n", json.RawMessage(`{"command":"x"}`))
		_, _, removeErr := f.Remove(t.Context(), ScopeProject, "a")
		if removeErr == nil || addErr == nil && !strings.Contains(text, `"y"`) {
			t.Errorf("%s: %v, %v", text, addErr, removeErr)
		}
		if got := read(t, path); addErr != nil && got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func TestRemove(t *testing.T) {
	f := scratch(t)
	for _, s := range EditScopes() {
		if _, err := f.Add(t.Context(), s, "all", json.RawMessage(`{"command":"x"}`)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(f.Home, ".claude.json"), `{"mcpServers":{"theirs":{"command":"x"}}}`)
	if _, _, err := f.Remove(t.Context(), "", "all"); !errors.Is(err, ErrSeveral) || !strings.Contains(err.Error(), "local, project, user") {
		t.Error(err)
	}
	if _, _, err := f.Remove(t.Context(), "", "nobody"); err == nil {
		t.Error("an unknown name is removed")
	}
	if _, _, err := f.Remove(t.Context(), ScopeLocal, "theirs"); err == nil || !strings.Contains(err.Error(), "but in: user") {
		t.Error(err)
	}
	if _, _, err := f.Remove(t.Context(), ScopeUser, "theirs"); err == nil || !strings.Contains(err.Error(), "another program") {
		t.Error(err)
	}
	for _, s := range []Scope{ScopeProject, ScopeLocal, ""} {
		got, files, err := f.Remove(t.Context(), s, "all")
		if err != nil || s != "" && got != s || len(files) != 1 {
			t.Errorf("%s: %s %v %v", s, got, files, err)
		}
	}
	if got := f.loaded(t); len(got) != 1 {
		t.Errorf("left: %v", got)
	}
}

func TestNotThroughLinksOfARepository(t *testing.T) {
	f := scratch(t)
	target := filepath.Join(t.TempDir(), "else.json")
	write(t, target, `{"mcpServers":{"a":{"command":"x"}}}`)
	if err := os.Symlink(target, filepath.Join(f.Dir, ".mcp.json")); err != nil {
		t.Skip("no links here: ", err)
	}
	if _, err := f.Add(t.Context(), ScopeProject, "n", json.RawMessage(`{"command":"x"}`)); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Error(err)
	}
	if _, _, err := f.Remove(t.Context(), "", "a"); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Error(err)
	}
	if got := read(t, target); got != `{"mcpServers":{"a":{"command":"x"}}}` {
		t.Error(got)
	}
	// The project itself may be reached through a link.
	other := filepath.Join(t.TempDir(), "p")
	if err := os.Symlink(t.TempDir(), other); err != nil {
		t.Fatal(err)
	}
	f.Dir = other
	for _, s := range EditScopes() {
		if _, err := f.Add(t.Context(), s, "n", json.RawMessage(`{"command":"x"}`)); err != nil {
			t.Error(err)
		}
	}
	if got := f.loaded(t)["n"]; got != "local x" {
		t.Error(got)
	}
}

func TestOnlyTheOwnerReadsSecrets(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such modes")
	}
	f := scratch(t)
	if _, err := f.Add(t.Context(), ScopeUser, "n", json.RawMessage(`{"command":"x","env":{"K":"v"}}`)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{f.StateDir: 0o700, filepath.Join(f.StateDir, "mcp.json"): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestAddTellsWhatElseCounts(t *testing.T) {
	f := scratch(t)
	if _, err := f.Add(t.Context(), ScopeLocal, "n", json.RawMessage(`{"command":"x"}`)); err != nil {
		t.Fatal(err)
	}
	a, err := f.Add(t.Context(), ScopeProject, "n", json.RawMessage(`{"command":"${NOPE}","env":{"A":"plain","B":"${X}"}}`))
	if err != nil || a.Stronger != ScopeLocal || !slices.Equal(a.Literal, []string{"A"}) || len(a.Warnings) != 1 {
		t.Errorf("%+v, %v", a, err)
	}
	if found, _ := f.Find("n"); len(found) != 2 || found[0].Scope != ScopeLocal || !strings.Contains(string(found[1].Written), "${X}") {
		t.Errorf("%+v", found)
	}
	raw, err := Written(&a.Server)
	if err != nil || !strings.Contains(string(raw), "${X}") {
		t.Errorf("%s, %v", raw, err)
	}
	write(t, a.File, `{"mcpServers":{"n":{"command":"other"}}}`)
	if _, err := Written(&a.Server); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Error(err)
	}
}

// Any sequence of additions and removals gives what it gives with a map, and
// never touches anything else of the file.
func TestEditsEqualAMap(t *testing.T) {
	names := []string{"a", "b", "c-1", "D_2"}
	rapid.Check(t, func(rt *rapid.T) {
		root, err := os.MkdirTemp("", "edits")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(root)
		f := files(root)
		own, shared := filepath.Join(f.StateDir, "mcp.json"), filepath.Join(f.Dir, ".mcp.json")
		foreign := rapid.SampledFrom([]string{`{}`, "{\n}", `{"other":{"k":[1,{"x":"é\u0000"}]},"mcpServers":{}}`,
			"{\n\t\"mcpServers\": {},\n\n\t\"n\": 1.0e3,\n\t\"projects\": {\"/x\": {\"mcpServers\": {\"a\": {\"command\": \"keep\"}}, \"m\": true}}\n}\n", "{\"a\":\r\n1}"})
		rest := map[string]any{}
		for _, path := range []string{own, shared} {
			text := foreign.Draw(rt, "file")
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				rt.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				rt.Fatal(err)
			}
			rest[path] = withoutServers(rt, []byte(text), f.Dir)
		}
		want := map[Scope]map[string]string{ScopeLocal: {}, ScopeProject: {}, ScopeUser: {}}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			scope, name := rapid.SampledFrom(EditScopes()).Draw(rt, "scope"), rapid.SampledFrom(names).Draw(rt, "name")
			_, have := want[scope][name]
			if rapid.Bool().Draw(rt, "add") {
				command := rapid.StringMatching(`[a-z"\\<&é ]{0,5}x`).Draw(rt, "command")
				entry, _ := json.Marshal(map[string]any{"command": command, "unknown": map[string]any{"keep": []int{1}}})
				if _, err := f.Add(context.Background(), scope, name, entry); (err == nil) == have {
					rt.Fatalf("add %s %s: %v", scope, name, err)
				} else if err == nil {
					want[scope][name] = command
				}
			} else {
				if _, _, err := f.Remove(context.Background(), scope, name); (err == nil) != have {
					rt.Fatalf("remove %s %s: %v", scope, name, err)
				}
				delete(want[scope], name)
			}
			merged := map[string]string{}
			for _, s := range slices.Backward(EditScopes()) {
				for n, c := range want[s] {
					merged[n] = string(s) + " " + c
				}
			}
			if got := f.loaded(rt); !maps.Equal(got, merged) {
				rt.Fatalf("loaded %v, want %v", got, merged)
			}
		}
		for path, before := range rest {
			data, err := os.ReadFile(path)
			if err != nil {
				rt.Fatal(err)
			}
			if after := withoutServers(rt, data, f.Dir); fmt.Sprint(after) != fmt.Sprint(before) {
				rt.Fatalf("%s: the rest is %v, was %v", path, after, before)
			}
		}
	})
}

// withoutServers is a file without the parts that edits may change.
func withoutServers(t interface{ Fatal(...any) }, data []byte, dir string) map[string]any {
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	delete(v, "mcpServers")
	if p, ok := v["projects"].(map[string]any); ok {
		delete(p, dir)
		if len(p) == 0 {
			delete(v, "projects")
		}
	}
	return v
}

func TestTwoProcessesLoseNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files are not locked between processes here")
	}
	f := scratch(t)
	root := filepath.Dir(f.Dir)
	var cmds []*exec.Cmd
	for _, who := range []string{"one", "two"} {
		cmd := exec.Command(os.Args[0], who)
		cmd.Env = append(os.Environ(), helperEnv+"="+root)
		var out strings.Builder
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if got := f.loaded(t); len(got) != 40 {
		t.Errorf("%d servers, want 40", len(got))
	}
}

func TestShown(t *testing.T) {
	raw := json.RawMessage(`{"command":"npx","args":["-y","a b","","--token","s3cret","--api-key=s3cret","-v","x","PASSWORD=s3cret","Authorization: Bearer s3cret","pg://u:s3cret@h/db?k=s3cret","--key","--other"],
		"env":{"TOKEN":"s3cret","LINE":"a\u001b[2Jb"},"headers":{"A":"s3cret"},"url":"https://u:s3cret@h/p?t=s3cret&s3cret#s3cret",
		"timeout":5000,"alwaysLoad":true,"later":{"deep":"s3cret"},"oauth":{"clientId":"me","later":"s3cret"}}`)
	masked, err := Show(raw, true)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(masked.Lines())
	if strings.Contains(text, "s3cret") {
		t.Errorf("a secret is shown: %s", text)
	}
	for _, want := range []string{`npx -y "a b" "" --token *** --api-key=*** -v x PASSWORD=*** "Authorization: ***" pg://***@h/db?k=*** --key --other`, "TOKEN=***", "A: ***", "[timeout 5000]", "[alwaysLoad true]", "[later ***]", "[oauth.clientId me]", "[oauth.later ***]", "https://***@h/p?t=***&***#***"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	if raw, err := json.Marshal(masked); err != nil || strings.Contains(string(raw), "s3cret") {
		t.Errorf("%s, %v", raw, err)
	}
	open, err := Show(raw, false)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(open.Lines()); !strings.Contains(text, `LINE="a\x1b[2Jb"`) || !strings.Contains(text, "--token s3cret") || !strings.Contains(text, `[later {"deep":"s3cret"}]`) || open.Variables() {
		t.Error(text)
	}
}

func TestNothingShownIsUnseen(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		args := rapid.SliceOf(rapid.String()).Draw(rt, "args")
		raw, _ := json.Marshal(map[string]any{"command": rapid.String().Draw(rt, "command"), "args": args, "env": map[string]string{"K": rapid.String().Draw(rt, "env")}})
		s, err := Show(raw, false)
		if err != nil {
			rt.Fatal(err)
		}
		for _, l := range s.Lines() {
			if strings.ContainsFunc(l[1], hidden) {
				rt.Fatalf("%q", l)
			}
		}
	})
	for in, want := range map[string]string{"a\u202eb": `"a\u202eb"`, "\u3164": `"\u3164"`, "a\nb": `"a\nb"`, "Übung": "Übung", "a\u00a0b": `"a\u00a0b"`} {
		if got := visibleWord(in); got != want {
			t.Errorf("%q is shown as %s", in, got)
		}
	}
}

// Whatever stands in a file: an edit that says it worked changed only its entry.
func FuzzEdit(f *testing.F) {
	for _, s := range []string{`{}`, `{"mcpServers":{"b":{}}}`, "{\n \"projects\":{\"/p\":{\"mcpServers\":{\"a\":1,\n\"c\":2}}}}", `{"mcpServers":null,"MCPSERVERS":{"x":{}}}`, `{"projects":{"/p":null}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := decode(data); err != nil {
			t.Skip("not a file that is edited: ", err)
		}
		for _, p := range []place{{project: "/p"}, {}} {
			entry := json.RawMessage(`{"command":"x"}`)
			put, err := putMember(data, p.path(), "new", entry)
			if err != nil || p.holds(data, put, "new", entry) != nil {
				continue
			}
			dropped, err := dropMember(put, p.path(), "new")
			if err != nil {
				t.Fatalf("%s: %v", put, err)
			}
			before, _ := entriesOf(data)
			if after, err := entriesOf(dropped); err != nil || !maps.Equal(before, after) {
				t.Fatalf("%q became %q, then %q: %v", data, put, dropped, err)
			}
		}
	})
}
