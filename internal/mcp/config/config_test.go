package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestScopes(t *testing.T) {
	root := t.TempDir()
	o := Options{Dir: filepath.Join(root, "p"), Home: filepath.Join(root, "h"), StateDir: filepath.Join(root, "s"), Environ: []string{"X=1"}}
	write(t, filepath.Join(o.Home, ".claude.json"), `{"mcpServers":{"u":{"command":"user"},"all":{"command":"user"}},
		"projects":{"`+o.Dir+`":{"mcpServers":{"l":{"command":"local"},"all":{"command":"local"}}},"/other":{"mcpServers":{"no":{"command":"x"}}}}}`)
	write(t, filepath.Join(o.StateDir, "mcp.json"), `{"mcpServers":{"u":{"command":"own user"}}}`)
	write(t, filepath.Join(o.Dir, ".mcp.json"), `{"mcpServers":{"p":{"command":"project","args":["a"]},"all":{"command":"project"},"own":{"command":"foreign"}}}`)
	write(t, filepath.Join(o.Dir, ".sevengate", "mcp.json"), `{"mcpServers":{"own":{"command":"ours"}}}`)
	show := func(o Options) string {
		t.Helper()
		l, err := Load(o)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, s := range l.Servers {
			out = append(out, fmt.Sprintf("%s=%s/%s", s.Name, s.Scope, s.Command))
		}
		return strings.Join(out, " ")
	}
	const normal = "all=local/local l=local/local own=project/ours p=project/project u=user/own user"
	if got := show(o); got != normal {
		t.Error(got)
	}
	if got := show(Options{Dir: o.Dir, Home: o.Home, StateDir: o.StateDir, NoProject: true}); got != "all=local/local l=local/local u=user/own user" {
		t.Error(got)
	}
	o.Flags = []string{`{"mcpServers":{"all":{"command":"flag"}}}`}
	if got := show(o); got != strings.Replace(normal, "all=local/local", "all=flag/flag", 1) {
		t.Error(got)
	}
	o.Strict = true
	if got := show(o); got != "all=flag/flag" {
		t.Error(got)
	}
	given := o
	given.ManagedServers = json.RawMessage(`{"all":{"type":"http","url":"https://corp"},"run":{"command":"x"},"help":{"type":"http","url":"https://h","headersHelper":"x"},"bad":{"type":"http"}}`)
	for _, change := range []func(*Options){func(*Options) {}, func(o *Options) { o.Strict, o.Flags, o.NoPersonal = false, nil, true }} {
		o := given
		change(&o)
		l, err := Load(o)
		if err != nil || len(l.Servers) != 2 || l.Servers[0].Scope != ScopeManaged || l.Servers[0].URL != "https://corp" || l.Servers[1].Invalid == "" || len(l.Warnings) < 3 {
			t.Errorf("%+v %v", l, err)
		}
	}
	given.NoFlags = true
	if _, err := Load(given); err == nil || !strings.Contains(err.Error(), "disableSideloadFlags") {
		t.Error(err)
	}
	o.ManagedDirs = []string{filepath.Join(root, "m")}
	write(t, filepath.Join(root, "m", "managed-mcp.json"), `{"mcpServers":{"corp":{"command":"c"}}}`)
	if got := show(o); got != "corp=managed/c" {
		t.Error(got)
	}
	write(t, filepath.Join(root, "m", "managed-mcp.json"), `{broken`)
	l, err := Load(o)
	if err != nil || len(l.Servers) != 0 || len(l.Warnings) != 1 {
		t.Error("a managed file that cannot be read must close the door:", l, err)
	}
	o.ManagedDirs, o.Flags = nil, []string{"none.json"}
	if _, err := Load(o); err == nil || !strings.Contains(err.Error(), "none.json") {
		t.Error(err)
	}
}

