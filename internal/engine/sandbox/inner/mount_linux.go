//go:build amd64 || arm64

package inner

import (
	"errors"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	plainAttrs = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	// shmBytes bounds the command's own /dev/shm.
	shmBytes = 512 << 20
)

// mounts writes the part of the setup that changes what is seen of the file system. Everything is addressed by
// descriptors of paths without symbolic links, so that nothing that another process moves about leads elsewhere.
type mounts struct {
	s    *script
	how  *unix.OpenHow
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
	m.s.add("opening "+path, unix.SYS_OPENAT2, unix.AT_FDCWD, path, unsafe.Pointer(m.how), int(unsafe.Sizeof(*m.how))).save = uint16(v)
	return v, nil
}

func (m *mounts) close(v slot) {
	m.s.add("closing a descriptor", unix.SYS_CLOSE, v)
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
	m.s.add("copying the tree at "+path, unix.SYS_OPEN_TREE, at, "",
		unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE).save = uint16(v)
	m.close(at)
	m.setattr(v, path, attrs)
	return v, nil
}

func (m *mounts) setattr(v slot, path string, attrs uint64) {
	a := &unix.MountAttr{Attr_set: attrs}
	m.s.add("setting the attributes of "+path, unix.SYS_MOUNT_SETATTR, v, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE,
		unsafe.Pointer(a), int(unsafe.Sizeof(*a)))
}

// attach adds the mounting of a tree over a path.
func (m *mounts) attach(v slot, path string) error {
	at, err := m.opened(path)
	if err != nil {
		return err
	}
	m.s.add("mounting over "+path, unix.SYS_MOVE_MOUNT, v, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
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
	m.s.add(what, unix.SYS_FSOPEN, kind, unix.FSOPEN_CLOEXEC).save = uint16(fs)
	for _, o := range options {
		m.s.add(what+" with "+o[0], unix.SYS_FSCONFIG, fs, unix.FSCONFIG_SET_STRING, o[0], o[1], 0)
	}
	m.s.add(what, unix.SYS_FSCONFIG, fs, unix.FSCONFIG_CMD_CREATE, 0, 0, 0)
	m.s.add(what, unix.SYS_FSMOUNT, fs, unix.FSMOUNT_CLOEXEC, attrs).save = uint16(v)
	m.close(fs)
	return v, nil
}

func exists(path string, kind uint32) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && st.Mode&unix.S_IFMT == kind
}

func mountScript(s *script, plan *Plan, d *descriptors) error {
	cwd, err := unix.Getwd()
	if err != nil {
		return fail("finding the working directory", err)
	}
	m := &mounts{s: s, how: &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}}
	root := func(what string, a *unix.MountAttr) {
		s.add(what, unix.SYS_MOUNT_SETATTR, -1, "/", unix.AT_RECURSIVE, unsafe.Pointer(a), int(unsafe.Sizeof(*a)))
	}
	root("separating the mounts", &unix.MountAttr{Propagation: unix.MS_PRIVATE})

	// Copies are taken before anything is covered.
	shown := make([]slot, len(plan.Layers))
	for i, l := range plan.Layers {
		switch l.Kind {
		case Writable:
			shown[i], err = m.clone(l.Path, plainAttrs)
		case ReadOnly:
			shown[i], err = m.clone(l.Path, plainAttrs|unix.MOUNT_ATTR_RDONLY)
		case HideFile: // a device where no devices are allowed: nobody can open it
			shown[i], err = m.clone("/dev/null", plainAttrs|unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOEXEC)
		}
		if err != nil {
			return err
		}
	}
	var devs []slot
	var names []string
	for _, path := range devices {
		if !exists(path, unix.S_IFCHR) {
			continue
		}
		v, err := m.clone(path, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC)
		if err != nil {
			return err
		}
		devs, names = append(devs, v), append(names, path)
	}
	all := &unix.MountAttr{Attr_set: plainAttrs | unix.MOUNT_ATTR_RDONLY}
	if plan.RootWrite {
		all.Attr_set = plainAttrs
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
	s.add("going to "+cwd, unix.SYS_CHDIR, cwd)
	return nil
}

func (m *mounts) layer(l Layer, shown slot) error {
	switch l.Kind {
	case Writable, ReadOnly, HideFile:
		return m.attach(shown, l.Path)
	case HideDir:
		v, err := m.fresh("tmpfs", plainAttrs, [2]string{"mode", "0111"}, [2]string{"size", strconv.Itoa(coverSize)})
		if err != nil {
			return err
		}
		return m.attach(v, l.Path)
	case CloseDir:
		a := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		v, err := m.opened(l.Path)
		if err != nil {
			return err
		}
		m.s.add("closing "+l.Path, unix.SYS_MOUNT_SETATTR, v, "", unix.AT_EMPTY_PATH, unsafe.Pointer(a), int(unsafe.Sizeof(*a)))
		m.close(v)
	case MakeDir:
		m.s.add("making "+l.Path, unix.SYS_MKDIRAT, unix.AT_FDCWD, l.Path, 0o711)
	case MakeFile:
		v, err := m.slot()
		if err != nil {
			return err
		}
		m.s.add("making "+l.Path, unix.SYS_OPENAT, unix.AT_FDCWD, l.Path, unix.O_CREAT|unix.O_EXCL|unix.O_RDONLY|unix.O_CLOEXEC, 0o444).save = uint16(v)
		m.close(v)
	default:
		return errors.New("a layer of an unknown kind")
	}
	return nil
}

// special replaces what the kernel shows of itself: processes, terminals, shared memory.
func (m *mounts) special(plan *Plan, d *descriptors) error {
	if !plan.HostProc {
		v, err := m.fresh("proc", plainAttrs|unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOEXEC)
		if err != nil {
			return err
		}
		if err := m.attach(v, "/proc"); err != nil {
			return err
		}
	}
	if exists("/dev/pts", unix.S_IFDIR) {
		v, err := m.fresh("devpts", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, [2]string{"ptmxmode", "0666"}, [2]string{"mode", "0620"})
		if err != nil {
			return err
		}
		m.writable(plan, d, v, true)
		if err := m.attach(v, "/dev/pts"); err != nil {
			return err
		}
		if exists("/dev/ptmx", unix.S_IFCHR) {
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
	if exists("/dev/shm", unix.S_IFDIR) {
		v, err := m.fresh("tmpfs", plainAttrs, [2]string{"mode", "1777"}, [2]string{"size", strconv.Itoa(shmBytes)})
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
	m.s.add("moving a descriptor", unix.SYS_DUP3, v, d.path, unix.O_CLOEXEC)
	m.s.add("letting Landlock write to a new file system", unix.SYS_LANDLOCK_ADD_RULE, d.rules, unix.LANDLOCK_RULE_PATH_BENEATH,
		unsafe.Pointer(pathRule(rights, d.path)), 0)
}
