package confine

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sevengate/sevengate/internal/engine/sandbox"
	"github.com/sevengate/sevengate/tool"
)

// caches are the variables by which build tools are told where to keep what they
// can make again. They get a folder of their own: what a command in the sandbox
// leaves there is never used outside.
var caches = map[string]string{
	"GOCACHE": "go-build", "npm_config_cache": "npm", "PIP_CACHE_DIR": "pip", "UV_CACHE_DIR": "uv", "CCACHE_DIR": "ccache",
	"STATICCHECK_CACHE": "staticcheck", "GOLANGCI_LINT_CACHE": "golangci-lint",
}

// makePolicy turns settings and rules into what the sandbox enforces. k.mu is held.
func (k *Keeper) makePolicy(w *walls) error {
	o, p := w.options, &w.policy
	tmp, err := k.tmpDir()
	if err != nil {
		return err
	}
	p.TmpDir, p.Pass, p.UnixSockets, p.Unset = tmp, passed, o.unixSockets, o.unset
	p.Network, p.Bubblewrap = k.network(w), o.bwrap
	// Landlock is a second wall behind the mounts. Where those are missing the
	// sandbox counts as not available.
	p.Accept = []sandbox.Part{sandbox.PartLandlock, sandbox.PartScope}
	if o.nested {
		p.Accept = append(p.Accept, sandbox.PartPID, sandbox.PartMount, sandbox.PartSeccomp)
	}
	if o.filesOpen {
		p.Write = []string{"/"}
		return nil
	}
	if err := k.cacheDir(p); err != nil {
		return err
	}
	return k.files(w)
}

func (k *Keeper) cacheDir(p *sandbox.Policy) error {
	if k.cfg.CacheDir == "" {
		return nil
	}
	if err := os.MkdirAll(k.cfg.CacheDir, 0o700); err != nil {
		return fmt.Errorf("making the cache folder of sandboxed commands: %w", err)
	}
	p.Write = append(p.Write, k.cfg.CacheDir)
	for name, dir := range caches {
		p.Env = append(p.Env, name+"="+filepath.Join(k.cfg.CacheDir, dir))
	}
	slices.Sort(p.Env)
	return nil
}

// files is the part of the policy that is about files.
func (k *Keeper) files(w *walls) error {
	o, p, rules := w.options, &w.policy, k.cfg.Rules
	start := time.Now()
	f := &finder{left: MaxLooked}

	// Writing.
	for _, root := range w.roots {
		if !rules.DeniesFamily(tool.FamilyEdit) {
			p.Write = append(p.Write, root)
		}
		repos, links := gitDirs(root)
		w.repos = append(w.repos, links...)
		for _, git := range repos {
			if isRepository(string(git)) || filepath.Dir(string(git)) == root || k.isWorktree(git) {
				p.Write = append(p.Write, string(git))
			}
			p.WriteDeny = append(p.WriteDeny, git.closed()...)
		}
		// The one folder in the settings that holds ordinary work.
		for _, own := range []string{".claude", ".sevengate"} {
			p.Write = append(p.Write, filepath.Join(root, own, "worktrees"))
		}
	}
	allow, notes := k.plain(o.allowWrite, "allowWrite")
	p.Write, w.notes = append(p.Write, allow...), append(w.notes, notes...)
	for _, s := range rules.PathStarts(tool.Allow, tool.FamilyEdit) {
		if s.Whole && !s.Except {
			p.Write = append(p.Write, s.Path)
		}
	}
	deny, _, err := k.closedPaths(o.denyWrite, tool.FamilyEdit, f)
	if err != nil {
		return err
	}
	p.WriteDeny = append(p.WriteDeny, deny...)
	p.WriteDeny = append(p.WriteDeny, k.protected(w.roots)...)
	if k.cfg.Runs != nil {
		p.WriteDeny = append(p.WriteDeny, programFiles(k.cfg.Runs(), w.roots, k.cfg.Dir, k.cfg.Home)...)
	}

	// Reading. The user's tokens for servers are nobody's business.
	hidden, except, err := k.closedPaths(o.denyRead, tool.FamilyRead, f)
	if err != nil {
		return err
	}
	p.ReadDeny = append(hidden, filepath.Join(k.cfg.State, "auth"))
	shown, notes := k.plain(o.allowRead, "allowRead")
	p.AllowRead, w.notes = append(except, shown...), append(w.notes, notes...)
	if f.left < MaxLooked {
		w.looked, w.took = time.Now(), time.Since(start)
	}
	for _, list := range []*[]string{&p.Write, &p.WriteDeny, &p.ReadDeny, &p.AllowRead} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	// A path that is closed is closed for writing too, or a command could put another in its place.
	for _, path := range p.ReadDeny {
		if !slices.Contains(p.WriteDeny, path) {
			p.WriteDeny = append(p.WriteDeny, path)
		}
	}
	return nil
}

// isWorktree tells whether a folder is a repository's record of a linked worktree.
func (k *Keeper) isWorktree(git gitDir) bool {
	common, ok := link(filepath.Join(string(git), "commondir"), "", string(git))
	return ok && isRepository(common)
}

// private tells whether an allowed host may be at an address that is not on the
// public internet: an address that was allowed as such, or a name that the settings
// list. A name that a rule or a person allowed may not: it says nothing about where
// it leads.
func (k *Keeper) private(w *walls) func(host string, port int, addr netip.Addr) bool {
	return func(host string, port int, _ netip.Addr) bool {
		if _, err := netip.ParseAddr(host); err == nil {
			return true
		}
		return slices.ContainsFunc(w.options.allowedHosts, func(p string) bool {
			return !strings.HasPrefix(p, "*:") && p != "*" && sandbox.MatchDomain(p, host, port)
		})
	}
}
