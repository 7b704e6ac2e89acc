package inner

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

var refusedArch = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS__SYSCTL, unix.SYS_CREATE_MODULE}
