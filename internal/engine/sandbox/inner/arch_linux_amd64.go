package inner

import (
	"github.com/sevengate/sevengate/internal/engine/sandbox/inner/sys"
)

const auditArch = sys.AUDIT_ARCH_X86_64

var refusedArch = []uint32{sys.SYS_IOPL, sys.SYS_IOPERM, sys.SYS_MODIFY_LDT, sys.SYS_USELIB, sys.SYS__SYSCTL, sys.SYS_CREATE_MODULE}
