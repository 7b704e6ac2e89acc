package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sevengate/sevengate"
	"github.com/sevengate/sevengate/internal/mcp/config"
)

// scopeHelp says what a scope is, after its name.
var scopeHelp = map[config.Scope]string{
	config.ScopeLocal:   "yours, this project only",
	config.ScopeProject: "shared with the repository",
	config.ScopeUser:    "yours, all projects",
	config.ScopeManaged: "an administrator's",
	config.ScopeFlag:    "this command line",
}

const addForm = "sevengate mcp add NAME URL, or sevengate mcp add NAME -- COMMAND [ARG]..."

// addFlags are what mcp add is told of a server.
type addFlags struct {
	scope, transport, clientID string
	env, headers               []string
	callbackPort               int
}

func (a *app) mcpAddCommand() *cobra.Command {
	var f addFlags
	cmd := &cobra.Command{
		Use:   "add [flags] NAME (URL | -- COMMAND [ARG]...)",
		Short: "Add an MCP server",
		Long: `Add an MCP server: one at an address, or a program that is run here and spoken
to over its standard input and output.

  sevengate mcp add docs https://mcp.example.com/mcp
  sevengate mcp add -H 'Authorization: Bearer ${DOCS_TOKEN}' docs https://mcp.example.com/mcp
  sevengate mcp add -e DSN=postgres://localhost/db db -- npx -y some-db-server --read-only

The scope says for whom: local (you, in this project), project (in .mcp.json, for
everyone who has the repository; each of them is asked) or user (you, in all
projects). ${VARIABLE} and ${VARIABLE:-default} are filled in from the
environment whenever the server is started, so that secrets need not be written
down. A server that wants a sign-in: sevengate mcp login NAME.`,
		Args: func(*cobra.Command, []string) error { return nil }, // checked below, with better words
		RunE: func(cmd *cobra.Command, args []string) error { return a.mcpAdd(cmd, &f, args) },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &usageError{fmt.Errorf("%w; a command, with flags of its own, is written after --: %s", err, addForm)}
	})
	l := cmd.Flags()
	scopeFlag(cmd, &f.scope, string(config.ScopeLocal))
	l.StringVarP(&f.transport, "transport", "t", "", "how it is spoken to: `TRANSPORT` is stdio (for a command), http (for an address), sse or ws")
	l.StringArrayVarP(&f.env, "env", "e", nil, "a variable for the program: `NAME=VALUE`")
	l.StringArrayVarP(&f.headers, "header", "H", nil, "a header for the address: `\"NAME: VALUE\"`")
	l.StringVar(&f.clientID, "client-id", "", "the OAuth client `ID`, where the server registers none by itself")
	l.IntVar(&f.callbackPort, "callback-port", 0, "the `PORT` of this machine that the OAuth sign-in comes back to")
	return cmd
}

func scopeFlag(cmd *cobra.Command, into *string, fallback string) {
	cmd.Flags().StringVarP(into, "scope", "s", fallback, "`SCOPE` is local, project or user")
}

