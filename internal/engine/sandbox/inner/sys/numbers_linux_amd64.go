package sys

// System calls with a number of their own here.
const (
	SYS_MEMFD_CREATE      = 319
	SYS_BPF               = 321
	SYS_CLOCK_ADJTIME     = 305
	SYS_CREATE_MODULE     = 174
	SYS_FINIT_MODULE      = 313
	SYS_IOPERM            = 173
	SYS_IOPL              = 172
	SYS_KCMP              = 312
	SYS_KEXEC_FILE_LOAD   = 320
	SYS_MODIFY_LDT        = 154
	SYS_OPEN_BY_HANDLE_AT = 304
	SYS_PROCESS_VM_READV  = 310
	SYS_PROCESS_VM_WRITEV = 311
	SYS_SECCOMP           = 317
	SYS_SETNS             = 308
	SYS_USELIB            = 134
	SYS_USERFAULTFD       = 323
	SYS__SYSCTL           = 156
)
