package inner

import (
	"github.com/sevengate/sevengate/internal/engine/sandbox/inner/sys"
)

const auditArch = sys.AUDIT_ARCH_AARCH64

var refusedArch []uint32
