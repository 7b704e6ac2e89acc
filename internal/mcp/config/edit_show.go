package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Mask stands for a value that is not shown.
const Mask = "***"

// maxShown bounds one line of what a person is shown of an entry, in characters.
const maxShown = 2_000

// Shown is an entry as it was written, for people: variables are not filled in.
type Shown struct {
	Type          Transport         `json:"type"`
	Command       string            `json:"command,omitempty"`
	Args          []string          `json:"args,omitempty"`
	Env           map[string]string `json:"env,omitempty"`
	URL           string            `json:"url,omitempty"`
	Headers       map[string]string `json:"headers,omitempty"`
	HeadersHelper string            `json:"headersHelper,omitempty"`
	ClientID      string            `json:"oauthClientId,omitempty"`
	CallbackPort  int               `json:"oauthCallbackPort,omitempty"`
	Scopes        string            `json:"oauthScopes,omitempty"`
	SignIn        string            `json:"oauthMetadataUrl,omitempty"`
	Timeout       string            `json:"timeout,omitempty"` // milliseconds
	AlwaysLoad    *bool             `json:"alwaysLoad,omitempty"`
	Disabled      bool              `json:"disabled,omitempty"`
}

// Show reads an entry for display. With mask, values that may be secrets are
// replaced by [Mask]: those of variables, headers and the query of an address,
// passwords in addresses, and arguments that are named like secrets.
func Show(raw json.RawMessage, mask bool) (Shown, error) {
	var w wireServer
	if err := json.Unmarshal(raw, &w); err != nil {
		return Shown{}, fmt.Errorf("the entry cannot be read: %s", jsonError(err))
	}
	s := Shown{Type: Transport(w.Type), Command: w.Command, Args: w.Args, Headers: w.Headers, HeadersHelper: w.HeadersHelper,
		Timeout: string(w.Timeout), AlwaysLoad: w.AlwaysLoad, Disabled: w.Disabled}
	switch w.Type {
	case "":
		s.Type = Stdio
	case "streamable-http":
		s.Type = HTTP
	}
	if w.URL != nil {
		s.URL = *w.URL
	}
	if w.Env != nil {
		s.Env = map[string]string{}
		for k, v := range w.Env {
			s.Env[k] = string(v)
		}
	}
	if o := w.OAuth; o != nil {
		s.ClientID, s.CallbackPort, s.Scopes, s.SignIn = o.ClientID, o.CallbackPort, o.Scopes, o.AuthServerMetadataURL
	}
	if mask {
		s.Args, s.URL = maskArgs(s.Args), maskURL(s.URL)
		for _, m := range []map[string]string{s.Env, s.Headers} {
			for k := range m {
				m[k] = Mask
			}
		}
	}
	return s, nil
}

// Lines are the fields as label and text, each on one line. Whatever could play
// with a terminal, or cannot be seen, is written in escapes.
func (s Shown) Lines() (out [][2]string) {
	add := func(label, text string) {
		if r := []rune(text); len(r) > maxShown {
			text = string(r[:maxShown]) + fmt.Sprintf("… (%d characters more, which are not shown)", len(r)-maxShown)
		}
		out = append(out, [2]string{label, text})
	}
	sorted := func(label, between string, m map[string]string) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			add(label, visible(k)+between+visible(m[k]))
		}
	}
	add("type", visible(string(s.Type)))
	if s.Command != "" || len(s.Args) > 0 {
		words := make([]string, 0, len(s.Args)+1)
		for _, w := range append([]string{s.Command}, s.Args...) {
			words = append(words, visibleWord(w))
		}
		add("command", strings.Join(words, " "))
	}
	sorted("env", "=", s.Env)
	if s.URL != "" {
		add("url", visible(s.URL))
	}
	sorted("header", ": ", s.Headers)
	for _, f := range [][2]string{{"headers from", s.HeadersHelper}, {"client id", s.ClientID}, {"scopes", s.Scopes}, {"sign-in", s.SignIn}} {
		if f[1] != "" {
			add(f[0], visible(f[1]))
		}
	}
	if s.CallbackPort != 0 {
		add("callback", strconv.Itoa(s.CallbackPort))
	}
	if s.Timeout != "" {
		add("timeout", s.Timeout+" ms")
	}
	if s.AlwaysLoad != nil {
		add("alwaysLoad", strconv.FormatBool(*s.AlwaysLoad))
	}
	if s.Disabled {
		add("disabled", "true")
	}
	return out
}

