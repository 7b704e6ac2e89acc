package shellrun

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// snapshotVersion is part of the cache key and of the first line of a snapshot file.
const snapshotVersion = "2"

const snapshotHeader = "# sevengate shell snapshot " + snapshotVersion + " "

// snapshot is what the user's login shell has made: a script to source, and its PATH. The zero value is none.
type snapshot struct {
	file, path string
}

// snapshots takes the snapshot of one Runner, once.
type snapshots struct {
	r     *Runner
	file  string
	start chan struct{} // holds one token: whoever gets it takes the snapshot
	ready chan struct{} // closed when snap is set or will never be
	snap  snapshot
}

func newSnapshots(r *Runner) *snapshots {
	dir := r.opts.CacheDir
	if dir == "" {
		dir = r.opts.OutputDir
	}
	s := &snapshots{r: r, start: make(chan struct{}, 1), ready: make(chan struct{})}
	s.start <- struct{}{}
	s.file = filepath.Join(dir, "snapshot-"+r.shell.Kind+"-"+snapshotKey(r.shell, r.opts.Home)+".sh")
	return s
}

// rcFiles are the start-up files whose change makes a snapshot stale.
func rcFiles(sh Shell, home string) []string {
	names := []string{".profile", ".bash_profile", ".bash_login", ".bashrc", ".bash_aliases"}
	files := []string{sh.Path, "/etc/profile", "/etc/bash.bashrc", "/etc/bashrc"}
	if sh.Kind == "zsh" {
		names = []string{".zshenv", ".zprofile", ".zshrc", ".zlogin"}
		files = []string{sh.Path, "/etc/zshenv", "/etc/zprofile", "/etc/zshrc", "/etc/zsh/zshenv", "/etc/zsh/zprofile", "/etc/zsh/zshrc"}
	}
	if filepath.IsAbs(home) {
		for _, n := range names {
			files = append(files, filepath.Join(home, n))
		}
	}
	return files
}

