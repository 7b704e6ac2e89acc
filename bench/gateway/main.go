// Command gateway measures what it costs to put the program between an MCP
// client and a server, and what a pool of servers costs a session, and prints
// tables in Markdown:
//
//	go run ./bench/gateway               # about a minute
//	go run ./bench/gateway -calls 5000   # more calls
//
// It is no test: nothing here fails because something was slow. Servers and the
// program run as processes; the server is this program itself.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sevengate/sevengate/bench/build"
)

// Sizes of the pool.
const (
	poolServers  = 5
	toolsPerPool = 100
	warmUp       = 200 // calls that are not counted
)

func main() {
	calls := flag.Int("calls", 2000, "calls each way")
	runs := flag.Int("runs", 15, "repetitions of what is measured with whole sessions")
	binary := flag.String("binary", "", "the program to measure; built if empty")
	serve := flag.Int("serve", -1, "be an MCP server with so many `TOOLS` beside echo")
	flag.Parse()
	var err error
	if *serve >= 0 {
		err = beServer(*serve)
	} else {
		err = run(*calls, *runs, *binary)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// beServer serves on standard input and output.
func beServer(tools int) error {
	s := sdk.NewServer(&sdk.Implementation{Name: "bench", Version: "1"}, nil)
	echo := func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(r.Params.Arguments)}}}, nil
	}
	s.AddTool(&sdk.Tool{Name: "echo", Description: "Gives back its input.", InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)}, echo)
	for i := range tools {
		s.AddTool(&sdk.Tool{Name: fmt.Sprintf("%s_%s_%d", verbs[i%len(verbs)], nouns[i/len(verbs)%len(nouns)], i),
			Description: fmt.Sprintf("Lets the caller %s the %s of a project, in the way that tools of real servers describe it: what it does in a sentence, then when to use it and what it gives back.", verbs[i%len(verbs)], nouns[i/len(verbs)%len(nouns)]),
			InputSchema: json.RawMessage(`{"type":"object","properties":{"project":{"type":"string","description":"the project, as owner/name"},"id":{"type":"integer","description":"the number of the entry"},
"state":{"type":"string","enum":["open","closed","all"],"description":"which entries count"},"limit":{"type":"integer","minimum":1,"maximum":100,"description":"how many to give back"}},"required":["project"]}`)}, echo)
	}
	return s.Run(context.Background(), &sdk.StdioTransport{})
}

var (
	verbs = []string{"list", "read", "create", "update", "delete", "search", "close", "assign", "label", "export"}
	nouns = []string{"issues", "commits", "branches", "releases", "comments", "reviews", "pages", "members", "builds", "alerts"}
)

type bench struct {
	self, binary, dir, home string
	runs                    int
}

func run(calls, runs int, binary string) error {
	scratch, err := os.MkdirTemp("", "sevengate-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	b := &bench{self: self, binary: binary, dir: filepath.Join(scratch, "project"), home: filepath.Join(scratch, "home"), runs: runs}
	if b.binary == "" {
		b.binary = filepath.Join(scratch, "sevengate")
		if err := build.Program(b.binary); err != nil {
			return err
		}
	}
	for _, d := range []string{b.dir, b.home} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	fmt.Printf("%s/%s, %d CPUs, %s\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	if err := b.overhead(calls); err != nil {
		return err
	}
	fmt.Println()
	return b.pool()
}

// servers is a configuration of so many servers.
func (b *bench) servers(n, tools int) string {
	all := map[string]any{}
	for i := range n {
		all[fmt.Sprintf("s%d", i)] = map[string]any{"command": b.self, "args": []string{"-serve", fmt.Sprint(tools)}}
	}
	raw, _ := json.Marshal(map[string]any{"mcpServers": all})
	return string(raw)
}

func (b *bench) command(ctx context.Context, extra []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.binary, args...)
	cmd.Dir = b.dir
	cmd.Env = append([]string{"HOME=" + b.home, "PATH=" + os.Getenv("PATH"), "SHELL=/bin/bash"}, extra...)
	return cmd
}

// overhead compares the same call, made of the server and through the gateway,
// in turns.
func (b *bench) overhead(calls int) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dial := func(cmd *exec.Cmd) (*sdk.ClientSession, error) {
		cmd.Stderr = os.Stderr
		return sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, &sdk.CommandTransport{Command: cmd}, nil)
	}
	direct, err := dial(exec.CommandContext(ctx, b.self, "-serve", "0"))
	if err != nil {
		return fmt.Errorf("the server: %w", err)
	}
	defer direct.Close()
	through, err := dial(b.command(ctx, nil, "mcp", "serve", "--proxy", "--strict-mcp-config", "--mcp-config", b.servers(1, 0), "--allowedTools", "mcp__s0__echo"))
	if err != nil {
		return fmt.Errorf("the gateway: %w", err)
	}
	defer through.Close()
	call := func(c *sdk.ClientSession, name string) (time.Duration, error) {
		start := time.Now()
		res, err := c.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: map[string]any{"text": "hello"}})
		took := time.Since(start)
		if err != nil {
			return 0, err
		}
		if text, ok := res.Content[0].(*sdk.TextContent); !ok || res.IsError || text.Text != `{"text":"hello"}` {
			return 0, fmt.Errorf("%s answered %+v", name, res.Content[0])
		}
		return took, nil
	}
	var ways [2][]time.Duration
	for i := range calls + warmUp {
		one, err := call(direct, "echo")
		if err != nil {
			return err
		}
		two, err := call(through, "mcp__s0__echo")
		if err != nil {
			return err
		}
		if i >= warmUp {
			ways[0], ways[1] = append(ways[0], one), append(ways[1], two)
		}
	}
	fmt.Printf("A call of a stdio server, %d calls each way, in turns, ms:\n\n", calls)
	fmt.Println("| way | median | 90 % | 99 % |\n|---|--:|--:|--:|")
	for i, name := range []string{"the server itself", "through `sevengate mcp serve --proxy`"} {
		slices.Sort(ways[i])
		fmt.Printf("| %s | %.3f | %.3f | %.3f |\n", name, at(ways[i], 50), at(ways[i], 90), at(ways[i], 99))
	}
	fmt.Printf("| overhead | %.3f | %.3f | %.3f |\n", at(ways[1], 50)-at(ways[0], 50), at(ways[1], 90)-at(ways[0], 90), at(ways[1], 99)-at(ways[0], 99))
	return nil
}

// at is a percentile of sorted times, in milliseconds.
func at(sorted []time.Duration, percent int) float64 {
	return ms(sorted[min(len(sorted)*percent/100, len(sorted)-1)])
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

func kb(bytes int) float64 { return float64(bytes) / 1000 }
