package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Limits of an HTTP handler's answer.
const (
	maxHTTPBody   = maxStdout
	httpIdleConns = 4
	httpIdleTime  = 30 * time.Second
)

// newHTTPClient follows no redirect: it could lead out of the allowed
// addresses, with the headers and the call's input.
func newHTTPClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second,
			MaxIdleConns:        httpIdleConns,
			IdleConnTimeout:     httpIdleTime,
			ForceAttemptHTTP2:   true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// post sends the event to an HTTP handler.
func (f *firing) post(ctx context.Context, e *entry) reply {
	u, err := url.Parse(e.h.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return reply{err: errors.New("its url must start with http:// or https://")}
	}
	if f.policy.LimitURLs && !slices.ContainsFunc(f.policy.AllowedURLs, func(p string) bool { return urlMatches(p, u) }) {
		return reply{err: fmt.Errorf("the settings do not allow hooks to reach %s (allowedHttpHookUrls)", u.Host)}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(f.input))
	if err != nil {
		return reply{err: errors.New("its url cannot be used")}
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range e.h.Headers {
		value = f.headerValue(value, e.h.AllowedEnvVars)
		if strings.ContainsAny(value, "\r\n\x00") {
			return reply{err: fmt.Errorf("its header %s has a line break", clip(name, maxLabel))}
		}
		req.Header.Set(name, value)
	}
	resp, err := f.r.httpClient().Do(req)
	if err != nil {
		return reply{err: fmt.Errorf("%s cannot be reached: %w", u.Host, withoutURL(err))}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxHTTPBody+1))
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return reply{err: fmt.Errorf("%s answered with status %d", u.Host, resp.StatusCode)}
	case err != nil:
		return reply{err: fmt.Errorf("the answer of %s broke off", u.Host)}
	case len(body) > maxHTTPBody:
		return reply{err: fmt.Errorf("the answer of %s has more than %d bytes", u.Host, maxHTTPBody)}
	}
	return reply{stdout: body}
}

// withoutURL drops the address from an error: it may hold a token.
func withoutURL(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		return ue.Err
	}
	return err
}

// headerValue replaces $NAME and ${NAME}; what is not allowed becomes nothing.
func (f *firing) headerValue(s string, allowed []string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '$' {
			b.WriteByte(s[i])
			i++
			continue
		}
		name, size := varAt(s[i:])
		if size == 0 {
			b.WriteByte('$')
			i++
			continue
		}
		if slices.Contains(allowed, name) && (!f.policy.LimitEnvVars || slices.Contains(f.policy.AllowedEnvVars, name)) {
			b.WriteString(lookup(f.r.env, name))
		}
		i += size
	}
	return b.String()
}

// varAt reads a variable at the start of s; size 0 means that there is none.
func varAt(s string) (name string, size int) {
	if strings.HasPrefix(s, "${") {
		end := strings.IndexByte(s, '}')
		if end < 0 || !isVarName(s[2:end]) {
			return "", 0
		}
		return s[2:end], end + 1
	}
	end := 1
	for end < len(s) && isVarName(s[1:end+1]) {
		end++
	}
	if end == 1 {
		return "", 0
	}
	return s[1:end], end
}

// urlMatches compares an address with a pattern of an allow list, in which *
// stands for any characters. The host is compared apart from the rest, so that
// a * cannot reach over it into another address.
func urlMatches(pattern string, u *url.URL) bool {
	if pattern == "*" {
		return true
	}
	if u.User != nil {
		return false // user@host can dress up as another host
	}
	scheme, rest, ok := strings.Cut(pattern, "://")
	if !ok {
		return false
	}
	host, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	have := u.EscapedPath()
	if have == "" {
		have = "/"
	}
	if u.RawQuery != "" || u.ForceQuery {
		have += "?" + u.RawQuery
	}
	if path == "" {
		path = "/"
		if strings.HasSuffix(host, "*") {
			path = "*"
		}
	}
	return wild(strings.ToLower(scheme), u.Scheme) && wild(plainHost(host), plainHost(u.Host)) && wild(path, have)
}

// plainHost is a host in small letters, without a trailing dot.
func plainHost(host string) string {
	host = strings.ToLower(host)
	name, port := host, ""
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		name, port = host[:i], host[i:]
	}
	return strings.TrimSuffix(name, ".") + port
}

