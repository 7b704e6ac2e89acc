package sevengate

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/sevengate/sevengate/internal/confine"
	"github.com/sevengate/sevengate/internal/engine/shellrun"
	"github.com/sevengate/sevengate/internal/hook"
	"github.com/sevengate/sevengate/internal/permission"
	"github.com/sevengate/sevengate/internal/settings"
	"github.com/sevengate/sevengate/tool"
)

// SandboxReport tells what commands in the sandbox can do, and what enforces it.
type SandboxReport = confine.Report

// hostAsker is a prompter that can ask whether commands may reach a host. always
// means that the answer is to be kept as a rule.
type hostAsker interface {
	AskHost(ctx context.Context, host string, port int) (allow, always bool, err error)
}

// openSandbox makes the keeper of the commands' sandbox.
func (r *Runtime) openSandbox(current func() *settings.Snapshot) {
	user := r.env.get("CLAUDE_CONFIG_DIR")
	if user == "" {
		user = filepath.Join(r.home, ".claude")
	}
	r.confine = confine.New(confine.Config{
		Settings: current, Rules: r.policy, Roots: func() []string { return r.conv.Context().Roots },
		Dir: r.dir, Home: r.home, State: r.state, UserDir: user,
		CacheDir: filepath.Join(r.state, "cache", "sandbox", filepath.Base(r.store.Dir())),
		AskHost:  r.askHost, Runs: func() []string { return r.runsOutside(current()) }, Log: r.opts.Log,
	})
}

// runsOutside are the command lines that the session runs outside the sandbox.
func (r *Runtime) runsOutside(s *settings.Snapshot) (lines []string) {
	groups, _ := hook.FromSettings(s.Settings.Hooks)
	for _, g := range groups {
		for _, h := range g.Handlers {
			lines = append(lines, h.Command)
			lines = append(lines, h.Args...)
		}
	}
	for _, server := range r.servers {
		lines = append(lines, server.Command, server.HeadersHelper)
		lines = append(lines, server.Args...)
	}
	return lines
}

// checkSandbox makes the sandbox where the settings ask for one, and the runner where
// commands are to have a memory limit. It is an error if a sandbox is demanded that
// the machine cannot enforce.
func (r *Runtime) checkSandbox(ctx context.Context) (err error) {
	if r.sandboxNotes, err = r.confine.Check(ctx); err != nil || r.env.get(shellrun.EnvMemoryLimit) == "" {
		return err
	}
	runner, err := r.shellRunner()
	if err != nil {
		return err
	}
	if why := runner.Unenforced(); why != "" {
		r.sandboxNotes = append(r.sandboxNotes, why)
	}
	return nil
}

// SandboxNotes are what a person should know about the sandbox of this session, such
// as what the machine cannot enforce.
func (r *Runtime) SandboxNotes() []string { return r.sandboxNotes }

// Sandbox tells what commands in the sandbox can do now.
func (r *Runtime) Sandbox(ctx context.Context) SandboxReport { return r.confine.Report(ctx) }

// askHost decides, by the mode, about a host that no list and no rule names.
func (r *Runtime) askHost(ctx context.Context, host string, port int) (allow bool, why string) {
	rule := "WebFetch(domain:" + host + ")"
	switch mode := permission.Mode(r.Mode()); mode {
	case permission.ModeBypass:
		return true, ""
	case permission.ModeDontAsk, permission.ModeAuto:
		return false, fmt.Sprintf("in the mode %s only hosts in sandbox.network.allowedDomains or with a rule %s are reached", mode, rule)
	}
	ask, ok := r.opts.Prompter.(hostAsker)
	if !ok {
		return false, fmt.Sprintf("nobody is there to ask; sandbox.network.allowedDomains or a rule %s would allow it", rule)
	}
	allow, always, err := ask.AskHost(ctx, host, port)
	switch {
	case err != nil || !allow:
		return false, "the user said no"
	case always:
		if _, err := r.policy.Save(tool.Allow, rule); err != nil && r.opts.Log != nil {
			r.opts.Log.Warn("saving a rule", "rule", rule, "error", err)
		}
	}
	return true, ""
}
