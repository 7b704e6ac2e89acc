package inner

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

var refusedArch []uint32
