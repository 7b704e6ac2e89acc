package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Scope says where a server's definition comes from. Of two servers with one
// name the whole entry of the stronger scope counts.
type Scope string

// The scopes, the strongest first.
const (
	ScopeManaged Scope = "managed" // an administrator's; nothing else is read then
	ScopeFlag    Scope = "flag"    // the command line or the host program
	ScopeLocal   Scope = "local"   // one person, this project
	ScopeProject Scope = "project" // in the repository, shared
	ScopeUser    Scope = "user"    // one person, all projects
)

// Transport says how a server is reached.
type Transport string

// The transports.
const (
	Stdio Transport = "stdio" // a child process
	HTTP  Transport = "http"  // streamable HTTP, with SSE as its fallback
	SSE   Transport = "sse"   // the older HTTP transport
	// WebSocket is one message a text, over a WebSocket.
	WebSocket Transport = "ws"
)

// Limits of an entry.
const (
	// MinTimeout is the least that a per-call timeout can be; less is ignored,
	// with a warning.
	MinTimeout = time.Second
	// MaxName bounds the name of a server, in bytes.
	MaxName = 128
)

// Server is one server as it was configured, with variables expanded.
type Server struct {
	Name  string
	Scope Scope
	// File is where the entry stands; empty for an inline one.
	File string
	// Dir is where its commands run.
	Dir  string
	Type Transport

	Command string
	Args    []string
	Env     map[string]string

	URL     string
	Headers map[string]string
	// HeadersHelper is a shell command that prints a JSON object of headers.
	HeadersHelper string
	OAuth         OAuth

	// Timeout bounds one call; 0 means the default.
	Timeout time.Duration
	// AlwaysLoad keeps its tools out of deferral, or (false) in it.
	AlwaysLoad *bool
	// TrustHints takes the server's word for what its tools do not change. It
	// never comes from a repository.
	TrustHints bool
	// BareElicitation tells the server only that it can ask the person, and not
	// in which ways: some servers know no more.
	BareElicitation bool
	// Off: the entry itself says that the server is switched off.
	Off bool
	// Fingerprint identifies the entry as it was written: an approval holds for
	// it only.
	Fingerprint string
	// Invalid says why the server cannot be started; empty if it can.
	Invalid string
}

// OAuth is how to sign in, where discovery is not enough.
type OAuth struct {
	ClientID              string
	CallbackPort          int
	Scopes                []string
	AuthServerMetadataURL string
	// Grant is how a token is had: empty for a person's sign-in, or
	// [ClientCredentials].
	Grant string
	// PrivateKeyFile is a PEM file with the key that the client signs with in
	// place of a secret.
	PrivateKeyFile string
	// IDP is an organisation's identity provider, whose word the server's
	// authorization server takes.
	IDP IDP
}

// ClientCredentials is the grant in which the program itself is the client, and
// no person.
const ClientCredentials = "client_credentials"

// IDP is an identity provider.
type IDP struct {
	Issuer   string
	ClientID string
	// TokenHelper is a shell command that prints an ID token; without one the
	// person signs in.
	TokenHelper string
}

