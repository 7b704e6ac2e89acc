package grep

import (
	"io"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// near opens and reads files of one root that the kernel holds in memory: it answers at once or not at all, so that
// the runtime need not be told that a thread may wait, which costs as much as reading a small file. What is not in
// memory, lies on another file system below the root, or on one that may ask a network, is left to openRegular. The
// zero value is ready; it is safe for concurrent use.
type near struct {
	once sync.Once
	fd   int // of the root plus 1; 0: nothing is near
}

// resolveCached lets openat2 fail with EAGAIN instead of waiting. Kernels that know it (5.12) also have no wrong end of
// file in what preadv2 gives with RWF_NOWAIT, as some before had.
const resolveCached = 0x20

// open opens the root, once.
func (n *near) open(path string) {
	n.once.Do(func() {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return
		}
		var st unix.Statfs_t
		if err := unix.Fstatfs(fd, &st); err == nil && local(int64(st.Type)) {
			n.fd = fd + 1
		} else {
			unix.Close(fd)
		}
	})
}

func (n *near) close() {
	if n.fd > 0 {
		unix.Close(n.fd - 1)
		n.fd = 0
	}
}

// local tells file systems that do not leave this machine, by statfs.
func local(kind int64) bool {
	switch uint32(kind) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		return true
	}
	return false
}

// nearFile is a file that was opened so. It is for one goroutine.
type nearFile struct {
	fd   int
	name []byte // kept for the next
}

// open reports whether the file could be opened; rel is relative to the root, and no part of it may be a link.
func (f *nearFile) open(n *near, rel string) bool {
	if n.fd == 0 {
		return false
	}
	f.name = append(append(f.name[:0], rel...), 0)
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOFOLLOW,
		Resolve: resolveCached | unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS,
	}
	fd, _, errno := unix.RawSyscall6(unix.SYS_OPENAT2, uintptr(n.fd-1), uintptr(unsafe.Pointer(&f.name[0])), uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
	if errno != 0 {
		return false
	}
	f.fd = int(fd)
	return true
}

// Read reads what is in memory, or else waits for it.
func (f *nearFile) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	v := unix.Iovec{Base: &p[0]}
	v.SetLen(len(p))
	// An offset of -1 is where the last read ended.
	n, _, errno := unix.RawSyscall6(unix.SYS_PREADV2, uintptr(f.fd), uintptr(unsafe.Pointer(&v)), 1, ^uintptr(0), ^uintptr(0), unix.RWF_NOWAIT)
	switch {
	case errno != 0:
		return descriptor(f.fd).Read(p)
	case n == 0:
		return 0, io.EOF
	}
	return int(n), nil
}

// size is that of the open file, or negative.
func (f *nearFile) size() int64 {
	var st unix.Stat_t
	if unix.Fstat(f.fd, &st) != nil {
		return -1
	}
	return st.Size
}

func (f *nearFile) Close() error {
	unix.RawSyscall(unix.SYS_CLOSE, uintptr(f.fd), 0, 0)
	return nil
}

// modTime is the time of the last change of an open file, or zero.
func modTime(fd int) time.Time {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return time.Time{}
	}
	return time.Unix(st.Mtim.Unix())
}