// wireEntry is an entry as mcp add writes it.
type wireEntry struct {
	Type    string            `json:"type"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	OAuth   *wireOAuth        `json:"oauth,omitempty"`
}

type wireOAuth struct {
	ClientID     string `json:"clientId,omitempty"`
	CallbackPort int    `json:"callbackPort,omitempty"`
}

// entry makes an entry of the command line. dash is how many arguments stand
// before "--"; negative if there is none.
func (f *addFlags) entry(args []string, dash int) (name string, _ wireEntry, err error) {
	fail := func(format string, args ...any) (string, wireEntry, error) {
		return "", wireEntry{}, usage(format, args...)
	}
	before, command := args, []string(nil)
	if dash >= 0 {
		before, command = args[:dash], args[dash:]
	}
	if len(before) == 0 {
		return fail("the name is missing: %s", addForm)
	}
	name = before[0]
	e := wireEntry{Type: f.transport}
	switch {
	case dash < 0 && len(before) == 1:
		return fail("an address or a command is missing: %s", addForm)
	case dash >= 0 && len(before) > 1:
		return fail("between the name and -- stands something: %s", addForm)
	case dash >= 0 && len(command) == 0:
		return fail("there is no command after --: %s", addForm)
	case dash < 0 && !isAddress(before[1]):
		return fail("%q is no address; a command is written after --: sevengate mcp add %s -- %s", clipTo(printable(before[1]), 60), printable(name), clipTo(printable(strings.Join(before[1:], " ")), 60))
	case dash < 0 && len(before) > 2:
		return fail("after the address stands something: %s", addForm)
	}
	if dash >= 0 {
		if e.Type == "" {
			e.Type = string(config.Stdio)
		}
		switch {
		case e.Type != string(config.Stdio):
			return fail("-t %s is for an address, and a command is given", e.Type)
		case isAddress(command[0]):
			return fail("an address is written without --: sevengate mcp add %s URL", printable(name))
		case len(f.headers) > 0 || f.clientID != "" || f.callbackPort != 0:
			return fail("-H, --client-id and --callback-port are for servers at an address; a program is given variables, with -e")
		}
		e.Command, e.Args = command[0], command[1:]
		e.Env, err = pairs(f.env, "=", "-e", "NAME=VALUE")
		return name, e, err
	}
	switch e.Type {
	case "":
		e.Type = string(config.HTTP)
		if scheme, _, _ := strings.Cut(before[1], "://"); strings.EqualFold(scheme, "ws") || strings.EqualFold(scheme, "wss") {
			e.Type = string(config.WebSocket)
		}
	case string(config.HTTP), string(config.SSE), string(config.WebSocket):
	case string(config.Stdio):
		return fail("-t stdio is for a command, and an address is given")
	default:
		return fail("-t %s: it must be stdio, http, sse or ws", clipTo(printable(e.Type), 20))
	}
	if len(f.env) > 0 {
		return fail("-e is for programs; a server at an address is given headers, with -H")
	}
	e.URL = before[1]
	if e.Headers, err = pairs(f.headers, ":", "-H", "\"NAME: VALUE\""); err != nil {
		return "", wireEntry{}, err
	}
	if f.clientID != "" || f.callbackPort != 0 {
		if e.Type == string(config.WebSocket) {
			return fail("--client-id and --callback-port are for http and sse; a ws server is given headers, with -H")
		}
		e.OAuth = &wireOAuth{f.clientID, f.callbackPort}
	}
	return name, e, nil
}

func isAddress(s string) bool { return strings.Contains(s, "://") || strings.HasPrefix(s, "${") }

// pairs reads names and values. What has no name is not repeated in the error:
// it may be a secret.
func pairs(list []string, between, flag, form string) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := map[string]string{}
	for i, text := range list {
		key, value, ok := strings.Cut(text, between)
		if flag == "-H" {
			key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		}
		if !ok || !isPairName(key) {
			return nil, usage("%s number %d: it must be %s, without blanks in the name", flag, i+1, form)
		}
		for have := range out {
			if have == key || flag == "-H" && strings.EqualFold(have, key) {
				return nil, usage("%s: %s is given twice", flag, key)
			}
		}
		out[key] = value
	}
	return out, nil
}

func isPairName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", r) })
}

func (a *app) mcpAdd(cmd *cobra.Command, f *addFlags, args []string) error {
	if cmd.Flags().Changed("callback-port") && (f.callbackPort < 1 || f.callbackPort > 65535) {
		return usage("--callback-port %d: it must be 1 to 65535", f.callbackPort)
	}
	name, e, err := f.entry(args, cmd.ArgsLenAtDash())
	if err != nil {
		return err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return err
	}
	return a.addServer(f.scope, name, bytes.TrimSpace(b.Bytes()))
}

func (a *app) mcpAddJSONCommand() *cobra.Command {
	var scope string
	cmd := &cobra.Command{
		Use:   "add-json [flags] NAME (JSON | -)",
		Short: "Add an MCP server by its entry as JSON",
		Long: `Add an MCP server by its entry, as it would stand below "mcpServers"; - reads it
from standard input.

  sevengate mcp add-json db '{"command":"npx","args":["-y","some-db-server"],"timeout":60000}'`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			entry := []byte(args[1])
			if args[1] == "-" {
				var err error
				if entry, err = io.ReadAll(io.LimitReader(a.Stdin, config.MaxFileBytes)); err != nil {
					return fmt.Errorf("reading the entry from standard input: %w", err)
				}
			}
			return a.addServer(scope, args[0], bytes.TrimSpace(entry))
		},
	}
	scopeFlag(cmd, &scope, string(config.ScopeLocal))
	return cmd
}

// addServer adds an entry and says what comes of it.
func (a *app) addServer(scopeName, name string, entry json.RawMessage) error {
	scope, err := config.ParseScope(scopeName)
	if err != nil {
		return usage("-s: %v", err)
	}
	r, err := a.runtime(func(o *sevengate.Options) { o.Ephemeral = true })
	if err != nil {
		return err
	}
	defer a.close(r)
	added, err := r.ServerFiles().Add(a.ctx, scope, name, entry)
	if err != nil {
		return err
	}
	note := func(format string, args ...any) {
		fmt.Fprintf(a.Stderr, "sevengate: %s\n", printable(fmt.Sprintf(format, args...)))
	}
	for _, w := range added.Warnings {
		note("%s: %s", name, w.Text)
	}
	if len(added.Literal) > 0 {
		note("%s is shared with the repository, and these values stand in it: %s; ${VARIABLE} keeps a secret out of it", added.File, strings.Join(added.Literal, ", "))
	}
	if added.Stronger != "" {
		note("the %s scope has a server %s too, and that one is used here", added.Stronger, name)
	} else if verdict, why := r.JudgeServer(a.ctx, &added.Server); verdict != config.Start {
		note("%s is not started yet: %s%s", name, why, remedy(verdict, name))
	}
	if a.flags.json {
		return printJSON(a.Stdout, map[string]string{"name": name, "scope": string(scope), "file": added.File})
	}
	_, err = fmt.Fprintf(a.Stdout, "Added %s (%s, %s) to %s.\n", name, scope, scopeHelp[scope], printable(added.File))
	return err
}

// remedy says what a person can do about a server that is not started.
func remedy(v config.Verdict, name string) string {
	switch v {
	case config.PendingApproval, config.Rejected:
		return "; to let it run: sevengate mcp approve " + name
	case config.Disabled:
		return "; to switch it on: sevengate mcp enable " + name
	}
	return ""
}

func (a *app) mcpRemoveCommand() *cobra.Command {
	var scope string
	cmd := &cobra.Command{
		Use: "remove [flags] SERVER", Short: "Remove an MCP server", Args: cobra.ExactArgs(1), Aliases: []string{"rm"},
		RunE: func(_ *cobra.Command, args []string) error { return a.mcpRemove(scope, args[0]) },
	}
	scopeFlag(cmd, &scope, "")
	return cmd
}

func (a *app) mcpRemove(scopeName, name string) error {
	var scope config.Scope
	if scopeName != "" {
		var err error
		if scope, err = config.ParseScope(scopeName); err != nil {
			return usage("-s: %v", err)
		}
	}
	r, err := a.runtime(func(o *sevengate.Options) { o.Ephemeral = true })
	if err != nil {
		return err
	}
	defer a.close(r)
	files := r.ServerFiles()
	scope, changed, err := files.Remove(a.ctx, scope, name)
	if errors.Is(err, config.ErrSeveral) {
		return &exitError{ExitUsage, err}
	}
	if err != nil {
		return err
	}
	if left, _ := files.Find(name); len(left) > 0 {
		fmt.Fprintf(a.Stderr, "sevengate: the %s scope has a server %s too, which is used now (%s)\n", left[0].Scope, printable(name), printable(left[0].File))
	}
	if a.flags.json {
		return printJSON(a.Stdout, map[string]any{"name": name, "scope": scope, "files": changed})
	}
	_, err = fmt.Fprintf(a.Stdout, "Removed %s (%s) from %s.\n", printable(name), scope, printable(strings.Join(changed, ", ")))
	return err
}

func (a *app) mcpEnable(name string, on bool) error {
	r, ready, err := a.servers(0)
	if err != nil {
		return err
	}
	defer a.close(r)
	if !ready {
		return exit(ExitFailed)
	}
	s, err := r.EnableServer(a.ctx, name, on)
	if err != nil {
		return err
	}
	word := "on"
	if !on {
		word = "off"
	}
	if v, why := r.JudgeServer(a.ctx, s); on && v != config.Start {
		hint := ""
		if v != config.Disabled { // by its own entry
			hint = remedy(v, s.Name)
		}
		fmt.Fprintf(a.Stderr, "sevengate: %s\n", printable(fmt.Sprintf("%s is still not started: %s%s", s.Name, why, hint)))
	}
	_, err = fmt.Fprintf(a.Stdout, "%s is switched %s for this project.\n", printable(s.Name), word)
	return err
}

func (a *app) mcpReset() error {
	r, err := a.runtime(func(o *sevengate.Options) { o.Ephemeral = true })
	if err != nil {
		return err
	}
	defer a.close(r)
	if err := r.ForgetServerChoices(a.ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.Stdout, "What you chose for the repository's servers is forgotten; the next conversation asks again.")
	return err
}
