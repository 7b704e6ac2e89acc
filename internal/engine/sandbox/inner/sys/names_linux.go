//go:build amd64 || arm64

package sys

// Files and mounts.
const (
	AT_EMPTY_PATH           = 0x1000
	AT_FDCWD                = -0x64
	AT_RECURSIVE            = 0x8000
	FSCONFIG_CMD_CREATE     = 0x6
	FSCONFIG_SET_STRING     = 0x1
	FSMOUNT_CLOEXEC         = 0x1
	FSOPEN_CLOEXEC          = 0x1
	MFD_CLOEXEC             = 0x1
	MOUNT_ATTR_NODEV        = 0x4
	MOUNT_ATTR_NOEXEC       = 0x8
	MOUNT_ATTR_NOSUID       = 0x2
	MOUNT_ATTR_RDONLY       = 0x1
	MOVE_MOUNT_F_EMPTY_PATH = 0x4
	MOVE_MOUNT_T_EMPTY_PATH = 0x40
	OPEN_TREE_CLOEXEC       = 0x80000
	OPEN_TREE_CLONE         = 0x1
	O_PATH                  = 0x200000
	RESOLVE_NO_MAGICLINKS   = 0x2
	RESOLVE_NO_SYMLINKS     = 0x4
	SEEK_SET                = 0x0
)

// Capabilities and processes.
const (
	CAP_CHOWN                  = 0x0
	CAP_DAC_OVERRIDE           = 0x1
	CAP_FOWNER                 = 0x3
	CAP_FSETID                 = 0x4
	CAP_KILL                   = 0x5
	CAP_LAST_CAP               = 0x28
	CAP_NET_BIND_SERVICE       = 0xa
	CAP_SETGID                 = 0x6
	CAP_SETUID                 = 0x7
	LINUX_CAPABILITY_VERSION_3 = 0x20080522
	POLLIN                     = 0x1
	PR_CAP_AMBIENT             = 0x2f
	PR_CAP_AMBIENT_CLEAR_ALL   = 0x4
	PR_SET_CHILD_SUBREAPER     = 0x24
	PR_SET_NO_NEW_PRIVS        = 0x26
	SIG_SETMASK                = 0x2
)

// Filters of system calls, and networks.
const (
	AUDIT_ARCH_AARCH64      = 0xc00000b7
	AUDIT_ARCH_X86_64       = 0xc000003e
	IPPROTO_MPTCP           = 0x106
	SECCOMP_RET_ALLOW       = 0x7fff0000
	SECCOMP_RET_ERRNO       = 0x50000
	SECCOMP_SET_MODE_FILTER = 0x1
)

// Landlock.
const (
	LANDLOCK_ACCESS_FS_MAKE_BLOCK       = 0x800
	LANDLOCK_ACCESS_FS_MAKE_CHAR        = 0x40
	LANDLOCK_ACCESS_FS_MAKE_DIR         = 0x80
	LANDLOCK_ACCESS_FS_MAKE_FIFO        = 0x400
	LANDLOCK_ACCESS_FS_MAKE_REG         = 0x100
	LANDLOCK_ACCESS_FS_MAKE_SOCK        = 0x200
	LANDLOCK_ACCESS_FS_MAKE_SYM         = 0x1000
	LANDLOCK_ACCESS_FS_REFER            = 0x2000
	LANDLOCK_ACCESS_FS_REMOVE_DIR       = 0x10
	LANDLOCK_ACCESS_FS_REMOVE_FILE      = 0x20
	LANDLOCK_ACCESS_FS_TRUNCATE         = 0x4000
	LANDLOCK_ACCESS_FS_WRITE_FILE       = 0x2
	LANDLOCK_CREATE_RULESET_VERSION     = 0x1
	LANDLOCK_RULE_PATH_BENEATH          = 0x1
	LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET = 0x1
	LANDLOCK_SCOPE_SIGNAL               = 0x2
)

// System calls that have the same number on all architectures.
const (
	SYS_CLONE3                  = 435
	SYS_CLOSE_RANGE             = 436
	SYS_FILE_SETATTR            = 469
	SYS_FSCONFIG                = 431
	SYS_FSMOUNT                 = 432
	SYS_FSOPEN                  = 430
	SYS_FSPICK                  = 433
	SYS_IO_URING_ENTER          = 426
	SYS_IO_URING_REGISTER       = 427
	SYS_IO_URING_SETUP          = 425
	SYS_LANDLOCK_ADD_RULE       = 445
	SYS_LANDLOCK_CREATE_RULESET = 444
	SYS_LANDLOCK_RESTRICT_SELF  = 446
	SYS_MOUNT_SETATTR           = 442
	SYS_MOVE_MOUNT              = 429
	SYS_OPENAT2                 = 437
	SYS_OPEN_TREE               = 428
	SYS_OPEN_TREE_ATTR          = 467
	SYS_PIDFD_GETFD             = 438
	SYS_PROCESS_MADVISE         = 440
	SYS_QUOTACTL_FD             = 443
)
