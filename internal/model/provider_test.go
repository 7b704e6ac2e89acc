package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sevengate/sevengate/internal/model"
	"github.com/sevengate/sevengate/internal/model/anthropic"
	"github.com/sevengate/sevengate/internal/model/fakeapi"
	"github.com/sevengate/sevengate/internal/model/openai"
	"github.com/sevengate/sevengate/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "sk-very-secret-key"

type maker struct {
	name string
	make func(url string, retry model.Retry, o model.HTTPOptions) (model.Provider, error)
}

func makers() []maker {
	return []maker{
		{"anthropic", func(url string, retry model.Retry, o model.HTTPOptions) (model.Provider, error) {
			return anthropic.New(anthropic.Options{APIKey: secret, BaseURL: url, Retry: retry, HTTP: o})
		}},
		{"openai", func(url string, retry model.Retry, o model.HTTPOptions) (model.Provider, error) {
			return openai.New(openai.Options{APIKey: secret, BaseURL: url + "/v1", Retry: retry, HTTP: o})
		}},
	}
}

func quick() model.Retry {
	return model.Retry{MinDelay: time.Millisecond, MaxDelay: 2 * time.Millisecond}
}

// setup gives a provider that talks to a server that answers by h.
func setup(t testing.TB, m maker, retry model.Retry, o model.HTTPOptions, h fakeapi.Handler) (model.Provider, *fakeapi.Server) {
	t.Helper()
	server, err := fakeapi.New(h)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	o.Transport = transport
	t.Cleanup(func() { transport.CloseIdleConnections(); _ = server.Close() })
	p, err := m.make(server.URL, retry, o)
	if err != nil {
		t.Fatal(err)
	}
	return p, server
}

// outcome is what a consumer saw.
type outcome struct {
	end     *tool.Message
	blocks  []tool.Block // reported since the last start
	retries []model.Event
	started int // tool calls begun, over all attempts
	err     error
}

func request() model.Request {
	return model.Request{Model: "m", System: "be brief", Messages: []tool.Message{tool.UserText("go")}}
}

// consume reads a stream and checks what must hold of every one.
func consume(t testing.TB, p model.Provider, r model.Request) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var o outcome
	inResponse, called := false, false
	for event, err := range p.Stream(ctx, r) {
		if o.end != nil || o.err != nil {
			t.Fatalf("more after the end: %+v, %v", event, err)
		}
		if err != nil {
			o.err = err
			if strings.Contains(err.Error(), secret) {
				t.Fatalf("the key is in the error: %v", err)
			}
			continue
		}
		switch event.Kind {
		case model.EventStart:
			if inResponse {
				t.Fatal("a start within a response")
			}
			inResponse, o.blocks = true, nil
		case model.EventRetry:
			if called {
				t.Fatal("a retry although a call was reported")
			}
			inResponse = false
			o.retries = append(o.retries, event)
		case model.EventToolStart:
			o.started++
		case model.EventBlock:
			if event.Block.Type == tool.BlockToolUse {
				called = true
				if !json.Valid(event.Block.Input) || event.Block.ID == "" {
					t.Fatalf("a broken call was reported: %+v", event.Block)
				}
			}
			o.blocks = append(o.blocks, event.Block)
		case model.EventEnd:
			o.end = &event.Message
		}
		if event.Kind != model.EventRetry && !inResponse {
			t.Fatalf("event %d outside a response", event.Kind)
		}
	}
	if (o.end == nil) == (o.err == nil) {
		t.Fatalf("end %v and error %v", o.end, o.err)
	}
	var incomplete *model.IncompleteError
	switch {
	case o.end != nil:
		if diff := cmp.Diff(encode(t, o.end.Content), encode(t, o.blocks)); diff != "" {
			t.Fatalf("the message differs from its blocks:\n%s", diff)
		}
	case errors.As(o.err, &incomplete):
		if !called {
			t.Fatalf("incomplete without a call: %v", o.err)
		}
		if diff := cmp.Diff(encode(t, incomplete.Message.Content), encode(t, o.blocks)); diff != "" {
			t.Fatalf("the partial message differs from its blocks:\n%s", diff)
		}
	case called:
		t.Fatalf("a call was reported, but the error is %v", o.err)
	}
	return o
}

func encode(t testing.TB, blocks []tool.Block) (out []string) {
	t.Helper()
	for _, b := range blocks {
		raw, err := b.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(raw))
	}
	return out
}

