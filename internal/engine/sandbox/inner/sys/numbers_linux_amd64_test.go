package sys

import "golang.org/x/sys/unix"

var numbers = map[string][2]int64{
	"SYS_CREATE_MODULE": {SYS_CREATE_MODULE, unix.SYS_CREATE_MODULE},
	"SYS_IOPERM":        {SYS_IOPERM, unix.SYS_IOPERM},
	"SYS_IOPL":          {SYS_IOPL, unix.SYS_IOPL},
	"SYS_MODIFY_LDT":    {SYS_MODIFY_LDT, unix.SYS_MODIFY_LDT},
	"SYS_USELIB":        {SYS_USELIB, unix.SYS_USELIB},
	"SYS__SYSCTL":       {SYS__SYSCTL, unix.SYS__SYSCTL},
}
