package pathrule

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
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

	mu      sync.Mutex
	checked time.Time
	folders map[string]folderState
	known   map[fileID][]target
	loose   []target // on systems without comparable identities
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
// told to stop.
func (x *identities) find(path Resolved, each func(r *Rule, as string) (more bool)) {
	if len(x.rules) == 0 {
		return
	}
	chain := path.chain()
	if len(chain) == 0 {
		return
	}
	own := chain[0]
	known, loose := x.now(own.below == "" && !own.IsDir() && manyNames(own.FileInfo))
	for _, c := range chain {
		if id, ok := idOf(c.FileInfo); ok {
			for _, t := range known[id] {
				if !each(t.rule, filepath.Join(t.rule.target, c.below)) {
					return
				}
			}
		}
		for _, t := range loose {
			if os.SameFile(t.info, c.FileInfo) && !each(t.rule, filepath.Join(t.rule.target, c.below)) {
				return
			}
		}
	}
}

// now gives what is known, after a look whether it still holds. The maps are not changed afterwards.
func (x *identities) now(exactly bool) (map[fileID][]target, []target) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	if x.known != nil && len(x.folders) > fewFolders && !exactly && now.Sub(x.checked) < identitiesKept {
		return x.known, x.loose
	}
	if x.known == nil || x.again || !x.unchanged() {
		x.look()
	}
	x.checked = now
	return x.known, x.loose
}

func (x *identities) unchanged() bool {
	for folder, state := range x.folders {
		if stateOf(folder) != state {
			return false
		}
	}
	return len(x.loose) == 0
}

func stateOf(folder string) folderState {
	info, err := os.Stat(folder)
	if err != nil {
		return folderState{}
	}
	id, _ := idOf(info)
	return folderState{id, info.ModTime()}
}

func (x *identities) look() {
	x.known, x.loose, x.again = map[fileID][]target{}, nil, false
	x.folders = map[string]folderState{}
	for _, r := range x.rules {
		x.watch(filepath.Dir(r.target))
		info, err := os.Lstat(r.target)
		if err != nil {
			continue
		}
		if info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
			x.again = true
			if info, err = os.Stat(r.target); err != nil {
				continue
			}
		}
		if id, ok := idOf(info); ok {
			x.known[id] = append(x.known[id], target{r, info})
		} else {
			x.loose = append(x.loose, target{r, info})
		}
	}
}

// watch remembers the folder, or the nearest above it that exists.
func (x *identities) watch(folder string) {
	for {
		if _, ok := x.folders[folder]; ok {
			return
		}
		if state := stateOf(folder); state != (folderState{}) {
			x.folders[folder] = state
			x.again = x.again || time.Since(state.mtime) < clockGrain
			return
		}
		up := filepath.Dir(folder)
		if up == folder {
			return
		}
		folder = up
	}
}
