package search

import (
	"container/heap"
	"slices"
	"strings"
	"sync"
	"time"
)

// found is a file of a result.
type found struct {
	path string
	mod  time.Time
}

// before is the order of results: the newest first, then by path.
func (a found) before(b found) bool { return compareFound(a, b) < 0 }

func compareFound(a, b found) int {
	if c := b.mod.Compare(a.mod); c != 0 {
		return c
	}
	return strings.Compare(a.path, b.path)
}

// newest keeps the first few of any number of files, in the order of results. It
// is safe for concurrent use.
type newest struct {
	mu    sync.Mutex
	limit int
	total int
	kept  worstFirst
}

func (n *newest) add(f found) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.total++
	switch {
	case len(n.kept) < n.limit:
		heap.Push(&n.kept, f)
	case n.limit > 0 && f.before(n.kept[0]):
		n.kept[0] = f
		heap.Fix(&n.kept, 0)
	}
}

// sorted gives what was kept, and how many there were.
func (n *newest) sorted() ([]found, int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := slices.Clone([]found(n.kept))
	slices.SortFunc(out, compareFound)
	return out, n.total
}

// worstFirst is a heap whose first element is the last in the order of results.
type worstFirst []found

func (h worstFirst) Len() int           { return len(h) }
func (h worstFirst) Less(i, j int) bool { return h[j].before(h[i]) }
func (h worstFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *worstFirst) Push(x any)        { *h = append(*h, x.(found)) }
func (h *worstFirst) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
