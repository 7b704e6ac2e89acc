package sys

// System calls with a number of their own here.
const (
	SYS_MEMFD_CREATE      = 279
	SYS_BPF               = 280
	SYS_CLOCK_ADJTIME     = 266
	SYS_FINIT_MODULE      = 273
	SYS_KCMP              = 272
	SYS_KEXEC_FILE_LOAD   = 294
	SYS_OPEN_BY_HANDLE_AT = 265
	SYS_PROCESS_VM_READV  = 270
	SYS_PROCESS_VM_WRITEV = 271
	SYS_SECCOMP           = 277
	SYS_SETNS             = 268
	SYS_USERFAULTFD       = 282
)
