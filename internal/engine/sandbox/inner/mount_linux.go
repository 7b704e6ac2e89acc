//go:build amd64 || arm64

package inner

import (
	"errors"
	"syscall"
	"unsafe"

	"github.com/sevengate/sevengate/internal/engine/sandbox/inner/sys"
)

const (
	plainAttrs = sys.MOUNT_ATTR_NOSUID | sys.MOUNT_ATTR_NODEV
	// shmBytes bounds the command's own /dev/shm.
	shmBytes = 512 << 20
)

// mounts writes the part of the setup that changes what is seen of the file system. Everything is addressed by
// descriptors of paths without symbolic links, so that nothing that another process moves about leads elsewhere.
type mounts struct {
	s    *script
	how  *sys.OpenHow
	free []slot
}

func (m *mounts) slot() (slot, error) {
	if n := len(m.free); n > 0 {
		v := m.free[n-1]
		m.free = m.free[:n-1]
		return v, nil
	}
	return m.s.slot()
}

// opened adds the opening of a path and returns its descriptor's slot.
func (m *mounts) opened(path string) (slot, error) {
	v, err := m.slot()
	if err != nil {
		return 0, err
	}
	m.s.add("opening "+path, sys.SYS_OPENAT2, sys.AT_FDCWD, path, unsafe.Pointer(m.how), int(unsafe.Sizeof(*m.how))).save = uint16(v)
	return v, nil
}

func (m *mounts) close(v slot) {
	m.s.add("closing a descriptor", syscall.SYS_CLOSE, v)
	m.free = append(m.free, v)
}

// clone adds the making of a copy of the tree at a path, not yet attached anywhere.
func (m *mounts) clone(path string, attrs uint64) (slot, error) {
	at, err := m.opened(path)
	if err != nil {
		return 0, err
	}
	v, err := m.slot()
	if err != nil {
		return 0, err
	}
	m.s.add("copying the tree at "+path, sys.SYS_OPEN_TREE, at, "",
		sys.OPEN_TREE_CLONE|sys.OPEN_TREE_CLOEXEC|sys.AT_EMPTY_PATH|sys.AT_RECURSIVE).save = uint16(v)
	m.close(at)
	m.setattr(v, path, attrs)
	return v, nil
}

func (m *mounts) setattr(v slot, path string, attrs uint64) {
	a := &sys.MountAttr{Set: attrs}
	m.s.add("setting the attributes of "+path, sys.SYS_MOUNT_SETATTR, v, "", sys.AT_EMPTY_PATH|sys.AT_RECURSIVE,
		unsafe.Pointer(a), int(unsafe.Sizeof(*a)))
}

// attach adds the mounting of a tree over a path.
func (m *mounts) attach(v slot, path string) error {
	at, err := m.opened(path)
	if err != nil {
		return err
	}
	m.s.add("mounting over "+path, sys.SYS_MOVE_MOUNT, v, "", at, "", sys.MOVE_MOUNT_F_EMPTY_PATH|sys.MOVE_MOUNT_T_EMPTY_PATH)
	m.close(at)
	m.close(v)
	return nil
}

// fresh adds the making of a new file system.
func (m *mounts) fresh(kind string, attrs int, options ...[2]string) (slot, error) {
	fs, err := m.slot()
	if err != nil {
		return 0, err
	}
	v, err := m.slot()
	if err != nil {
		return 0, err
	}
	what := "making a file system of kind " + kind
	m.s.add(what, sys.SYS_FSOPEN, kind, sys.FSOPEN_CLOEXEC).save = uint16(fs)
	for _, o := range options {
		m.s.add(what+" with "+o[0], sys.SYS_FSCONFIG, fs, sys.FSCONFIG_SET_STRING, o[0], o[1], 0)
	}
	m.s.add(what, sys.SYS_FSCONFIG, fs, sys.FSCONFIG_CMD_CREATE, 0, 0, 0)
	m.s.add(what, sys.SYS_FSMOUNT, fs, sys.FSMOUNT_CLOEXEC, attrs).save = uint16(v)
	m.close(fs)
	return v, nil
}

func exists(path string, kind uint32) bool {
	var st syscall.Stat_t
	return syscall.Lstat(path, &st) == nil && st.Mode&syscall.S_IFMT == kind
}

