package settings

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// maxQuiet is how long the kernel's silence is believed without a look at the files: it says nothing of folders that
// were moved as a whole, nor of what other machines write to shared disks.
const maxQuiet = time.Second

// looksBefore is how many looks at the files are made before the kernel is asked to watch them: to stop watching takes
// some 8 ms, which a program that makes a call or two must not pay at its end.
const looksBefore = 24

// quiet knows cheaply, through inotify, that nothing has changed since the last look. The kernel queues the event of a
// change before the change returns, so silence is proof. It starts nothing in the background. The zero value is ready;
// it is never sure until armed.
type quiet struct {
	fd     int // of inotify plus 1; 0: none yet
	failed bool
	looks  int       // so far
	armed  time.Time // zero: not armed
}

// still tells that nothing changed since arm.
func (q *quiet) still(now time.Time) bool {
	if q.armed.IsZero() || now.Sub(q.armed) > maxQuiet {
		return false
	}
	var buf [4096]byte
	_, err := unix.Read(q.fd-1, buf[:])
	return errors.Is(err, unix.EAGAIN)
}

const quietMask = unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_ATTRIB | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM |
	unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR

// arm watches the folders around paths from now on. It must be called before the look whose result is to be kept.
func (q *quiet) arm(paths []string, now time.Time) {
	q.armed = time.Time{}
	if q.looks++; q.failed || q.looks <= looksBefore {
		return
	}
	if q.fd == 0 {
		fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
		if err != nil {
			q.failed = true
			return
		}
		q.fd = fd + 1
	}
	seen := map[string]bool{}
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			return // a state that has no place to be watched
		}
		for _, dir := range []string{nearestDir(p), realDir(p)} {
			if dir == "" || seen[dir] {
				continue
			}
			seen[dir] = true
			if _, err := unix.InotifyAddWatch(q.fd-1, dir, quietMask); err != nil {
				return
			}
		}
	}
	var buf [4096]byte
	for {
		if n, err := unix.Read(q.fd-1, buf[:]); n <= 0 || err != nil {
			break // what came before the look does not matter
		}
	}
	q.armed = now
}

func (q *quiet) close() {
	if q.fd > 0 {
		unix.Close(q.fd - 1)
	}
	*q = quiet{failed: true}
}

// nearestDir is the deepest existing folder on the way to a path: where the next part of it would appear.
func nearestDir(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// realDir is the folder of the file that a path leads to, when it is another one.
func realDir(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || real == path {
		return ""
	}
	return filepath.Dir(real)
}
