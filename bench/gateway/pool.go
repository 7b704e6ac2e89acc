package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/sevengate/sevengate/internal/model/fakeapi"
	"github.com/sevengate/sevengate/tool"
)

// session is what a model's API saw of one session.
type session struct {
	start    time.Time
	arrivals []time.Time
	answers  []time.Time // when the answer to a request began
	first    []byte      // the body of the first request
}

// play runs the program once against a model that makes the calls one by one.
func (b *bench) play(environ, args []string, calls ...tool.Block) (*session, error) {
	s := &session{}
	var mu sync.Mutex
	api, err := fakeapi.New(func(_ context.Context, r fakeapi.Request) fakeapi.Reply {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		if len(s.arrivals) == 0 {
			s.first = r.Body
		}
		n := len(s.arrivals)
		s.arrivals = append(s.arrivals, now)
		reply := fakeapi.Text("done")
		if n < len(calls) {
			reply = fakeapi.Blocks(calls[n])
		}
		reply.ChunkSize = 10_000
		s.answers = append(s.answers, time.Now())
		return reply
	})
	if err != nil {
		return nil, err
	}
	defer api.Close()
	cmd := b.command(context.Background(), append([]string{"ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL=" + api.URL, "OPENAI_API_KEY=none", "OPENAI_BASE_URL=" + api.URL}, environ...),
		append([]string{"-p", "go", "--strict-mcp-config"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	s.start = time.Now()
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, stderr.String())
	}
	mu.Lock()
	defer mu.Unlock()
	if len(s.arrivals) != len(calls)+1 {
		return nil, fmt.Errorf("%d requests came, want %d: %s", len(s.arrivals), len(calls)+1, stderr.String())
	}
	return s, nil
}

// section is the tools section of a request.
type section struct {
	tools, bytes int
	// shown and shownBytes are what the model reads at once; the rest is marked
	// to be read when it was searched for.
	shown, shownBytes int
}

func sectionOf(body []byte) (out section, err error) {
	var request struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return out, err
	}
	for _, raw := range request.Tools {
		var t struct {
			Defer bool `json:"defer_loading"`
		}
		if err := json.Unmarshal(raw, &t); err != nil {
			return out, err
		}
		out.tools++
		out.bytes += len(raw)
		if !t.Defer {
			out.shown++
			out.shownBytes += len(raw)
		}
	}
	return out, nil
}

// pool measures what servers with many tools cost a session.
func (b *bench) pool() error {
	servers := []string{"--mcp-config", b.servers(poolServers, toolsPerPool-1)} // and echo
	fmt.Printf("%d servers with %d tools each, through a session of the program (`-p`) against a model's API on this machine:\n\n", poolServers, toolsPerPool)
	fmt.Println("| the first request | tools in it | KB of them | tools shown to the model | KB of them | whole request, KB |\n|---|--:|--:|--:|--:|--:|")
	chat := append([]string{"--model", "openai:bench"}, servers...)
	for _, c := range []struct {
		name, search string
		args         []string
	}{
		{"no servers", "", nil},
		{"without deferral", "false", servers},
		{"with deferral", "true", servers},
		{"without deferral, chat API", "false", chat},
		{"with deferral, chat API", "true", chat},
	} {
		var environ []string
		if c.search != "" {
			environ = []string{"ENABLE_TOOL_SEARCH=" + c.search}
		}
		s, err := b.play(environ, c.args)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		t, err := sectionOf(s.first)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Printf("| %s | %d | %.1f | %d | %.1f | %.1f |\n", c.name, t.tools, kb(t.bytes), t.shown, kb(t.shownBytes), kb(len(s.first)))
	}
	fmt.Printf("\n| what, medians of %d sessions, in turns, ms | seen |\n|---|--:|\n", b.runs)
	search := func(id, query string) tool.Block {
		input, _ := json.Marshal(map[string]string{"query": query})
		return tool.ToolUse(id, "ToolSearch", input)
	}
	var none, with, unwaited, found []float64
	for range b.runs {
		s, err := b.play(nil, nil)
		if err != nil {
			return err
		}
		none = append(none, ms(s.arrivals[0].Sub(s.start)))
		if s, err = b.play([]string{"CLAUDE_CODE_MCP_STARTUP_WAIT_MS=0"}, servers); err != nil {
			return err
		}
		unwaited = append(unwaited, ms(s.arrivals[0].Sub(s.start)))
		if s, err = b.play([]string{"ENABLE_TOOL_SEARCH=true"}, servers, search("toolu_1", "export the alerts"), search("toolu_2", "close issues of a project")); err != nil {
			return err
		}
		with = append(with, ms(s.arrivals[0].Sub(s.start)))
		found = append(found, ms(s.arrivals[2].Sub(s.answers[1])))
	}
	fmt.Printf("| start of the process to the first request, no servers | %.1f |\n", median(none))
	fmt.Printf("| the same, %d servers that are started and waited for | %.1f |\n", poolServers, median(with))
	fmt.Printf("| the same, not waited for (`CLAUDE_CODE_MCP_STARTUP_WAIT_MS=0`) | %.1f |\n", median(unwaited))
	fmt.Printf("| a ToolSearch by words over %d tools: start of the answer that asks for it to the next request | %.1f |\n", poolServers*toolsPerPool, median(found))
	return nil
}