func TestEntries(t *testing.T) {
	lookup := Lookup([]string{"A=old", "A=1", "EMPTY="})
	for _, c := range []struct{ raw, invalid, warning string }{
		{`{"command":"x"}`, "", ""},
		{`{"type":"stdio","command":"x","env":{"N":5,"B":true}}`, "", ""},
		{`{"url":"http://x"}`, `add "type": "http"`, ""},
		{`{"type":"http"}`, "not configured", ""},
		{`{"type":"http","url":""}`, "not configured", ""},
		{`{"type":"http","url":"ftp://x"}`, "must begin with http", ""},
		{`{"type":"streamable-http","url":"http://x/${A}"}`, "", ""},
		{`{"type":"http","url":"http://x","headers":{"A":"b\nc"}}`, "line break", ""},
		{`{"type":"ws","url":"wss://x/${A}"}`, "", ""},
		{`{"type":"ws","url":"https://x"}`, "must begin with ws:// or wss://", ""},
		{`{"type":"ws","url":"ws://x","oauth":{"clientId":"c"}}`, "", "oauth does not work"},
		{`{"type":"http","url":"https://x","oauth":{"authServerMetadataUrl":"http://127.0.0.1.evil.example"}}`, "https://", ""},
		{`{"type":"http","url":"https://x","oauth":{"grant":"password"}}`, "must be authorization_code", ""},
		{`{"type":"http","url":"https://x","oauth":{"grant":"client_credentials"}}`, "needs oauth.clientId", ""},
		{`{"type":"http","url":"https://x","oauth":{"grant":"client_credentials","clientId":"c","privateKeyFile":"k.pem"}}`, "", ""},
		{`{"type":"http","url":"https://x","oauth":{"clientId":"c","idp":{"issuer":"http://idp","clientId":"c"}}}`, "issuer must begin", ""},
		{`{"type":"http","url":"https://x","oauth":{"idp":{"issuer":"https://idp","clientId":"c"}}}`, "needs both", ""},
		{`{"type":"sdk","name":"x"}`, "host program", ""},
		{`{"type":"pigeon","command":"x"}`, "must be stdio, http, sse or ws", ""},
		{`{}`, "command is missing", ""},
		{`5`, "cannot be read", ""},
		{`{"command":["a"]}`, "command must be of type string", ""},
		{`{"command":"x","timeout":500}`, "", "less than 1000 ms"},
		{`{"command":"${NOPE}","args":["${A}"]}`, "", "not set in the environment, and so left as written: NOPE"},
		{`{"command":" x"}`, "", "white space"},
		{`{"type":"http","url":"http://x","oauth":{"authServerMetadataUrl":"http://evil"}}`, "https://", ""},
		{`{"type":"http","url":"http://x","oauth":{"callbackPort":99999}}`, "1 to 65535", ""},
	} {
		s, warnings := parse("s", json.RawMessage(c.raw), ScopeUser, "f.json", "/", lookup)
		if (c.invalid == "") != (s.Invalid == "") || !strings.Contains(s.Invalid, c.invalid) {
			t.Errorf("%s: invalid %q", c.raw, s.Invalid)
		}
		if c.warning != "" && (len(warnings) != 1 || !strings.Contains(warnings[0].String(), c.warning)) {
			t.Errorf("%s: %v", c.raw, warnings)
		}
	}
	s, _ := parse("s", json.RawMessage(`{"command":"${A}","args":["${NO:-d}","${EMPTY:-e}","$A","${B","${A}${A}"],"env":{"N":5},"timeout":600000,"trustAnnotations":true,"alwaysLoad":false}`), ScopeUser, "", "/", lookup)
	if s.Command != "1" || fmt.Sprint(s.Args) != "[d e $A ${B 11]" || s.Env["N"] != "5" || s.Timeout != 10*time.Minute || !s.TrustHints || *s.AlwaysLoad {
		t.Errorf("%+v", s)
	}
	if s, w := parse("s", json.RawMessage(`{"command":"x","trustAnnotations":true}`), ScopeProject, "", "/", lookup); s.TrustHints || len(w) != 1 {
		t.Error("a repository cannot declare itself trusted")
	}
	for _, oauth := range []string{`"grant":"client_credentials","clientId":"c"`, `"privateKeyFile":"/k"`, `"idp":{"issuer":"https://i","clientId":"c"}`} {
		if s, _ := parse("s", json.RawMessage(`{"type":"http","url":"https://x","oauth":{`+oauth+`}}`), ScopeProject, "", "/", lookup); !strings.Contains(s.Invalid, "by a repository") {
			t.Errorf("a repository may not say whom the person's secrets are given to: %s", oauth)
		}
	}
	for _, name := range []string{"", "workspace", "a\nb", strings.Repeat("x", 200)} {
		if s, _ := parse(name, json.RawMessage(`{"command":"x"}`), ScopeUser, "", "/", lookup); s.Invalid == "" {
			t.Errorf("the name %q was accepted", name)
		}
	}
	if a, b := fingerprint("s", json.RawMessage(`{"a":1,"b":2}`)), fingerprint("s", json.RawMessage(` {"b":2, "a":1}`)); a != b {
		t.Error("the same entry in other words")
	}
	if s, _ := parse("s", json.RawMessage(`{"type":"http","url":"https://u:p@h/x?token=t#f"}`), ScopeUser, "", "/", lookup); s.Endpoint() != "https://h/x" {
		t.Error(s.Endpoint())
	}
}