func sample() tool.Message {
	return tool.Message{Content: []tool.Block{
		tool.TextBlock("Größe <b>&amp;</b> \u2028 und ein längerer Text, in Stücken."),
		tool.ToolUse("toolu_1", "Read", json.RawMessage(`{"file_path":"/tmp/äöü <x>","limit":3}`)),
		tool.ToolUse("toolu_2", "Bash", json.RawMessage(`{"command":"rm -rf build","nested":{"a":[1,2,{"b":"}"}]}}`)),
	}}
}

func each(t *testing.T, f func(t *testing.T, m maker)) {
	for _, m := range makers() {
		t.Run(m.name, func(t *testing.T) { f(t, m) })
	}
}

func TestWhole(t *testing.T) {
	for _, reply := range []fakeapi.Reply{
		{}, {Garbage: true}, {WriteSize: 1}, {WriteSize: 5, ChunkSize: 1, Garbage: true}, {ChunkSize: 10_000},
		{BlockDelay: 5 * time.Millisecond}, {ChunkDelay: time.Millisecond},
	} {
		reply.Message = sample()
		reply.Message.Usage = &tool.Usage{InputTokens: 11, OutputTokens: 22, CacheReadInputTokens: 33}
		each(t, func(t *testing.T, m maker) {
			p, _ := setup(t, m, quick(), model.HTTPOptions{}, fakeapi.Script(reply))
			o := consume(t, p, request())
			if o.err != nil || len(o.retries) > 0 {
				t.Fatalf("%v after %d retries", o.err, len(o.retries))
			}
			if diff := cmp.Diff(encode(t, sample().Content), encode(t, o.end.Content)); diff != "" {
				t.Error(diff)
			}
			if o.end.StopReason != "tool_use" || o.end.Model != "fake-model" || o.end.ID == "" || o.end.Role != tool.RoleAssistant {
				t.Errorf("message %+v", o.end)
			}
			if diff := cmp.Diff(&tool.Usage{InputTokens: 11, OutputTokens: 22, CacheReadInputTokens: 33}, o.end.Usage); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCutAnywhere cuts the stream after every number of bytes.
func TestCutAnywhere(t *testing.T) {
	each(t, func(t *testing.T, m maker) {
		retried, incomplete, whole := 0, 0, 0
		var mu sync.Mutex
		cut, clean, first := 0, false, true
		p, _ := setup(t, m, quick(), model.HTTPOptions{}, func(context.Context, fakeapi.Request) fakeapi.Reply {
			mu.Lock()
			defer mu.Unlock()
			reply := fakeapi.Reply{Message: sample()}
			if first {
				reply.CutAfter, reply.CleanCut = cut, clean
			}
			first = false
			return reply
		})
		const step = 23
		for n := 1; n < 6000; n += step {
			mu.Lock()
			cut, clean, first = n, n%2 == 0, true
			mu.Unlock()
			o := consume(t, p, request())
			var partial *model.IncompleteError
			switch {
			case errors.As(o.err, &partial):
				incomplete++
				if !errors.Is(o.err, model.ErrCut) {
					t.Fatalf("cut after %d bytes: %v", n, o.err)
				}
			case o.err != nil:
				t.Fatalf("cut after %d bytes: %v", n, o.err)
			case len(o.retries) == 1:
				retried++
			default:
				whole++
			}
			if o.end != nil && len(o.end.Content) != 3 {
				t.Fatalf("cut after %d bytes: a message of %d blocks passes as whole", n, len(o.end.Content))
			}
		}
		if retried == 0 || incomplete == 0 || whole == 0 {
			t.Errorf("%d retried, %d incomplete, %d whole: not all were seen", retried, incomplete, whole)
		}
	})
}

func TestCutInTool(t *testing.T) {
	each(t, func(t *testing.T, m maker) {
		p, _ := setup(t, m, quick(), model.HTTPOptions{}, fakeapi.Script(fakeapi.Reply{Message: sample(), CutInTool: 1}, fakeapi.Text("second")))
		o := consume(t, p, request())
		if o.err != nil || o.end.Text() != "second" || len(o.retries) != 1 || o.retries[0].Attempt != 2 || o.retries[0].MaxAttempts != model.MaxAttempts {
			t.Errorf("first call cut: %+v", o)
		}
		p, server := setup(t, m, quick(), model.HTTPOptions{}, fakeapi.Script(fakeapi.Reply{Message: sample(), CutInTool: 2}))
		o = consume(t, p, request())
		var partial *model.IncompleteError
		if !errors.As(o.err, &partial) || len(server.Requests()) != 1 {
			t.Fatalf("second call cut: %+v", o)
		}
		if uses := partial.Message.ToolUses(); len(uses) != 1 || uses[0].ID != "toolu_1" {
			t.Errorf("kept %+v", uses)
		}
	})
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		status    int
		kind      string
		header    map[string]string
		wantTries int
	}{
		{429, "rate_limit_error", map[string]string{"retry-after-ms": "30"}, 3},
		{429, "rate_limit_error", map[string]string{"retry-after": "0.02"}, 3},
		{500, "api_error", nil, 3},
		{503, "", nil, 3},
		{529, "overloaded_error", nil, 3},
		{429, "rate_limit_error", map[string]string{"retry-after": "3600"}, 1},
		{500, "api_error", map[string]string{"x-should-retry": "false"}, 1},
		{400, "invalid_request_error", nil, 1},
		{401, "authentication_error", nil, 1},
		{413, "request_too_large", nil, 1},
	} {
		t.Run(fmt.Sprintf("%d%v", c.status, c.header), func(t *testing.T) {
			each(t, func(t *testing.T, m maker) {
				retry := quick()
				retry.MaxAttempts = 3
				p, server := setup(t, m, retry, model.HTTPOptions{}, func(context.Context, fakeapi.Request) fakeapi.Reply {
					return fakeapi.Reply{Status: c.status, ErrorType: c.kind, ErrorMessage: "no: " + secret + " is wrong\nreally", Header: c.header}
				})
				o := consume(t, p, request())
				var refused *model.APIError
				if !errors.As(o.err, &refused) || refused.Status != c.status || !strings.Contains(refused.Message, "no: [hidden] is wrong really") {
					t.Fatalf("error %v", o.err)
				}
				if c.kind != "" && refused.Type != c.kind {
					t.Errorf("type %q", refused.Type)
				}
				if got := len(server.Requests()); got != c.wantTries {
					t.Errorf("%d requests, want %d", got, c.wantTries)
				}
				if len(o.retries) != c.wantTries-1 {
					t.Errorf("%d retries", len(o.retries))
				}
				for _, r := range o.retries {
					if len(c.header) > 0 && r.Delay < 20*time.Millisecond {
						t.Errorf("waited only %v", r.Delay)
					}
				}
			})
		})
	}
}

func TestErrorEvents(t *testing.T) {
	each(t, func(t *testing.T, m maker) {
		overloaded := fakeapi.Reply{Message: sample(), ErrorBefore: 2, ErrorType: "overloaded_error", ErrorMessage: "busy " + secret}
		p, _ := setup(t, m, quick(), model.HTTPOptions{}, fakeapi.Script(overloaded, fakeapi.Text("second")))
		if o := consume(t, p, request()); o.err != nil || o.end.Text() != "second" || len(o.retries) != 1 {
			t.Errorf("overloaded: %+v", o)
		}
		// The first call is complete for sure where another block has begun.
		late := overloaded
		late.ErrorBefore = 4
		p, _ = setup(t, m, quick(), model.HTTPOptions{}, fakeapi.Script(late))
		var partial *model.IncompleteError
		if o := consume(t, p, request()); !errors.As(o.err, &partial) || len(partial.Message.ToolUses()) == 0 || len(o.retries) != 0 {
			t.Errorf("late: %+v", o)
		}
		invalid := overloaded
		invalid.ErrorType = "invalid_request_error"
		p, server := setup(t, m, quick(), model.HTTPOptions{}, fakeapi.Script(invalid))
		var refused *model.APIError
		if o := consume(t, p, request()); !errors.As(o.err, &refused) || refused.Status != 400 || len(server.Requests()) != 1 {
			t.Errorf("invalid: %+v", o)
		}
	})
}

func TestIdle(t *testing.T) {
	idle := model.HTTPOptions{Idle: 100 * time.Millisecond}
	each(t, func(t *testing.T, m maker) {
		alive := fakeapi.Reply{Message: sample(), StallBefore: 2, Stall: 400 * time.Millisecond, PingEvery: 10 * time.Millisecond}
		p, _ := setup(t, m, quick(), idle, fakeapi.Script(alive))
		if o := consume(t, p, request()); o.err != nil || len(o.retries) != 0 {
			t.Errorf("keep-alives are no life: %+v", o)
		}
		silent := fakeapi.Reply{Message: sample(), StallBefore: 2}
		p, _ = setup(t, m, quick(), idle, fakeapi.Script(silent, fakeapi.Text("second")))
		if o := consume(t, p, request()); o.err != nil || len(o.retries) != 1 || !errors.Is(o.retries[0].Err, model.ErrIdle) {
			t.Errorf("silent: %+v", o)
		}
		mute := fakeapi.Reply{Delay: time.Hour}
		p, _ = setup(t, m, quick(), idle, fakeapi.Script(mute, fakeapi.Text("second")))
		if o := consume(t, p, request()); o.err != nil || len(o.retries) != 1 || !errors.Is(o.retries[0].Err, model.ErrIdle) {
			t.Errorf("no headers: %+v", o)
		}
		// A consumer that takes its time is no silent server.
		p, _ = setup(t, m, quick(), idle, fakeapi.Script(fakeapi.Reply{Message: sample(), ChunkDelay: time.Millisecond}))
		slept := false
		for event, err := range p.Stream(context.Background(), request()) {
			if err != nil || event.Kind == model.EventRetry {
				t.Fatalf("slow consumer: %v, %v", err, event.Err)
			}
			if event.Kind == model.EventText && !slept {
				slept = true
				time.Sleep(250 * time.Millisecond)
			}
		}
	})
}

func TestTruncatedCalls(t *testing.T) {
	text := tool.TextBlock("I will.")
	for _, c := range []struct {
		name, input, stop string
		wantUses          int
		wantErr           bool
	}{
		{"cut", `{"command":"rm -rf build`, "max_tokens", 1, false},
		{"empty", ``, "max_tokens", 1, false},
		{"no arguments", ``, "tool_use", 2, false},
		{"broken", `{"command":"rm -rf build`, "tool_use", 1, true},
		{"no object", `["rm"]`, "tool_use", 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, m maker) {
				first := tool.ToolUse("toolu_1", "Read", json.RawMessage(`{"a":1}`))
				second := tool.ToolUse("toolu_2", "Bash", json.RawMessage(c.input))
				p, _ := setup(t, m, quick(), model.HTTPOptions{}, fakeapi.Script(
					fakeapi.Reply{Message: tool.Message{Content: []tool.Block{text, first, second}, StopReason: c.stop}}))
				o := consume(t, p, request())
				if c.wantErr {
					var partial *model.IncompleteError
					if !errors.As(o.err, &partial) || len(partial.Message.ToolUses()) != c.wantUses {
						t.Errorf("%+v", o)
					}
					return
				}
				if o.err != nil || o.end.StopReason != c.stop || len(o.end.ToolUses()) != c.wantUses || o.started != 2 {
					t.Errorf("%v, %+v", o.err, o.end)
				}
			})
		})
	}
}

