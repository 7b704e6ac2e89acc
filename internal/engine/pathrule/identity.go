package pathrule

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// fewFolders is up to how many folders are looked at anew for each path.
	fewFolders = 16
	// identitiesKept is how long a look holds where there are more.
	identitiesKept = time.Second
	// clockGrain is more than the grain of the clocks of common file systems: two changes within it may show as one.
	clockGrain = 100 * time.Millisecond
)

// identities remembers what the device calls the files and folders that rules name plainly, so that not every one is
// looked at for every path. A change shows in the folders that hold them. It is safe for concurrent use.
type identities struct {
	rules []*Rule // that name something plainly

	mu   sync.Mutex // held while looking
	last atomic.Pointer[looked]
}

// looked is what was seen at one time; only checked changes afterwards.
type looked struct {
	checked atomic.Int64 // nanoseconds
	folders map[string]folderState
	known   map[fileID][]target
	loose   []target // on systems without comparable identities
	files   bool     // something known is not a folder
	again   bool     // a link is among them, which may come to lead elsewhere unseen, or a folder changed just now
}

type target struct {
	rule *Rule
	info fs.FileInfo
}

// folderState changes when a name in the folder comes to mean another file.
type folderState struct {
	id    fileID
	mtime time.Time
}

// find calls back with the rules that plainly name Real or a folder above it, with the rule's own name for Real, until
// told to stop. The path is prepared.
func (x *identities) find(path Resolved, each func(r *Rule, as string) (more bool)) {
	if len(x.rules) == 0 {
		return
	}
	now := x.now(path)
	if len(now.known) == 0 && len(now.loose) == 0 {
		return
	}
	chain := now.chain(path)
	for _, c := range chain {
		as := func(t target) string { return filepath.Join(t.rule.target, path.Real[len(c.path):]) }
		if id, ok := idOf(c.FileInfo); ok {
			for _, t := range now.known[id] {
				if !each(t.rule, as(t)) {
					return
				}
			}
		}
		for _, t := range now.loose {
			if os.SameFile(t.info, c.FileInfo) && !each(t.rule, as(t)) {
				return
			}
		}
	}
}

// chain is the path and the folders above it, as far as something known can be among them.
func (l *looked) chain(path Resolved) []parentInfo {
	if path.seen.file && !l.files && len(l.loose) == 0 {
		return path.seen.folder.chain()
	}
	return path.chain()
}

// now gives what is known, after a look whether it still holds.
func (x *identities) now(path Resolved) *looked {
	now := time.Now()
	if l := x.last.Load(); l != nil && l.holds(path, now) {
		return l
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	l := x.last.Load()
	if l == nil || l.again || !l.unchanged() {
		l = look(x.rules)
		x.last.Store(l)
	}
	l.checked.Store(now.UnixNano())
	return l
}

// holds tells whether nothing needs to be looked at anew for this path.
func (l *looked) holds(path Resolved, now time.Time) bool {
	if len(l.folders) <= fewFolders && path.seen.folder == nil || now.UnixNano()-l.checked.Load() >= int64(identitiesKept) {
		return false
	}
	chain := l.chain(path)
	if len(chain) == 0 {
		return true
	}
	own := chain[0]
	return own.path != path.Real || own.IsDir() || !manyNames(own.FileInfo)
}

func (l *looked) unchanged() bool {
	for folder, state := range l.folders {
		if stateOf(folder) != state {
			return false
		}
	}
	return len(l.loose) == 0
}

func stateOf(folder string) folderState {
	info, err := os.Stat(folder)
	if err != nil {
		return folderState{}
	}
	id, _ := idOf(info)
	return folderState{id, info.ModTime()}
}

func look(rules []*Rule) *looked {
	l := &looked{known: map[fileID][]target{}, folders: map[string]folderState{}}
	for _, r := range rules {
		l.watch(filepath.Dir(r.target))
		info, err := os.Lstat(r.target)
		if err != nil {
			continue
		}
		if info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
			l.again = true
			if info, err = os.Stat(r.target); err != nil {
				continue
			}
		}
		l.files = l.files || !info.IsDir()
		if id, ok := idOf(info); ok {
			l.known[id] = append(l.known[id], target{r, info})
		} else {
			l.loose = append(l.loose, target{r, info})
		}
	}
	return l
}

// watch remembers the folder, or the nearest above it that exists.
func (l *looked) watch(folder string) {
	for {
		if _, ok := l.folders[folder]; ok {
			return
		}
		if state := stateOf(folder); state != (folderState{}) {
			l.folders[folder] = state
			l.again = l.again || time.Since(state.mtime) < clockGrain
			return
		}
		up := filepath.Dir(folder)
		if up == folder {
			return
		}
		folder = up
	}
}
