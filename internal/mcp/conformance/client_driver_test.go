package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sevengate/sevengate/internal/mcp/client"
	"github.com/sevengate/sevengate/internal/mcp/config"
	"github.com/sevengate/sevengate/internal/schema"
	"github.com/sevengate/sevengate/tool"
)

// driverVar makes the test binary the client program that the suite starts.
const driverVar = "SEVENGATE_CONFORMANCE_CLIENT"

func TestMain(m *testing.M) {
	if os.Getenv(driverVar) == "" {
		os.Exit(m.Run())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	if err := drive(ctx, os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

// scenario is what the suite tells the client beside the server's address.
type scenario struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	PrivateKey   string `json:"private_key_pem"`
	IDPIssuer    string `json:"idp_issuer"`
	IDPClient    string `json:"idp_client_id"`
	IDToken      string `json:"idp_id_token"`
}

// metadataURL is the client metadata document that the suite expects.
const metadataURL = "https://conformance-test.local/client-metadata.json"

// drive does what a session does with one server: it connects, signs in where
// the server asks for it, and calls all tools.
func drive(ctx context.Context, url string) error {
	var given scenario
	if raw := os.Getenv("MCP_CONFORMANCE_CONTEXT"); raw != "" {
		if err := json.Unmarshal([]byte(raw), &given); err != nil {
			return fmt.Errorf("reading the scenario: %w", err)
		}
	}
	dir, err := os.MkdirTemp("", "conformance-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	entry := map[string]any{"type": "http", "url": url}
	oauth := map[string]any{}
	if given.ClientID != "" {
		oauth["clientId"] = given.ClientID
	}
	if strings.Contains(os.Getenv("MCP_CONFORMANCE_SCENARIO"), "client-credentials") {
		oauth["grant"] = config.ClientCredentials
	}
	if given.PrivateKey != "" {
		oauth["privateKeyFile"] = "key.pem"
		if err := os.WriteFile(filepath.Join(dir, "key.pem"), []byte(given.PrivateKey), 0o600); err != nil {
			return err
		}
	}
	if given.IDPIssuer != "" {
		oauth["idp"] = map[string]any{"issuer": given.IDPIssuer, "clientId": given.IDPClient, "tokenHelper": "echo " + given.IDToken}
	}
	entry["oauth"] = oauth
	raw, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"suite": entry}})
	if err != nil {
		return err
	}
	environ := append(os.Environ(), "MCP_CLIENT_SECRET="+given.ClientSecret)
	loaded, err := config.Load(config.Options{Dir: dir, Home: dir, StateDir: dir, Flags: []string{string(raw)}, Strict: true, Environ: environ})
	if err != nil {
		return err
	}
	m := client.New(client.Config{
		Servers: loaded.Servers, Dir: dir, StateDir: dir, Environ: environ, Version: "0", Elicitor: defaults{}, ClientMetadataURL: metadataURL,
		RetryDelay: 50 * time.Millisecond, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	m.Start(ctx)
	defer m.Close()
	if err := signedIn(ctx, m); err != nil {
		return err
	}
	for _, t := range m.Tools() {
		if err := call(ctx, m, t); err != nil {
			return err
		}
	}
	return nil
}

// signedIn waits for the connection, and signs in as often as the server asks
// for it and the client is willing to.
func signedIn(ctx context.Context, m *client.Manager) error {
	for {
		m.Wait(ctx)
		switch st := m.Status()[0]; st.State {
		case client.Connected:
			return nil
		case client.NeedsAuth:
			if err := m.Authenticate(ctx, st.Name, open(ctx)); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s is %s: %s", st.Name, st.State, st.Reason)
		}
	}
}

// call calls a tool with made-up input, and signs in again where the tool needs
// more than was granted.
func call(ctx context.Context, m *client.Manager, t tool.Tool) error {
	for {
		c, err := t.Bind(input(t), tool.Place{Cwd: "/"})
		if err != nil {
			return err
		}
		_, err = c.Run(ctx, &tool.Env{})
		var gone *client.UnavailableError
		if !errors.As(err, &gone) || gone.State != client.NeedsAuth {
			return err
		}
		if err := m.Authenticate(ctx, gone.Server, open(ctx)); err != nil {
			return err
		}
	}
}

// input makes up a value for every property of a tool's input.
func input(t tool.Tool) json.RawMessage {
	var s struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
	}
	if raw, err := schema.For(t).JSON(); err == nil {
		_ = json.Unmarshal(raw, &s)
	}
	in := map[string]any{}
	for name, p := range s.Properties {
		switch p.Type {
		case "number", "integer":
			in[name] = len(in) + 1
		case "boolean":
			in[name] = true
		default:
			in[name] = "text"
		}
	}
	raw, _ := json.Marshal(in)
	return raw
}

// open goes the way that a person's browser would: the suite's authorization
// server agrees to everything.
func open(ctx context.Context) func(string) error {
	return func(address string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("the sign-in ended with status %d", resp.StatusCode)
		}
		return nil
	}
}

// defaults accepts every form as it is, with nothing filled in.
type defaults struct{}

func (defaults) Elicit(context.Context, client.Elicitation) (client.Reply, error) {
	return client.Reply{Action: "accept", Content: map[string]any{}}, nil
}
