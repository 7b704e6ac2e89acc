package confine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sevengate/sevengate/internal/engine/sandbox"
	"github.com/sevengate/sevengate/internal/engine/shellscan"
	"github.com/sevengate/sevengate/internal/permission"
	"github.com/sevengate/sevengate/internal/settings"
	"github.com/sevengate/sevengate/tool"
)

// passed are the descriptors that a command needs beside its three: by them the
// runner learns in which directory it ended.
var passed = []int{198, 199}

// Rules is what the permission rules say; *permission.Policy is one.
type Rules interface {
	Edition() any
	PathStarts(b tool.Behavior, family string) []permission.PathStart
	Denials(family string) func(path string, typ fs.FileMode) bool
	DeniesFamily(family string) bool
	Host(host string) (tool.Behavior, string)
}

// Config is what a Keeper needs. All directories are absolute.
type Config struct {
	Settings func() *settings.Snapshot
	Rules    Rules
	// Roots are the working directories as they are now; commands may write there.
	Roots func() []string
	// Dir is where the session was started, Home the user's home directory, State
	// where this program keeps its own files, and UserDir where the user's settings
	// are.
	Dir, Home, State, UserDir string
	// CacheDir is for what build tools keep from one session to the next, apart from
	// the user's own caches. Empty: they get none.
	CacheDir string
	// Runs are the command lines that this program itself runs outside, such as hooks:
	// no command may change the files that they name. nil: there are none.
	Runs func() []string
	// AskHost asks whether commands may connect to a host that neither list names;
	// why tells the model of a refusal. nil: they may not.
	AskHost func(ctx context.Context, host string, port int) (allow bool, why string)
	Log     *slog.Logger // may be nil
}

// Keeper keeps the sandbox of a session. The nil Keeper keeps none. Its methods are
// safe for concurrent use.
type Keeper struct {
	cfg Config

	mu      sync.Mutex
	current *walls
	old     []*walls
	tmp     string
	holds   holds
	closed  bool

	refused refusals
}

// New makes a keeper. It touches nothing yet.
func New(cfg Config) *Keeper {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Keeper{cfg: cfg}
}

// walls are a sandbox that was prepared, or why there is none.
type walls struct {
	options  *options
	snapshot *settings.Snapshot
	edition  any
	roots    []string
	looked   time.Time     // when wildcards were followed; zero: there are none
	took     time.Duration // how long that took
	sandbox  *sandbox.Sandbox
	excluded permission.CommandList
	err      error
	users    int
	policy   sandbox.Policy
	notes    []string
	stale    bool
	repos    []string // what stood under the name .git in and around the working directories
}

// now gives the walls for the settings and rules as they are, prepared if need be.
func (k *Keeper) now(ctx context.Context) *walls {
	snap, edition, roots := k.cfg.Settings(), k.cfg.Rules.Edition(), k.cfg.Roots()
	k.mu.Lock()
	defer k.mu.Unlock()
	if w := k.current; w != nil && w.snapshot == snap && w.edition == edition && slices.Equal(w.roots, roots) && w.fresh() {
		return w
	}
	w := &walls{options: read(snap), snapshot: snap, edition: edition, roots: slices.Clone(roots)}
	switch {
	case k.closed:
		w.err = sandbox.ErrClosed
	case w.options.enabled:
		k.prepare(ctx, w)
	}
	if w.err != nil && ctx.Err() != nil {
		return w // not the last word
	}
	if k.current != nil {
		k.old = append(k.old, k.current)
	}
	k.current = w
	k.dropOld()
	return w
}

func (w *walls) fresh() bool {
	return !w.stale && (w.looked.IsZero() || time.Since(w.looked) < max(LookAgain, lookShare*w.took))
}