func mountScript(s *script, plan *Plan, d *descriptors) error {
	cwd, err := syscall.Getwd()
	if err != nil {
		return fail("finding the working directory", err)
	}
	m := &mounts{s: s, how: &sys.OpenHow{Flags: sys.O_PATH | syscall.O_CLOEXEC, Resolve: sys.RESOLVE_NO_SYMLINKS | sys.RESOLVE_NO_MAGICLINKS}}
	root := func(what string, a *sys.MountAttr) {
		s.add(what, sys.SYS_MOUNT_SETATTR, -1, "/", sys.AT_RECURSIVE, unsafe.Pointer(a), int(unsafe.Sizeof(*a)))
	}
	root("separating the mounts", &sys.MountAttr{Propagation: syscall.MS_PRIVATE})

	// Copies are taken before anything is covered.
	shown := make([]slot, len(plan.Layers))
	for i, l := range plan.Layers {
		switch l.Kind {
		case Writable:
			shown[i], err = m.clone(l.Path, plainAttrs)
		case ReadOnly:
			shown[i], err = m.clone(l.Path, plainAttrs|sys.MOUNT_ATTR_RDONLY)
		case HideFile: // a device where no devices are allowed: nobody can open it
			shown[i], err = m.clone("/dev/null", plainAttrs|sys.MOUNT_ATTR_RDONLY|sys.MOUNT_ATTR_NOEXEC)
		}
		if err != nil {
			return err
		}
	}
	var devs []slot
	var names []string
	for _, path := range devices {
		if !exists(path, syscall.S_IFCHR) {
			continue
		}
		v, err := m.clone(path, sys.MOUNT_ATTR_NOSUID|sys.MOUNT_ATTR_NOEXEC)
		if err != nil {
			return err
		}
		devs, names = append(devs, v), append(names, path)
	}
	all := &sys.MountAttr{Set: plainAttrs | sys.MOUNT_ATTR_RDONLY}
	if plan.RootWrite {
		all.Set = plainAttrs
	}
	root("making everything read-only", all)

	for i, l := range plan.Layers {
		if err := m.layer(l, shown[i]); err != nil {
			return err
		}
	}
	for i, v := range devs {
		if err := m.attach(v, names[i]); err != nil {
			return err
		}
	}
	if err := m.special(plan, d); err != nil {
		return err
	}
	s.add("going to "+cwd, syscall.SYS_CHDIR, cwd)
	return nil
}

func (m *mounts) layer(l Layer, shown slot) error {
	switch l.Kind {
	case Writable, ReadOnly, HideFile:
		return m.attach(shown, l.Path)
	case HideDir:
		v, err := m.fresh("tmpfs", plainAttrs, [2]string{"mode", "0111"}, [2]string{"size", itoa(coverSize)})
		if err != nil {
			return err
		}
		return m.attach(v, l.Path)
	case CloseDir:
		a := &sys.MountAttr{Set: sys.MOUNT_ATTR_RDONLY}
		v, err := m.opened(l.Path)
		if err != nil {
			return err
		}
		m.s.add("closing "+l.Path, sys.SYS_MOUNT_SETATTR, v, "", sys.AT_EMPTY_PATH, unsafe.Pointer(a), int(unsafe.Sizeof(*a)))
		m.close(v)
	case MakeDir:
		m.s.add("making "+l.Path, syscall.SYS_MKDIRAT, sys.AT_FDCWD, l.Path, 0o711)
	case MakeFile:
		v, err := m.slot()
		if err != nil {
			return err
		}
		m.s.add("making "+l.Path, syscall.SYS_OPENAT, sys.AT_FDCWD, l.Path, syscall.O_CREAT|syscall.O_EXCL|syscall.O_RDONLY|syscall.O_CLOEXEC, 0o444).save = uint16(v)
		m.close(v)
	default:
		return errors.New("a layer of an unknown kind")
	}
	return nil
}

// special replaces what the kernel shows of itself: processes, terminals, shared memory.
func (m *mounts) special(plan *Plan, d *descriptors) error {
	if !plan.HostProc {
		v, err := m.fresh("proc", plainAttrs|sys.MOUNT_ATTR_RDONLY|sys.MOUNT_ATTR_NOEXEC)
		if err != nil {
			return err
		}
		if err := m.attach(v, "/proc"); err != nil {
			return err
		}
	}
	if exists("/dev/pts", syscall.S_IFDIR) {
		v, err := m.fresh("devpts", sys.MOUNT_ATTR_NOSUID|sys.MOUNT_ATTR_NOEXEC, [2]string{"ptmxmode", "0666"}, [2]string{"mode", "0620"})
		if err != nil {
			return err
		}
		m.writable(plan, d, v, true)
		if err := m.attach(v, "/dev/pts"); err != nil {
			return err
		}
		if exists("/dev/ptmx", syscall.S_IFCHR) {
			v, err := m.clone("/dev/pts/ptmx", 0)
			if err != nil {
				return err
			}
			m.writable(plan, d, v, false)
			if err := m.attach(v, "/dev/ptmx"); err != nil {
				return err
			}
		}
	}
	if exists("/dev/shm", syscall.S_IFDIR) {
		v, err := m.fresh("tmpfs", plainAttrs, [2]string{"mode", "1777"}, [2]string{"size", itoa(shmBytes)})
		if err != nil {
			return err
		}
		m.writable(plan, d, v, true)
		if err := m.attach(v, "/dev/shm"); err != nil {
			return err
		}
	}
	return nil
}

// writable lets Landlock write to a new file system, or to one file of it.
func (m *mounts) writable(plan *Plan, d *descriptors, v slot, dir bool) {
	if plan.Landlock == 0 {
		return
	}
	rights := handled(plan.Landlock)
	if !dir {
		rights &= writeFileRights
	}
	m.s.add("moving a descriptor", syscall.SYS_DUP3, v, d.path, syscall.O_CLOEXEC)
	m.s.add("letting Landlock write to a new file system", sys.SYS_LANDLOCK_ADD_RULE, d.rules, sys.LANDLOCK_RULE_PATH_BENEATH,
		unsafe.Pointer(pathRule(rights, d.path)), 0)
}