func TestMalformedIsTriedAFewTimes(t *testing.T) {
	each(t, func(t *testing.T, m maker) {
		p, server := setup(t, m, quick(), model.HTTPOptions{}, func(context.Context, fakeapi.Request) fakeapi.Reply {
			return fakeapi.Blocks(tool.ToolUse("toolu_1", "Bash", json.RawMessage(`{"command":`)))
		})
		o := consume(t, p, request())
		if o.err == nil || !strings.Contains(o.err.Error(), `"Bash"`) || len(server.Requests()) != model.MaxMalformedAttempts {
			t.Errorf("%v after %d requests", o.err, len(server.Requests()))
		}
	})
}

func TestTooLarge(t *testing.T) {
	each(t, func(t *testing.T, m maker) {
		p, server := setup(t, m, quick(), model.HTTPOptions{MaxBytes: 50_000}, func(context.Context, fakeapi.Request) fakeapi.Reply {
			return fakeapi.Text(strings.Repeat("x", 100_000))
		})
		if o := consume(t, p, request()); !errors.Is(o.err, model.ErrTooLarge) || len(server.Requests()) != 1 {
			t.Errorf("%v after %d requests", o.err, len(server.Requests()))
		}
	})
}

func TestWrongServers(t *testing.T) {
	each(t, func(t *testing.T, m maker) {
		html := fakeapi.Reply{Raw: "<html>hello", Header: map[string]string{"Content-Type": "text/html"}}
		p, _ := setup(t, m, quick(), model.HTTPOptions{}, fakeapi.Script(html))
		var refused *model.APIError
		if o := consume(t, p, request()); !errors.As(o.err, &refused) || !strings.Contains(o.err.Error(), "text/html") {
			t.Errorf("html: %v", o.err)
		}
		proxy := fakeapi.Reply{Status: 502, Raw: "<html>bad gateway"}
		p, _ = setup(t, m, quick(), model.HTTPOptions{}, fakeapi.Script(proxy, fakeapi.Text("ok")))
		if o := consume(t, p, request()); o.err != nil || len(o.retries) != 1 {
			t.Errorf("proxy: %v", o.err)
		}
		away := fakeapi.Reply{Status: 307, Header: map[string]string{"Location": "http://127.0.0.1:1/other"}}
		p, server := setup(t, m, quick(), model.HTTPOptions{}, fakeapi.Script(away))
		if o := consume(t, p, request()); o.err == nil || !strings.Contains(o.err.Error(), "redirect") || len(server.Requests()) != 1 {
			t.Errorf("redirect: %v", o.err)
		}
		retry := quick()
		retry.MaxAttempts = 2
		p, err := m.make("http://user:"+secret+"@127.0.0.1:1", retry, model.HTTPOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if o := consume(t, p, request()); o.err == nil || len(o.retries) != 1 || !strings.Contains(o.err.Error(), "127.0.0.1:1") {
			t.Errorf("nobody listens: %v", o.err)
		}
		if _, err := m.make("no url "+secret, retry, model.HTTPOptions{}); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("base URL: %v", err)
		}
	})
}