func TestPolicy(t *testing.T) {
	local := Server{Name: "l", Scope: ScopeUser, Type: Stdio, Command: "npx", Args: []string{"-y", "p"}}
	web := Server{Name: "w", Scope: ScopeUser, Type: HTTP, URL: "https://API.example.com./v1/mcp"}
	repo := Server{Name: "r", Scope: ScopeProject, Type: Stdio, Command: "x", Fingerprint: "f"}
	for _, c := range []struct {
		keys    string
		trusted bool
		want    string
	}{
		{`{}`, false, "start start pending-approval"},
		{`{"enabledMcpjsonServers":["r"]}`, true, "start start start"},
		{`{"enabledMcpjsonServers":["r"],"enableAllProjectMcpServers":true}`, false, "start start pending-approval"},
		{`{"enableAllProjectMcpServers":true,"disabledMcpjsonServers":["r"]}`, true, "start start rejected"},
		{`{"allowedMcpServers":[]}`, true, "blocked blocked blocked"},
		{`{"allowedMcpServers":"?"}`, true, "blocked blocked blocked"},
		{`{"allowedMcpServers":[{"serverName":"l"},{"serverName":"w"}]}`, true, "start start blocked"},
		{`{"allowedMcpServers":[{"serverName":"w"},{"serverUrl":"https://other.example.com/*"}]}`, true, "blocked blocked blocked"},
		{`{"allowedMcpServers":[{"serverUrl":"https://*.example.com"}]}`, true, "blocked start blocked"},
		{`{"allowedMcpServers":[{"serverUrl":"*://api.EXAMPLE.com/v1/*"}]}`, true, "blocked start blocked"},
		{`{"allowedMcpServers":[{"serverUrl":"https://api.example.com/V1/*"}]}`, true, "blocked blocked blocked"},
		{`{"allowedMcpServers":[{"serverUrl":"https://example.com"}]}`, true, "blocked blocked blocked"},
		{`{"allowedMcpServers":[{"serverCommand":["npx","-y","p"]},{"serverName":"w"}]}`, true, "start start blocked"},
		{`{"allowedMcpServers":[{"serverCommand":["npx","-y"]}]}`, true, "blocked blocked blocked"},
		{`{"allowedMcpServers":[{"serverName":"l"}],"allowManagedMcpServersOnly":true}`, true, "blocked blocked blocked"},
		{`{"allowedMcpServers":[{"serverName":"l"}],"allowManagedMcpServersOnly":"?","managed:allowedMcpServers":[{"serverName":"w"}]}`, true, "blocked start blocked"},
		{`{"allowedMcpServers":[],"allowManagedMcpServersOnly":true,"managed:allowedMcpServers":null}`, true, "start start pending-approval"},
		{`{"allowedMcpServers":[{"serverName":"l"}],"allowManagedMcpServersOnly":false,"managed:allowedMcpServers":[]}`, true, "start blocked blocked"},
		{`{"deniedMcpServers":[{"serverName":"l"}],"allowManagedMcpServersOnly":true,"managed:allowedMcpServers":[{"serverName":"l"},{"serverName":"w"}]}`, true, "blocked start blocked"},
		{`{"deniedMcpServers":[{"serverName":"l"}],"allowedMcpServers":[{"serverName":"l"}]}`, true, "blocked blocked blocked"},
		{`{"deniedMcpServers":[{"serverUrl":"https://${HOST}"}]}`, true, "start blocked pending-approval"},
		{`{"deniedMcpServers":[{"serverName":"x","serverUrl":"y"}]}`, true, "start blocked pending-approval"},
	} {
		var keys map[string]json.RawMessage
		if err := json.Unmarshal([]byte(c.keys), &keys); err != nil {
			t.Fatal(err)
		}
		p := PolicyFrom(keys, c.trusted, Lookup([]string{"HOST=api.example.com"}))
		var got []string
		for _, s := range []Server{local, web, repo} {
			v, why := p.Judge(&s)
			if (v == Start) != (why == "") {
				t.Errorf("%s: %s %q", c.keys, v, why)
			}
			got = append(got, string(v))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %v", c.keys, got)
		}
	}
	limited := PolicyFrom(map[string]json.RawMessage{"allowedMcpServers": json.RawMessage(`[{"serverName":"a b"}]`), "deniedMcpServers": json.RawMessage(`[{"serverName":"c d"}]`)}, true, Lookup(nil))
	for _, c := range []struct {
		s    Server
		want Verdict
	}{
		{Server{Name: "a b", Scope: ScopeUser, Type: Stdio, Command: "x"}, Blocked}, // no name for an allow list
		{Server{Name: "any", Scope: ScopeManaged, Type: HTTP, URL: "https://h"}, Start},
		{Server{Name: "c d", Scope: ScopeManaged, Type: HTTP, URL: "https://h"}, Blocked},
	} {
		if got, _ := limited.Judge(&c.s); got != c.want {
			t.Errorf("%s: %s", c.s.Name, got)
		}
	}
	if urlMatches("https://good.example", "https://good.example@evil.example/") {
		t.Error("the user part is no host")
	}
}

