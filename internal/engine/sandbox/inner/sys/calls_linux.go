//go:build amd64 || arm64

package sys

import (
	"syscall"
	"unsafe"
)

// OpenHow is struct open_how.
type OpenHow struct{ Flags, Mode, Resolve uint64 }

// MountAttr is struct mount_attr.
type MountAttr struct{ Set, Clear, Propagation, UsernsFD uint64 }

// LandlockRulesetAttr is the part of struct landlock_ruleset_attr that is used.
type LandlockRulesetAttr struct{ HandledFS, HandledNet, Scoped uint64 }

// CapUserHeader is struct __user_cap_header_struct.
type CapUserHeader struct {
	Version uint32
	Pid     int32
}

// CapUserData is struct __user_cap_data_struct.
type CapUserData struct{ Effective, Permitted, Inheritable uint32 }

// PollFd is struct pollfd.
type PollFd struct {
	Fd              int32
	Events, Revents int16
}

// Fcntl is fcntl with a number as its argument.
func Fcntl(fd, cmd, arg int) (int, error) {
	return result(syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), uintptr(cmd), uintptr(arg)))
}

// MemfdCreate is memfd_create. The name must not contain a NUL byte.
func MemfdCreate(name string, flags int) (int, error) {
	p, err := syscall.BytePtrFromString(name)
	if err != nil {
		return -1, err
	}
	return result(syscall.Syscall(SYS_MEMFD_CREATE, uintptr(unsafe.Pointer(p)), uintptr(flags), 0))
}

// Openat2 is openat2.
func Openat2(dir int, path string, how *OpenHow) (int, error) {
	p, err := syscall.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	return result(syscall.Syscall6(SYS_OPENAT2, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(how)), unsafe.Sizeof(*how), 0, 0))
}

// Poll waits until something happens to one of the descriptors.
func Poll(fds []PollFd) error {
	_, err := result(syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&fds[0])), uintptr(len(fds)), 0, 0, 0, 0))
	return err
}

func result(value, _ uintptr, errno syscall.Errno) (int, error) {
	if errno != 0 {
		return -1, errno
	}
	return int(value), nil
}