// prepare makes the policy and tries it. k.mu is held.
func (k *Keeper) prepare(ctx context.Context, w *walls) {
	var errs []error
	w.excluded, errs = permission.NewCommandList(w.options.excluded)
	for _, err := range errs {
		w.notes = append(w.notes, "sandbox.excludedCommands: "+err.Error())
	}
	if w.err = k.makePolicy(w); w.err != nil {
		return
	}
	w.notes = append(w.notes, w.options.notes...)
	w.sandbox, w.err = sandbox.Prepare(ctx, w.policy)
	if w.err != nil {
		return
	}
	for _, lost := range w.sandbox.Lost() {
		w.notes = append(w.notes, fmt.Sprintf("the sandbox works without %s: %s", lost.Part, lost.Reason))
	}
}

// dropOld closes what no command uses any more. k.mu is held.
func (k *Keeper) dropOld() {
	k.old = slices.DeleteFunc(k.old, func(w *walls) bool {
		if w.users > 0 {
			return false
		}
		if w.sandbox != nil {
			if err := w.sandbox.Close(); err != nil {
				k.cfg.Log.Warn("closing a sandbox", "error", err)
			}
		}
		return true
	})
}

// Inside tells whether a command would run in the sandbox; if not, why, where that
// is worth telling.
func (k *Keeper) Inside(ctx context.Context, script *shellscan.Script, outside bool) (bool, string) {
	if k == nil {
		return false, ""
	}
	w := k.now(ctx)
	switch {
	case !w.options.enabled:
		return false, ""
	case outside && !w.options.strict:
		return false, "dangerouslyDisableSandbox is set"
	case w.err != nil:
		return false, w.err.Error()
	case w.excluded.CoversAll(script):
		return false, "sandbox.excludedCommands names it"
	}
	return true, ""
}

// Enabled tells whether the settings ask for a sandbox, and Strict whether nothing
// may run outside it on request.
func (k *Keeper) Enabled() bool { return k != nil && read(k.cfg.Settings()).enabled }

// Strict tells whether dangerouslyDisableSandbox has no effect.
func (k *Keeper) Strict() bool { return k != nil && read(k.cfg.Settings()).strict }

// Check prepares the sandbox if the settings ask for one. It returns an error where
// they demand it (sandbox.failIfUnavailable) and the machine cannot enforce it, and
// otherwise what a person should be told once.
func (k *Keeper) Check(ctx context.Context) (notes []string, err error) {
	if k == nil {
		return nil, nil
	}
	w := k.now(ctx)
	switch {
	case w.err == nil:
		return w.notes, nil
	case w.options.required:
		return nil, fmt.Errorf("sandbox.enabled and sandbox.failIfUnavailable are set, but there is no sandbox: %w", w.err)
	}
	return append(w.notes, fmt.Sprintf("sandbox.enabled is set, but there is no sandbox: %v; commands run without it, after the usual questions", w.err)), nil
}

// tmpDir is the folder for the commands' temporary files. k.mu is held.
func (k *Keeper) tmpDir() (string, error) {
	if k.tmp == "" {
		dir, err := os.MkdirTemp("", "sevengate-")
		if err != nil {
			return "", fmt.Errorf("making a temporary folder for sandboxed commands: %w", err)
		}
		if k.tmp, err = filepath.EvalSymlinks(dir); err != nil {
			k.tmp = dir
		}
	}
	return k.tmp, nil
}

// Close ends all sandboxes, removes the commands' temporary files and what holds
// names free. Call it when the commands have ended.
func (k *Keeper) Close() error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil
	}
	k.closed = true
	if k.current != nil {
		k.old = append(k.old, k.current)
		k.current = nil
	}
	var errs []error
	for _, w := range k.old {
		w.users = 0
	}
	k.dropOld()
	k.holds.releaseAll()
	if k.tmp != "" {
		if err := os.RemoveAll(k.tmp); err != nil {
			errs = append(errs, fmt.Errorf("removing the temporary files of sandboxed commands: %w", err))
		}
	}
	return errors.Join(errs...)
}
