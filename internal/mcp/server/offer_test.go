package server

//lint:file-ignore SA1019 logging is deprecated since 2026-07-28, and still what clients speak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sevengate/sevengate/tool"
)

// shelf offers many resources and prompts, and counts who watches what.
type shelf struct {
	n       int
	told    chan string
	refuses bool
}

func (f *shelf) Resources(context.Context) (out []*sdk.Resource, _ error) {
	for i := range f.n {
		out = append(out, &sdk.Resource{URI: fmt.Sprintf("x://%04d", f.n-i), Name: "r"})
	}
	return out, nil
}

func (f *shelf) Templates(context.Context) ([]*sdk.ResourceTemplate, error) { return nil, nil }

func (f *shelf) Read(_ context.Context, id, uri string) (*sdk.ReadResourceResult, error) {
	if uri == "x://0" {
		return nil, fmt.Errorf("opening: %w", ErrNotFound)
	}
	if uri == "x://broken" {
		return nil, errors.New("the disk is on fire")
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, Text: id}}}, nil
}

func (f *shelf) Subscribe(_ context.Context, uri string) error {
	if f.refuses {
		return errors.New("not now")
	}
	f.told <- "+" + uri
	return nil
}

func (f *shelf) Unsubscribe(_ context.Context, uri string) error {
	f.told <- "-" + uri
	return nil
}

func (f *shelf) Prompts(context.Context) (out []*sdk.Prompt, _ error) {
	for i := range f.n {
		out = append(out, &sdk.Prompt{Name: fmt.Sprintf("p%04d", i)})
	}
	return out, nil
}

func (f *shelf) GetPrompt(context.Context, string, *sdk.GetPromptParams) (*sdk.GetPromptResult, error) {
	return nil, ErrNotFound
}

func TestOnlyWhatIsGivenIsAnnounced(t *testing.T) {
	s, _ := newServer(0)
	c := dial(t, s, nil)
	if caps := c.InitializeResult().Capabilities; caps.Tools == nil || caps.Resources != nil || caps.Prompts != nil || caps.Completions != nil || caps.Logging != nil {
		t.Errorf("%+v", caps)
	}
	if err := c.SetLoggingLevel(t.Context(), &sdk.SetLoggingLevelParams{Level: "info"}); err == nil {
		t.Error("a level of messages that never come")
	}
	if _, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "x://1"}); err == nil {
		t.Error("a resource that is not offered")
	}
	if err := c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "x://1"}); err == nil {
		t.Error("a subscription that is not offered")
	}
	s.PromptsChanged()
	s.ResourcesChanged()
	s.ResourceUpdated("x://1")
}

func TestOffers(t *testing.T) {
	f := &shelf{n: pageSize + 3, told: make(chan string, 10)}
	s := New(Config{Dispatcher: &pool{}, Resources: f, Subscriptions: f, Prompts: f})
	changed, updated := make(chan string, 10), make(chan string, 10)
	c := dial(t, s, &sdk.ClientOptions{
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { changed <- "resources" },
		PromptListChangedHandler:   func(context.Context, *sdk.PromptListChangedRequest) { changed <- "prompts" },
		ResourceUpdatedHandler:     func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
	})
	var last string
	n := 0
	for r, err := range c.Resources(t.Context(), nil) {
		if err != nil || r.URI <= last {
			t.Fatal(r, err)
		}
		last, n = r.URI, n+1
	}
	prompts := 0
	for _, err := range c.Prompts(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		prompts++
	}
	if n != f.n || prompts != f.n {
		t.Error(n, prompts)
	}
	if res, err := c.ListResourceTemplates(t.Context(), nil); err != nil || res.ResourceTemplates == nil {
		t.Error(res, err)
	}
	first, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "x://0001"})
	second, err2 := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "x://0001"})
	if err != nil || err2 != nil || first.Contents[0].Text == second.Contents[0].Text {
		t.Error("two requests with one id", first, second)
	}
	for uri, code := range map[string]string{"x://0": "not found", "x://broken": "on fire", "": "missing"} {
		if _, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil || !contains(err, code) {
			t.Error(uri, err)
		}
	}
	if _, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "q"}); err == nil || !contains(err, `no prompt "q"`) {
		t.Error(err)
	}
	s.ResourcesChanged()
	s.PromptsChanged()
	for range 2 {
		select {
		case <-changed:
		case <-time.After(hang):
			t.Fatal("nobody was told of the change")
		}
	}

	other := dial(t, s, nil)
	for _, x := range []*sdk.ClientSession{c, c, other} { // a second time is no second watch
		if err := x.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "x://0001"}); err != nil {
			t.Fatal(err)
		}
	}
	s.ResourceUpdated("x://0002")
	s.ResourceUpdated("x://0001")
	select {
	case uri := <-updated:
		if uri != "x://0001" {
			t.Error(uri)
		}
	case <-time.After(hang):
		t.Fatal("no update")
	}
	if err := c.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: "x://0001"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: "x://never"}); err != nil {
		t.Fatal(err)
	}
	if got := <-f.told; got != "+x://0001" || len(f.told) != 0 {
		t.Error(got, len(f.told))
	}
	_ = other.Close()
	select {
	case got := <-f.told:
		if got != "-x://0001" {
			t.Error(got)
		}
	case <-time.After(hang):
		t.Fatal("it is still watched for a client that is gone")
	}
	f.refuses = true
	if err := c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "x://0003"}); err == nil || !contains(err, "not now") {
		t.Error(err)
	}
}