func snapshotKey(sh Shell, home string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %q %q\n", snapshotVersion, sh.Path, home)
	for _, f := range rcFiles(sh, home) {
		if info, err := os.Stat(f); err == nil {
			fmt.Fprintf(h, "%q %d %d\n", f, info.Size(), info.ModTime().UnixNano())
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// get returns the snapshot, waiting for it at most SnapshotWait. The first call takes it: from the cache or, in the
// background, from a shell.
func (s *snapshots) get(ctx context.Context) snapshot {
	select {
	case <-s.start:
		s.begin()
	default:
	}
	select {
	case <-s.ready:
		return s.snap
	default:
	}
	t := time.NewTimer(SnapshotWait)
	defer t.Stop()
	select {
	case <-s.ready:
		return s.snap
	case <-t.C:
	case <-ctx.Done():
	}
	return snapshot{}
}

func (s *snapshots) begin() {
	snap, age, err := loadSnapshot(s.file)
	cached := err == nil
	if cached {
		s.snap = snap
		close(s.ready)
		if age < SnapshotMaxAge {
			return
		}
	}
	r := s.r
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		if !cached {
			close(s.ready)
		}
		return
	}
	r.wg.Add(1)
	r.mu.Unlock()
	go func() {
		defer r.wg.Done()
		err := s.take()
		if cached {
			return // this Runner goes on with what it has; the next one gets the new
		}
		defer close(s.ready)
		if err == nil {
			s.snap, _, _ = loadSnapshot(s.file)
		}
	}()
}

// loadSnapshot trusts a file only if it is ours and nobody else can write to it: every command executes it.
func loadSnapshot(file string) (snapshot, time.Duration, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return snapshot{}, 0, err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 || !ownFile(info) || info.Size() > MaxSnapshotBytes {
		return snapshot{}, 0, fmt.Errorf("snapshot %s refused: not a private file of this user", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return snapshot{}, 0, err
	}
	defer f.Close()
	head := make([]byte, 64<<10)
	n, _ := f.Read(head)
	line, _, _ := bytes.Cut(head[:n], []byte{'\n'})
	enc, ok := strings.CutPrefix(string(line), snapshotHeader)
	path, err := base64.StdEncoding.DecodeString(enc)
	if !ok || err != nil {
		return snapshot{}, 0, fmt.Errorf("snapshot %s refused: unknown first line", file)
	}
	return snapshot{file: file, path: string(path)}, time.Since(info.ModTime()), nil
}

// take runs the login shell and stores what it tells.
func (s *snapshots) take() error {
	r := s.r
	for _, dir := range []string{filepath.Dir(s.file), r.opts.OutputDir} {
		if err := privateDir(dir); err != nil {
			return fmt.Errorf("taking the shell snapshot: %w", err)
		}
	}
	dir := r.opts.Home
	if info, err := os.Stat(dir); err != nil || !info.IsDir() || !filepath.IsAbs(dir) {
		dir = "/"
	}
	// The script tells its findings on the status descriptor's neighbour, a file of its own: start-up files print things.
	out, err := os.CreateTemp(filepath.Dir(s.file), ".snapshot-*")
	if err != nil {
		return fmt.Errorf("taking the shell snapshot: %w", err)
	}
	defer os.Remove(out.Name())
	defer out.Close()
	script := bashSnapshotScript
	if r.shell.Kind == "zsh" {
		script = zshSnapshotScript
	}
	noise := filepath.Join(r.opts.OutputDir, ".snapshot-"+r.token+".output")
	defer os.Remove(noise)
	ctx, cancel := context.WithTimeout(context.Background(), SnapshotTimeout)
	defer cancel()
	p, err := r.start(ctx, Spec{
		Command: "true", Dir: dir, ID: "snapshot", OutputFile: noise, MaxOutput: MaxSnapshotBytes, ExtraFiles: []*os.File{out},
		KillLeftovers: true, Env: []string{"HOME=" + r.opts.Home, "SHLVL=1"},
	}, snapshot{}, []string{r.shell.Path, "-l", "-i", "-c", script, r.shell.Kind})
	if err != nil {
		return fmt.Errorf("taking the shell snapshot: %w", err)
	}
	<-p.done
	if p.res.Killed != "" {
		return fmt.Errorf("taking the shell snapshot: the start-up files did not end: %s", p.res.Killed)
	}
	raw, err := os.ReadFile(out.Name())
	if err != nil {
		return fmt.Errorf("taking the shell snapshot: %w", err)
	}
	path, body, err := splitSnapshot(raw)
	if err != nil {
		return fmt.Errorf("taking the shell snapshot: %w", err)
	}
	return s.store(path, body)
}

// splitSnapshot checks that the script came to its end: PATH, NUL, text, NUL.
func splitSnapshot(raw []byte) (path, body string, err error) {
	parts := strings.Split(string(raw), "\x00")
	if len(parts) != 3 || parts[2] != "" {
		return "", "", errors.New("the login shell did not tell its state")
	}
	if len(raw) > MaxSnapshotBytes {
		return "", "", fmt.Errorf("the login shell's state of %d bytes is larger than %d", len(raw), MaxSnapshotBytes)
	}
	return parts[0], parts[1], nil
}

// store checks that the shell can read the text before it puts it in place, whole.
func (s *snapshots) store(path, body string) error {
	header := snapshotHeader + base64.StdEncoding.EncodeToString([]byte(path)) + "\n"
	tmp, err := os.CreateTemp(filepath.Dir(s.file), ".snapshot-*")
	if err != nil {
		return fmt.Errorf("storing the shell snapshot: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.WriteString(header + body)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("storing the shell snapshot: %w", err)
	}
	if !s.readable(tmp.Name()) {
		// A function that the shell prints in a form it cannot read: PATH is still worth having.
		if err := os.WriteFile(tmp.Name(), []byte(header), 0o600); err != nil {
			return fmt.Errorf("storing the shell snapshot: %w", err)
		}
	}
	if err := os.Rename(tmp.Name(), s.file); err != nil {
		return fmt.Errorf("storing the shell snapshot: %w", err)
	}
	return nil
}

// readable sources the file once, with errors for exits.
func (s *snapshots) readable(file string) bool {
	r := s.r
	noise := filepath.Join(r.opts.OutputDir, ".snapshot-check-"+r.token+".output")
	defer os.Remove(noise)
	ctx, cancel := context.WithTimeout(context.Background(), SnapshotTimeout)
	defer cancel()
	p, err := r.start(ctx, Spec{
		Command: "true", Dir: "/", ID: "snapshot-check", OutputFile: noise, MaxOutput: MaxSnapshotBytes, KillLeftovers: true,
	}, snapshot{}, []string{r.shell.Path, "-c", ". " + quote(file) + "; exit 42", r.shell.Kind})
	if err != nil {
		return false
	}
	<-p.done
	return p.res.ExitCode == 42 && p.res.Killed == "" && p.res.OutputSize == 0
}

// bashSnapshotScript runs in an interactive login shell and writes to descriptor 3. Options come before functions, whose
// text may need them to be read; aliases after functions, so that they do not expand in them. Functions of completion
// packages are left out: they are large and of no use to a shell without a keyboard.
const bashSnapshotScript = `
if [ -r "$HOME/.bashrc" ]; then
	for f in "$HOME/.bash_profile" "$HOME/.bash_login" "$HOME/.profile"; do
		[ -r "$f" ] && break
	done
	grep -q bashrc "$f" 2>/dev/null || . "$HOME/.bashrc"
fi >/dev/null 2>&1 </dev/null
{
	builtin printf '%s\0' "$PATH"
	for o in autocd cdable_vars cdspell dirspell dotglob extglob failglob globasciiranges globstar lastpipe nocaseglob nocasematch nullglob xpg_echo; do
		builtin shopt -p "$o" 2>/dev/null
	done
	for o in braceexpand noclobber noglob physical pipefail; do
		if [[ -o $o ]]; then builtin echo "set -o $o"; else builtin echo "set +o $o"; fi
	done
	builtin echo 'shopt -s expand_aliases'
	builtin shopt -s extdebug
	while IFS=' ' builtin read -r _ _ f; do
		case $f in *' '*) f=${f##* } ;; esac
		case $(builtin declare -F -- "$f") in
		*[/\ ]bash[-_]completion* | */completions/*) continue ;;
		esac
		builtin declare -f -- "$f"
	done < <(builtin declare -F)
	builtin alias -p
	builtin printf '\0'
} >&3 2>/dev/null
exit 0`

// zshSnapshotScript is the same for zsh; functions that are only promised (autoload) or belong to the shell's own library are
// left out.
const zshSnapshotScript = `
{
	zmodload zsh/parameter
	builtin printf '%s\0' "$PATH"
	for o in autocd extendedglob globdots globstarshort kshglob nomatch nullglob pipefail clobber glob shwordsplit braceccl cshnullglob nocaseglob; do
		if [[ -o $o ]]; then builtin echo "setopt $o"; else builtin echo "unsetopt $o"; fi
	done 2>/dev/null
	for f in ${(ok)functions}; do
		[[ ${functions[$f]} == 'builtin autoload'* || ${functions_source[$f]} == */functions/* ]] && continue
		builtin print -r -- "${(qq)f} () {"
		builtin print -r -- "${functions[$f]}"
		builtin print -r -- "}"
	done
	builtin alias -L
	builtin printf '\0'
} >&3 2>/dev/null
exit 0`