// Endpoint is the address or the command line, for display: without query,
// user and fragment, which may hold secrets.
func (s *Server) Endpoint() string {
	if s.Type == Stdio {
		return s.Command
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return "(an address that cannot be read)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// Describe says all that a person must see before approving the server: what is
// run or reached, and what it is given. Values of variables and headers are left
// out, since they may hold secrets.
func (s *Server) Describe() string {
	names := func(m map[string]string) string { return strings.Join(slices.Sorted(maps.Keys(m)), ", ") }
	var lines []string
	if s.Type == Stdio {
		words := make([]string, 0, len(s.Args)+1)
		for _, w := range append([]string{s.Command}, s.Args...) {
			if w == "" || strings.ContainsFunc(w, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '"' || r == '\\' }) {
				w = strconv.Quote(w)
			}
			words = append(words, w)
		}
		lines = append(lines, "runs "+strings.Join(words, " "))
		if len(s.Env) > 0 {
			lines = append(lines, "sets "+names(s.Env))
		}
	} else {
		lines = append(lines, "reaches "+s.Endpoint())
		if len(s.Headers) > 0 {
			lines = append(lines, "sends the headers "+names(s.Headers))
		}
		if s.HeadersHelper != "" {
			lines = append(lines, "runs "+strconv.Quote(s.HeadersHelper)+" for headers")
		}
	}
	return strings.Join(lines, "\n")
}

// FromRepository tells whether anyone who can write to the repository could
// have written the entry.
func (s *Server) FromRepository() bool { return s.Scope == ScopeProject }

// Warning is something wrong with a file or an entry.
type Warning struct {
	File   string
	Server string // empty for the whole file
	Text   string
}

func (w Warning) String() string {
	var where []string
	if w.File != "" {
		where = append(where, w.File)
	}
	if w.Server != "" {
		where = append(where, "server "+w.Server)
	}
	return strings.Join(append(where, w.Text), ": ")
}

// reserved names belong to servers that programs bring along themselves.
var reserved = []string{"workspace", "claude-in-chrome", "computer-use", "Claude Preview", "Claude Browser", "anthropic-skills"}

type wireServer struct {
	Type          string            `json:"type"`
	Command       string            `json:"command"`
	Args          []string          `json:"args"`
	Env           map[string]scalar `json:"env"`
	URL           *string           `json:"url"`
	Headers       map[string]string `json:"headers"`
	HeadersHelper string            `json:"headersHelper"`
	OAuth         *struct {
		ClientID              string `json:"clientId"`
		CallbackPort          int    `json:"callbackPort"`
		Scopes                string `json:"scopes"`
		AuthServerMetadataURL string `json:"authServerMetadataUrl"`
		Grant                 string `json:"grant"`
		PrivateKeyFile        string `json:"privateKeyFile"`
		IDP                   *struct {
			Issuer      string `json:"issuer"`
			ClientID    string `json:"clientId"`
			TokenHelper string `json:"tokenHelper"`
		} `json:"idp"`
	} `json:"oauth"`
	Timeout    json.Number `json:"timeout"`
	AlwaysLoad *bool       `json:"alwaysLoad"`
	TrustHints bool        `json:"trustAnnotations"`
	Disabled   bool        `json:"disabled"`
	Bare       bool        `json:"bareElicitationCapability"`
}

// scalar is a string, or a number or boolean that stands for its text.
type scalar string

func (s *scalar) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*s = scalar(text)
		return nil
	}
	if c := data[0]; c == '{' || c == '[' || c == 'n' {
		return errors.New("a value of env must be a string")
	}
	*s = scalar(data)
	return nil
}

