package config

import (
	"bytes"
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
	// OAuth and Other are the fields of "oauth", and all further fields, as they
	// stand there.
	OAuth map[string]json.RawMessage `json:"oauth,omitempty"`
	Other map[string]json.RawMessage `json:"other,omitempty"`
}

// shownApart are the fields that have a place of their own in Shown.
var shownApart = []string{"type", "command", "args", "env", "url", "headers", "headersHelper", "oauth"}

// Show reads an entry for display. With mask, values that may be secrets are
// replaced by [Mask]: those of variables, headers and the query of an address,
// passwords in addresses, arguments that are named like secrets, and fields that
// are not known.
func Show(raw json.RawMessage, mask bool) (Shown, error) {
	var w wireServer
	if err := json.Unmarshal(raw, &w); err != nil {
		return Shown{}, fmt.Errorf("the entry cannot be read: %s", jsonError(err))
	}
	s := Shown{Type: Transport(w.Type), Command: w.Command, Args: w.Args, Headers: w.Headers, HeadersHelper: w.HeadersHelper}
	if err := json.Unmarshal(raw, &s.Other); err != nil {
		return Shown{}, fmt.Errorf("the entry cannot be read: %s", jsonError(err))
	}
	for key := range s.Other { // however it is written: the decoder is not strict about letters
		switch {
		case strings.EqualFold(key, "oauth"):
			if err := json.Unmarshal(s.Other[key], &s.OAuth); err != nil {
				return Shown{}, fmt.Errorf("oauth cannot be read: %s", jsonError(err))
			}
			delete(s.Other, key)
		case slices.Contains(shownApart, key):
			delete(s.Other, key)
		}
	}
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
	if mask {
		s.Args, s.URL = maskArgs(s.Args), maskURL(s.URL)
		for _, m := range []map[string]string{s.Env, s.Headers} {
			for k := range m {
				m[k] = Mask
			}
		}
		for _, m := range []map[string]json.RawMessage{s.OAuth, s.Other} {
			for k, v := range m {
				if !harmless(k, v) {
					m[k] = json.RawMessage(`"` + Mask + `"`)
				}
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
	if s.HeadersHelper != "" {
		add("headers from", visible(s.HeadersHelper))
	}
	further := func(before string, m map[string]json.RawMessage) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			var text string
			if json.Unmarshal(m[k], &text) != nil {
				var b bytes.Buffer
				_ = json.Compact(&b, m[k]) // it was read before
				text = b.String()
			}
			add(before+visible(k), visible(text))
		}
	}
	further("oauth.", s.OAuth)
	further("", s.Other)
	return out
}

// Variables tells whether something of the environment is filled in.
func (s Shown) Variables() bool {
	has := func(v string) bool { return strings.Contains(v, "${") }
	return has(s.Command) || has(s.URL) || slices.ContainsFunc(s.Args, has) ||
		slices.ContainsFunc(slices.Collect(maps.Values(s.Env)), has) || slices.ContainsFunc(slices.Collect(maps.Values(s.Headers)), has)
}

// harmless tells that a further field cannot hold a secret.
func harmless(key string, value json.RawMessage) bool {
	switch key {
	case "clientId", "callbackPort", "scopes", "authServerMetadataUrl", "grant", "privateKeyFile":
		return true
	}
	text := strings.TrimSpace(string(value))
	return text == "true" || text == "false" || text != "" && strings.Trim(text, "0123456789") == ""
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