func waitIdle(t *testing.T, server *fakeapi.Server) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); server.Active() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the request goes on")
		}
	}
}

func TestStopAndCancel(t *testing.T) {
	each(t, func(t *testing.T, m maker) {
		stalled := fakeapi.Reply{Message: sample(), StallBefore: 4}
		p, server := setup(t, m, quick(), model.HTTPOptions{}, fakeapi.Script(stalled, stalled, stalled))
		for event, err := range p.Stream(context.Background(), request()) {
			if err != nil {
				t.Fatal(err)
			}
			if event.Kind == model.EventText {
				break
			}
		}
		waitIdle(t, server)

		for _, at := range []model.EventKind{model.EventText, model.EventBlock} {
			ctx, cancel := context.WithCancel(context.Background())
			var last error
			for event, err := range p.Stream(ctx, request()) {
				if err == nil && event.Kind == at && (at == model.EventText || event.Block.Type == tool.BlockToolUse) {
					cancel()
				}
				last = err
			}
			cancel()
			if !errors.Is(last, context.Canceled) {
				t.Errorf("ended with %v", last)
			}
			var partial *model.IncompleteError
			if errors.As(last, &partial) != (at == model.EventBlock) {
				t.Errorf("cancelled at %d: %v", at, last)
			}
			waitIdle(t, server)
		}
	})
}