// parse reads one entry. What is wrong with it stands in Invalid, so that the
// person sees the server and why it does not run.
func parse(name string, raw json.RawMessage, scope Scope, file, dir string, lookup func(string) (string, bool)) (Server, []Warning) {
	s := Server{Name: name, Scope: scope, File: file, Dir: dir, Fingerprint: fingerprint(name, raw)}
	var warnings []Warning
	warn := func(format string, args ...any) {
		warnings = append(warnings, Warning{file, name, fmt.Sprintf(format, args...)})
	}
	bad := func(format string, args ...any) (Server, []Warning) {
		s.Invalid = fmt.Sprintf(format, args...)
		warn("%s", s.Invalid)
		return s, warnings
	}
	switch {
	case strings.TrimSpace(name) == "" || len(name) > MaxName || strings.ContainsAny(name, "\x00\n\r"):
		return bad("the name must be 1 to %d bytes on one line", MaxName)
	case slices.Contains(reserved, name):
		return bad("the name %q is reserved; choose another", name)
	}
	var w wireServer
	if err := json.Unmarshal(raw, &w); err != nil {
		return bad("the entry cannot be read: %s", jsonError(err))
	}
	x := expander{lookup: lookup}
	s.Command, s.HeadersHelper = x.expand(w.Command), w.HeadersHelper
	for _, a := range w.Args {
		s.Args = append(s.Args, x.expand(a))
	}
	if w.Env != nil {
		s.Env = map[string]string{}
		for k, v := range w.Env {
			s.Env[k] = x.expand(string(v))
		}
	}
	if w.Headers != nil {
		s.Headers = map[string]string{}
		for k, v := range w.Headers {
			s.Headers[k] = x.expand(v)
		}
	}
	if w.URL != nil {
		s.URL = x.expand(*w.URL)
	}
	if len(x.missing) > 0 {
		slices.Sort(x.missing)
		warn("not set in the environment, and so left as written: %s", strings.Join(slices.Compact(x.missing), ", "))
	}
	for _, v := range append([]string{w.Command, s.URL}, w.Args...) {
		if v != strings.TrimSpace(v) {
			warn("a value begins or ends with white space; it is used as it is")
			break
		}
	}
	s.AlwaysLoad, s.TrustHints, s.Off, s.BareElicitation = w.AlwaysLoad, w.TrustHints && scope != ScopeProject, w.Disabled, w.Bare
	if w.TrustHints && scope == ScopeProject {
		warn("trustAnnotations cannot be set by a repository; it is ignored")
	}
	if w.Timeout != "" {
		ms, err := w.Timeout.Float64()
		switch d := time.Duration(ms * float64(time.Millisecond)); {
		case err != nil || ms < 0 || ms > 1e12:
			warn("timeout is %s; it must be a number of milliseconds; it is ignored", w.Timeout)
		case d < MinTimeout:
			warn("timeout is %s ms; less than %d ms is ignored", w.Timeout, MinTimeout.Milliseconds())
		default:
			s.Timeout = d
		}
	}
	if o := w.OAuth; o != nil {
		s.OAuth = OAuth{ClientID: o.ClientID, CallbackPort: o.CallbackPort, Scopes: strings.Fields(o.Scopes), AuthServerMetadataURL: o.AuthServerMetadataURL}
		if o.CallbackPort < 0 || o.CallbackPort > 65535 {
			return bad("oauth.callbackPort is %d; it must be 1 to 65535", o.CallbackPort)
		}
		if u := o.AuthServerMetadataURL; u != "" && !strings.HasPrefix(u, "https://") && !loopback(u) {
			return bad("oauth.authServerMetadataUrl must begin with https://")
		}
		if scope == ScopeProject && (o.Grant != "" || o.PrivateKeyFile != "" || o.IDP != nil) {
			// They would give secrets of the person to whom the repository names.
			return bad("oauth.grant, oauth.privateKeyFile and oauth.idp cannot be set by a repository")
		}
		switch o.Grant {
		case "", "authorization_code":
		case ClientCredentials:
			if o.ClientID == "" {
				return bad("oauth.grant %s needs oauth.clientId", ClientCredentials)
			}
			s.OAuth.Grant = o.Grant
		default:
			return bad("oauth.grant is %q; it must be authorization_code or %s", o.Grant, ClientCredentials)
		}
		if s.OAuth.PrivateKeyFile = x.expand(o.PrivateKeyFile); s.OAuth.PrivateKeyFile != "" && !filepath.IsAbs(s.OAuth.PrivateKeyFile) {
			s.OAuth.PrivateKeyFile = filepath.Join(dir, s.OAuth.PrivateKeyFile)
		}
		if p := o.IDP; p != nil {
			s.OAuth.IDP = IDP{p.Issuer, p.ClientID, p.TokenHelper}
			switch {
			case !strings.HasPrefix(p.Issuer, "https://") && !loopback(p.Issuer):
				return bad("oauth.idp.issuer must begin with https://")
			case p.ClientID == "" || o.ClientID == "":
				return bad("oauth.idp needs both oauth.idp.clientId and oauth.clientId")
			}
		}
	}
	switch w.Type {
	case "", "stdio":
		s.Type = Stdio
		if w.Type == "" && w.URL != nil && w.Command == "" {
			return bad(`there is a url but no type; add "type": "http" (or "sse")`)
		}
		if s.Command == "" {
			return bad("command is missing")
		}
		if strings.ContainsRune(s.Command, 0) {
			return bad("command has a NUL byte")
		}
	case "http", "streamable-http":
		s.Type = HTTP
	case "sse":
		s.Type = SSE
	case "ws":
		s.Type = WebSocket
	case "sdk":
		return bad("servers of type sdk come from a host program, not from a file")
	default:
		return bad("type is %q; it must be stdio, http, sse or ws", w.Type)
	}
	if s.Type != Stdio {
		if s.URL == "" {
			return bad("not configured: url is empty")
		}
		u, err := url.Parse(s.URL)
		schemes := []string{"http", "https"}
		if s.Type == WebSocket {
			schemes = []string{"ws", "wss"}
		}
		if err != nil || !slices.Contains(schemes, u.Scheme) || u.Host == "" {
			return bad("url must begin with %s:// or %s://", schemes[0], schemes[1])
		}
		if s.Type == WebSocket && w.OAuth != nil {
			warn("oauth does not work with type ws; it is ignored")
		}
		for k, v := range s.Headers {
			if strings.ContainsAny(k+v, "\r\n\x00") {
				return bad("header %q has a line break", strings.ToValidUTF8(k, "?"))
			}
		}
	}
	return s, warnings
}

// loopback tells whether an address stays on this machine.
func loopback(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && addr.IsLoopback())
}

// fingerprint identifies an entry by its meaning: white space and the order of
// its fields do not count.
func fingerprint(name string, raw json.RawMessage) string {
	var v any
	if err := json.Unmarshal(raw, &v); err == nil {
		if canonical, err := json.Marshal(v); err == nil {
			raw = canonical
		}
	}
	sum := sha256.Sum256(bytes.Join([][]byte{[]byte(name), raw}, []byte{0}))
	return hex.EncodeToString(sum[:16])
}

func jsonError(err error) string {
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) {
		return fmt.Sprintf("%s must be of type %s, not %s", t.Field, t.Type, t.Value)
	}
	return err.Error()
}
