package cli

import (
	"fmt"

	"github.com/sevengate/sevengate/internal/mcp/config"
)

// serverShown is a server's configuration as JSON.
type serverShown struct {
	Name  string       `json:"name"`
	Scope config.Scope `json:"scope"`
	File  string       `json:"file,omitempty"`
	config.Shown
	// Starts: a conversation starts it without asking; otherwise Why says why not.
	Starts bool   `json:"starts"`
	Why    string `json:"why,omitempty"`
	// AlsoIn names other scopes that define the name, and do not count.
	AlsoIn []config.Scope `json:"alsoIn,omitempty"`
}

// mcpGet shows how a server is configured. It starts nothing.
func (a *app) mcpGet(name string) error {
	r, ready, err := a.servers(0)
	if err != nil {
		return err
	}
	defer a.close(r)
	if !ready {
		return exit(ExitFailed)
	}
	s, err := r.MCPServers().Server(name)
	if err != nil {
		return err
	}
	out := serverShown{Name: s.Name, Scope: s.Scope, File: s.File}
	raw, err := config.Written(s)
	if err == nil {
		out.Shown, err = config.Show(raw, true)
	}
	problem := ""
	if err != nil { // what was filled in may be secret
		problem = err.Error()
		out.Shown = config.Shown{Type: s.Type}
		if s.Type == config.Stdio {
			out.Command = s.Endpoint()
		} else {
			out.URL = s.Endpoint()
		}
	}
	verdict, why := r.JudgeServer(a.ctx, s)
	out.Starts, out.Why = verdict == config.Start, why
	others, _ := r.ServerFiles().Find(s.Name)
	for _, o := range others {
		if o.Scope != s.Scope {
			out.AlsoIn = append(out.AlsoIn, o.Scope)
		}
	}
	if a.flags.json {
		return printJSON(a.Stdout, out)
	}
	line := func(label, text string) { fmt.Fprintf(a.Stdout, "  %-18s  %s\n", label, text) }
	fmt.Fprintln(a.Stdout, printable(s.Name))
	line("scope", fmt.Sprintf("%s (%s)", s.Scope, scopeHelp[s.Scope]))
	if s.File != "" {
		line("file", printable(s.File))
	}
	for _, l := range out.Lines() {
		line(l[0], l[1])
	}
	if problem != "" {
		line("details", "left out: "+printable(problem))
	}
	state := "a conversation starts it"
	if !out.Starts {
		state = "not started: " + printable(why+remedy(verdict, s.Name))
	}
	line("state", state)
	for _, o := range out.AlsoIn {
		line("also in", fmt.Sprintf("%s (%s), where it does not count", o, scopeHelp[o]))
	}
	return nil
}
