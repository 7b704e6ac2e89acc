//go:build amd64 || arm64

package inner

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ABI returns the version of Landlock that the kernel has switched on; 0: none.
func ABI() int {
	v, _, e := syscall.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if e != 0 {
		return 0
	}
	return int(v)
}

const (
	writeFileRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	writeDirRights  = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_REFER
)

// handled returns the rights that the ruleset is about: everything that changes something. Reading is the mounts' part.
func handled(abi int) uint64 {
	rights := uint64(writeFileRights | writeDirRights)
	if abi < 3 {
		rights &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi < 2 {
		rights &^= unix.LANDLOCK_ACCESS_FS_REFER
	}
	return rights
}

// ruleset makes the Landlock ruleset and returns its descriptor.
func ruleset(p *Plan) (int, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled(p.Landlock)}
	size := uintptr(8)
	if p.Landlock >= 4 {
		size = 16
	}
	if p.Landlock >= 6 {
		size = 24
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL
		if !p.UnixOK {
			attr.Scoped |= unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		}
	}
	fd, _, e := syscall.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if e != 0 {
		return -1, fail("making the Landlock rules", e)
	}
	rs := int(fd)
	for _, path := range p.Roots {
		if err := allow(rs, p.Landlock, path); err != nil {
			return -1, err
		}
	}
	for _, path := range append([]string{"/dev/tty", "/dev/ptmx", "/dev/random", "/dev/urandom"}, devices...) {
		_ = allow(rs, p.Landlock, path) // what is not there cannot be written either
	}
	return rs, nil
}

// openPath opens a path of which no part may be a symbolic link: what was checked is what is opened.
func openPath(path string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if err != nil {
		return -1, fail("opening "+path, err)
	}
	return fd, nil
}

func allow(rs, abi int, path string) error {
	fd, err := openPath(path)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fail("looking at "+path, err)
	}
	rights := handled(abi)
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= writeFileRights
	}
	rule := pathRule(rights, fd)
	_, _, e := syscall.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rs), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule[0])), 0, 0, 0)
	if e != 0 {
		return fail("letting Landlock write to "+path, e)
	}
	return nil
}

// pathRule lays out struct landlock_path_beneath_attr, which is packed.
func pathRule(rights uint64, fd int) *[12]byte {
	var b [12]byte
	*(*uint64)(unsafe.Pointer(&b[0])) = rights
	*(*int32)(unsafe.Pointer(&b[8])) = int32(fd)
	return &b
}