// wild matches a pattern in which * stands for any characters.
func wild(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return true
}

// publicURL is what of an address may be shown.
func publicURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return TypeHTTP
	}
	return clip(u.Scheme+"://"+u.Host+u.EscapedPath(), maxLabel)
}

// callTool runs an MCP tool.
func (f *firing) callTool(ctx context.Context, e *entry) reply {
	if f.r.cfg.Tools == nil {
		return reply{err: errors.New("MCP tools are not available to hooks here")}
	}
	input, err := f.toolInput(e.h.Input)
	if err != nil {
		return reply{err: err}
	}
	text, isError, err := f.r.cfg.Tools.CallTool(ctx, e.h.Server, e.h.Tool, input)
	switch {
	case err != nil:
		return reply{err: fmt.Errorf("the MCP tool cannot be called: %s", clip(err.Error(), maxErrorLine))}
	case isError:
		return reply{err: fmt.Errorf("the MCP tool failed: %s", clip(text, maxErrorLine))}
	case len(text) > maxStdout:
		return reply{err: fmt.Errorf("the MCP tool's answer has more than %d bytes", maxStdout)}
	}
	return reply{stdout: []byte(text)}
}

// toolInput fills ${path.to.field} of the event's input into the strings of a
// handler's input.
func (f *firing) toolInput(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return json.RawMessage("{}"), nil
	}
	var in, event any
	if json.Unmarshal(raw, &in) != nil || json.Unmarshal(f.input, &event) != nil {
		return nil, errors.New("its input cannot be read")
	}
	return encode(fill(in, event))
}

func fill(v, event any) any {
	switch v := v.(type) {
	case string:
		return expand(v, func(path string) (string, bool) { return field(event, path), true })
	case []any:
		for i := range v {
			v[i] = fill(v[i], event)
		}
	case map[string]any:
		for k := range v {
			v[k] = fill(v[k], event)
		}
	}
	return v
}

// field finds a value by a dotted path; what is not there is empty.
func field(v any, path string) string {
	for name := range strings.SplitSeq(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return ""
		}
		v = m[name]
	}
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	out, err := encode(v)
	if err != nil {
		return ""
	}
	return string(out)
}

// ask puts a question to a model.
func (f *firing) ask(ctx context.Context, e *entry) reply {
	if f.r.cfg.Models == nil {
		return reply{err: fmt.Errorf("%s hooks are not available here", e.h.Type)}
	}
	select {
	case f.r.models <- struct{}{}:
		defer func() { <-f.r.models }()
	case <-ctx.Done():
		return reply{err: errors.New("its turn did not come in time")}
	}
	answer, err := f.r.cfg.Models.Prompt(ctx, Question{Agent: e.h.Type == TypeAgent, Model: e.h.Model,
		Text: promptText(e.h.Prompt, string(f.input)), Event: f.event})
	if err != nil {
		return reply{err: fmt.Errorf("the model gave no answer: %s", clip(err.Error(), maxErrorLine))}
	}
	return reply{model: &answer}
}

// promptText puts the event's input in place of $ARGUMENTS, or after the
// prompt; \$ is a plain $.
func promptText(prompt, input string) string {
	const mark = "$ARGUMENTS"
	var b strings.Builder
	found := false
	for i := 0; i < len(prompt); {
		switch {
		case strings.HasPrefix(prompt[i:], `\$`):
			b.WriteByte('$')
			i += 2
		case strings.HasPrefix(prompt[i:], mark):
			b.WriteString(input)
			found = true
			i += len(mark)
		default:
			b.WriteByte(prompt[i])
			i++
		}
	}
	if !found {
		b.WriteString("\n\n" + input)
	}
	return b.String()
}

// callback calls a function of the host program and waits for it: it is told
// by ctx when to stop.
func (f *firing) callback(ctx context.Context, e *entry) reply {
	if e.h.Func == nil {
		return reply{err: errors.New("the callback is missing")}
	}
	out, err := e.h.Func(ctx, bytes.Clone(f.input), f.ev.ToolUseID)
	if err == nil {
		return reply{stdout: out}
	}
	return reply{err: fmt.Errorf("the callback failed: %s", clip(err.Error(), maxErrorLine))}
}
