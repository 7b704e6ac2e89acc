//go:build amd64 || arm64

package inner

import (
	"syscall"
	"unsafe"

	"github.com/sevengate/sevengate/internal/engine/sandbox/inner/sys"
)

// ABI returns the version of Landlock that the kernel has switched on; 0: none.
func ABI() int {
	v, _, e := syscall.RawSyscall(sys.SYS_LANDLOCK_CREATE_RULESET, 0, 0, sys.LANDLOCK_CREATE_RULESET_VERSION)
	if e != 0 {
		return 0
	}
	return int(v)
}

const (
	writeFileRights = sys.LANDLOCK_ACCESS_FS_WRITE_FILE | sys.LANDLOCK_ACCESS_FS_TRUNCATE
	writeDirRights  = sys.LANDLOCK_ACCESS_FS_REMOVE_DIR | sys.LANDLOCK_ACCESS_FS_REMOVE_FILE | sys.LANDLOCK_ACCESS_FS_MAKE_CHAR |
		sys.LANDLOCK_ACCESS_FS_MAKE_DIR | sys.LANDLOCK_ACCESS_FS_MAKE_REG | sys.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		sys.LANDLOCK_ACCESS_FS_MAKE_FIFO | sys.LANDLOCK_ACCESS_FS_MAKE_BLOCK | sys.LANDLOCK_ACCESS_FS_MAKE_SYM |
		sys.LANDLOCK_ACCESS_FS_REFER
)

// handled returns the rights that the ruleset is about: everything that changes something. Reading is the mounts' part.
func handled(abi int) uint64 {
	rights := uint64(writeFileRights | writeDirRights)
	if abi < 3 {
		rights &^= sys.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi < 2 {
		rights &^= sys.LANDLOCK_ACCESS_FS_REFER
	}
	return rights
}

// ruleset makes the Landlock ruleset and returns its descriptor.
func ruleset(p *Plan) (int, error) {
	attr := sys.LandlockRulesetAttr{HandledFS: handled(p.Landlock)}
	size := uintptr(8)
	if p.Landlock >= 4 {
		size = 16
	}
	if p.Landlock >= 6 {
		size = 24
		attr.Scoped = sys.LANDLOCK_SCOPE_SIGNAL
		if !p.UnixOK {
			attr.Scoped |= sys.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		}
	}
	fd, _, e := syscall.RawSyscall(sys.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
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
	how := sys.OpenHow{Flags: sys.O_PATH | syscall.O_CLOEXEC, Resolve: sys.RESOLVE_NO_SYMLINKS | sys.RESOLVE_NO_MAGICLINKS}
	fd, err := sys.Openat2(sys.AT_FDCWD, path, &how)
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
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return fail("looking at "+path, err)
	}
	rights := handled(abi)
	if st.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		rights &= writeFileRights
	}
	rule := pathRule(rights, fd)
	_, _, e := syscall.RawSyscall6(sys.SYS_LANDLOCK_ADD_RULE, uintptr(rs), sys.LANDLOCK_RULE_PATH_BENEATH,
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
