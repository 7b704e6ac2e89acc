//go:build unix

package shellrun

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
)

// keeperScript waits for the host's end of its pipe to close and then kills what the host left. It is a POSIX shell and
// not this program again, because a library cannot count on its host's main function, and because it starts faster.
// Arguments: the Runner's token, the Runner's cgroup or nothing. Input lines: "+ PGID", "- PGID", "q".
const keeperScript = `trap '' HUP INT QUIT TERM TSTP TTIN TTOU PIPE USR1 USR2
live=
while read -r op id; do
	case $op in
	+) live="$live $id " ;;
	-) live="${live%% $id *} ${live#* $id }" ;;
	q) exit 0 ;;
	esac
done
[ -n "$2" ] && echo 1 2>/dev/null >"$2/cgroup.kill"
for id in $live; do kill -s KILL -- "-$id" 2>/dev/null; done
if [ -d /proc/self ] && cd /proc; then
	for round in 1 2 3 4 5 6 7 8 9 10; do
		found=
		for f in $(grep -ls -- "$1" [0-9]*/environ 2>/dev/null); do
			kill -s KILL -- "${f%/environ}" 2>/dev/null && found=1
		done
		[ -z "$found" ] && break
	done
fi
[ -n "$2" ] && { rmdir "$2"/*/ "$2"; } 2>/dev/null
exit 0`

// keeper watches over the host's life. It is started again if someone kills it.
type keeper struct {
	token, cgroup string
	null          *os.File

	mu   sync.Mutex
	pipe *os.File // nil: not running
	gone chan struct{}
	live map[int]bool
}

// ensure starts the keeper if it does not run. Commands may run without one, so its absence is reported, not fatal.
func (k *keeper) ensure() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pipe != nil {
		select {
		case <-k.gone:
			k.pipe.Close()
			k.pipe = nil
		default:
			return nil
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("starting the keeper: %w", err)
	}
	defer r.Close()
	p, err := os.StartProcess("/bin/sh", []string{"sh", "-c", keeperScript, "sevengate-keeper", k.token, k.cgroup}, &os.ProcAttr{
		Dir:   "/",
		Env:   []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
		Files: []*os.File{r, k.null, k.null},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		w.Close()
		return fmt.Errorf("starting the keeper: %w", err)
	}
	k.pipe, k.gone = w, make(chan struct{})
	go func(gone chan struct{}) { // ends with the keeper, which close waits for
		defer close(gone)
		_, _ = p.Wait()
	}(k.gone)
	for pgid := range k.live {
		k.send("+ ", pgid)
	}
	return nil
}

func (k *keeper) send(op string, pgid int) {
	// One small write to a pipe is atomic; a failure shows at the next ensure.
	_, _ = k.pipe.WriteString(op + strconv.Itoa(pgid) + "\n")
}

// watch and forget tell of a process group whose leader lives. With a cgroup the keeper needs no list.
func (k *keeper) watch(g *group) {
	if g.inCgroup() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.live == nil {
		k.live = map[int]bool{}
	}
	k.live[g.pid] = true
	if k.pipe != nil {
		k.send("+ ", g.pid)
	}
}

func (k *keeper) forget(g *group) {
	if g.inCgroup() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.live, g.pid)
	if k.pipe != nil {
		k.send("- ", g.pid)
	}
}

func (k *keeper) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pipe == nil {
		return
	}
	_, _ = k.pipe.WriteString("q\n")
	k.pipe.Close()
	<-k.gone
	k.pipe = nil
}