func contains(err error, part string) bool { return err != nil && strings.Contains(err.Error(), part) }

func TestOnlyThisMachine(t *testing.T) {
	s, _ := newServer(0)
	token := NewToken()
	h, err := s.Handler(token)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host, origin string
		status       int
	}{
		{"localhost:80", "", 400}, {"127.0.0.1", "http://localhost:3000", 400}, {"[::1]:9", "http://[::1]", 400}, // wrong only in what is asked
		{"evil.example", "", 403}, {"127.0.0.1:80", "http://evil.example", 403}, {"127.0.0.1:80", "null", 403},
		{"localhost.evil.example", "", 403}, {"", "", 403}, {"10.0.0.1:80", "", 403}, {"127.0.0.1:80", "http://127.0.0.1.evil.example", 403},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Host = c.host
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Content-Type", "application/json")
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%+v: %d %s", c, w.Code, w.Body)
		}
	}
}

func TestProgressGrows(t *testing.T) {
	s, _ := newServer(0)
	news := make(chan sdk.ProgressNotificationParams, 1000)
	dial(t, s, &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { news <- *r.Params }})
	var session *sdk.ServerSession
	for x := range s.sdk.Sessions() {
		session = x
	}
	p := newReporter(t.Context(), session, "tok", time.Hour)
	defer p.end()
	for _, n := range []float64{0, 50, 20, math.NaN(), 100} {
		p.report(tool.Progress{Text: "step", Data: map[string]any{"progress": n, "total": 100.0, "message": "at"}})
	}
	p.send("still running", nil)
	for range 500 {
		p.report(tool.Progress{Text: "flood"})
	}
	last, n := -1.0, 0
	for i, want := range []float64{0, 50, 50, 50, 100, 100} {
		got := <-news
		if math.Abs(got.Progress-want) > 1e-9 || got.Progress <= last {
			t.Errorf("%d: %v after %v", i, got, last)
		}
		last = got.Progress
	}
	for len(news) > 0 {
		<-news
		n++
	}
	if n > progressBurst {
		t.Errorf("%d pieces of news came of a flood", n)
	}
}

func TestForeignContent(t *testing.T) {
	blocks := make([]tool.Block, 4)
	for i, text := range []string{`{"type":"audio","data":"AAAA","mimeType":"audio/wav"}`, `{"type":"resource","resource":{"uri":"x://1","text":"t"}}`, `{"type":"resource_link","uri":"x://2","name":"n"}`, `{"type":"audio","data":7}`} {
		if err := json.Unmarshal([]byte(text), &blocks[i]); err != nil {
			t.Fatal(err)
		}
	}
	got := content(blocks)
	if a, ok := got[0].(*sdk.AudioContent); !ok || a.MIMEType != "audio/wav" || len(a.Data) != 3 {
		t.Errorf("%+v", got[0])
	}
	if r, ok := got[1].(*sdk.EmbeddedResource); !ok || r.Resource.Text != "t" {
		t.Errorf("%+v", got[1])
	}
	if l, ok := got[2].(*sdk.ResourceLink); !ok || l.URI != "x://2" {
		t.Errorf("%+v", got[2])
	}
	if x, ok := got[3].(*sdk.TextContent); !ok || x.Text != "[audio that cannot be read]" {
		t.Errorf("%+v", got[3])
	}
}