// Variables tells whether something of the environment is filled in.
func (s Shown) Variables() bool {
	has := func(v string) bool { return strings.Contains(v, "${") }
	return has(s.Command) || has(s.URL) || slices.ContainsFunc(s.Args, has) ||
		slices.ContainsFunc(slices.Collect(maps.Values(s.Env)), has) || slices.ContainsFunc(slices.Collect(maps.Values(s.Headers)), has)
}

// hidden tells of characters that a reader does not see as what they are.
func hidden(r rune) bool {
	return !unicode.IsPrint(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) || r == '\u2800'
}

// visible quotes a text if characters of it could not be seen.
func visible(s string) string {
	if strings.ContainsFunc(s, hidden) || strings.ContainsRune(s, unicode.ReplacementChar) {
		return strconv.QuoteToASCII(s)
	}
	return s
}

// visibleWord is visible for a word among others: where it ends is seen too.
func visibleWord(s string) string {
	if v := visible(s); v != s {
		return v
	}
	if s == "" || strings.ContainsAny(s, " \"'\\") {
		return strconv.Quote(s)
	}
	return s
}

// secretParts are parts of names that tell of a secret.
var secretParts = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "KEY", "APIKEY", "AUTH", "AUTHORIZATION", "BEARER", "COOKIE", "PAT", "DSN", "CREDENTIAL", "CREDENTIALS"}

func secretName(name string) bool {
	parts := strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.ContainsFunc(parts, func(p string) bool { return slices.Contains(secretParts, p) })
}

// maskArgs masks values of arguments whose names tell of a secret: --token V,
// --token=V, TOKEN=V, "Authorization: V"; and passwords in addresses.
func maskArgs(args []string) []string {
	var out []string
	next := false
	for _, a := range args {
		after := next && !strings.HasPrefix(a, "-")
		next = false
		name, _, pair := strings.Cut(a, "=")
		header, _, isHeader := strings.Cut(a, ":")
		switch {
		case after:
			a = Mask
		case pair && secretName(name) && !strings.Contains(name, "://"):
			a = name + "=" + Mask
		case isHeader && secretName(header) && !strings.Contains(a, "://"):
			a = header + ": " + Mask
		case strings.Contains(a, "://"):
			a = maskURL(a)
		case strings.HasPrefix(a, "-") && !pair:
			next = secretName(a)
		}
		out = append(out, a)
	}
	return out
}

// maskURL masks the user and the values of the query of an address.
func maskURL(s string) string {
	if s == "" {
		return ""
	}
	rest, fragment, hasFragment := strings.Cut(s, "#")
	rest, query, hasQuery := strings.Cut(rest, "?")
	if scheme, after, ok := strings.Cut(rest, "://"); ok {
		host, path, slash := strings.Cut(after, "/")
		if i := strings.LastIndexByte(host, '@'); i >= 0 {
			host = Mask + host[i:]
		}
		rest = scheme + "://" + host
		if slash {
			rest += "/" + path
		}
	}
	if hasQuery {
		var parts []string
		for _, p := range strings.Split(query, "&") {
			name, _, pair := strings.Cut(p, "=")
			if n, err := url.QueryUnescape(name); pair && err == nil {
				p = url.QueryEscape(n) + "=" + Mask
			} else {
				p = Mask
			}
			parts = append(parts, p)
		}
		rest += "?" + strings.Join(parts, "&")
	}
	if hasFragment && fragment != "" {
		rest += "#" + Mask
	}
	return rest
}