func TestCancelWhileWaiting(t *testing.T) {
	each(t, func(t *testing.T, m maker) {
		p, _ := setup(t, m, model.Retry{MinDelay: time.Hour, MaxDelay: time.Hour}, model.HTTPOptions{},
			fakeapi.Script(fakeapi.Reply{Status: 500}))
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var last error
		for event, err := range p.Stream(ctx, request()) {
			if err == nil && event.Kind == model.EventRetry {
				cancel()
			}
			last = err
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("ended with %v", last)
		}
	})
}

func TestParallel(t *testing.T) {
	each(t, func(t *testing.T, m maker) {
		p, _ := setup(t, m, quick(), model.HTTPOptions{}, func(_ context.Context, r fakeapi.Request) fakeapi.Reply {
			reply := fakeapi.Reply{Message: sample(), WriteSize: 50}
			if r.N%3 == 0 {
				reply.CutInTool = 1
			}
			return reply
		})
		messages := []tool.Message{tool.UserText("shared"), sample()}
		messages[1].Role = tool.RoleAssistant
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 4 {
					if o := consume(t, p, model.Request{Model: "m", Messages: messages}); o.err != nil || len(o.end.Content) != 3 {
						t.Errorf("%+v", o)
					}
				}
			})
		}
		wg.Wait()
	})
}