func TestChoices(t *testing.T) {
	state, dir := t.TempDir(), t.TempDir()
	ctx := t.Context()
	repo := Server{Name: "r", Scope: ScopeProject, Type: Stdio, Command: "x", Fingerprint: "f1"}
	judge := func() Verdict {
		t.Helper()
		var p Policy
		if err := OpenChoices(state, dir).Apply(&p); err != nil {
			t.Fatal(err)
		}
		v, _ := p.Judge(&repo)
		return v
	}
	c := OpenChoices(state, dir)
	step := func(what string, err error, want Verdict) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if got := judge(); got != want {
			t.Errorf("%s: %s", what, got)
		}
	}
	step("nothing", nil, PendingApproval)
	step("approved", c.Approve(ctx, &repo), Start)
	repo.Fingerprint = "f2"
	step("the entry changed since", nil, PendingApproval)
	step("approved again", c.Approve(ctx, &repo), Start)
	step("another project", OpenChoices(state, t.TempDir()).Reject(ctx, "r"), Start)
	step("off", c.SetEnabled(ctx, "r", false), Disabled)
	step("on", c.SetEnabled(ctx, "r", true), Start)
	step("rejected", c.Reject(ctx, "r"), Rejected)
	step("reset", c.Reset(ctx), PendingApproval)
	write(t, filepath.Join(state, "mcp-choices.json"), "{broken")
	var p Policy
	if err := OpenChoices(state, dir).Apply(&p); err == nil {
		t.Error("a broken record was read")
	}
	if err := c.Approve(ctx, &repo); err == nil {
		t.Error("a broken record was overwritten")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("n", `{"command":"${A:-${B}}","args":["x"],"env":{"a":1},"oauth":{"scopes":"a b"}}`)
	f.Add("n", `{"type":"http","url":"http://[::1]:80/","headers":{"a":"b"},"timeout":1e99}`)
	f.Fuzz(func(t *testing.T, name, raw string) {
		s, _ := parse(name, json.RawMessage(raw), ScopeUser, "f", "/", Lookup([]string{"A=1"}))
		if s.Invalid == "" && s.Command == "" && s.URL == "" {
			t.Errorf("%q %q: nothing to start, and no reason", name, raw)
		}
		(&Policy{Limited: true, Allowed: []Entry{{URL: "https://*"}}}).Judge(&s)
		_ = s.Endpoint()
	})
}

func TestDescribe(t *testing.T) {
	l := Server{Type: Stdio, Command: "npx", Args: []string{"-y", "a b", "\x1b[2J"}, Env: map[string]string{"B": "s3cret", "A": ""}}
	if got := l.Describe(); got != "runs npx -y \"a b\" \"\\x1b[2J\"\nsets A, B" {
		t.Errorf("%q", got)
	}
	w := Server{Type: HTTP, URL: "https://h/p?t=s3cret", Headers: map[string]string{"X": "s3cret"}, HeadersHelper: "get"}
	if got := w.Describe(); got != "reaches https://h/p\nsends the headers X\nruns \"get\" for headers" {
		t.Errorf("%q", got)
	}
}
