//go:build amd64 || arm64

package sys

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// All names mean what they mean in golang.org/x/sys/unix: the constants by value, the structures by size.
func TestNames(t *testing.T) {
	for _, table := range []map[string][2]int64{names, numbers} {
		for name, v := range table {
			if v[0] != v[1] {
				t.Errorf("%s is %#x, must be %#x", name, v[0], v[1])
			}
		}
	}
	for name, v := range map[string][2]uintptr{
		"OpenHow":                       {unsafe.Sizeof(OpenHow{}), unsafe.Sizeof(unix.OpenHow{})},
		"MountAttr":                     {unsafe.Sizeof(MountAttr{}), unsafe.Sizeof(unix.MountAttr{})},
		"CapUserHeader":                 {unsafe.Sizeof(CapUserHeader{}), unsafe.Sizeof(unix.CapUserHeader{})},
		"CapUserData":                   {unsafe.Sizeof(CapUserData{}), unsafe.Sizeof(unix.CapUserData{})},
		"PollFd":                        {unsafe.Sizeof(PollFd{}), unsafe.Sizeof(unix.PollFd{})},
		"Scoped of LandlockRulesetAttr": {unsafe.Offsetof(LandlockRulesetAttr{}.Scoped), unsafe.Offsetof(unix.LandlockRulesetAttr{}.Scoped)},
	} {
		if v[0] != v[1] {
			t.Errorf("%s: %d bytes, must be %d", name, v[0], v[1])
		}
	}
}

var names = map[string][2]int64{
	"AT_EMPTY_PATH":                       {AT_EMPTY_PATH, unix.AT_EMPTY_PATH},
	"AT_FDCWD":                            {AT_FDCWD, unix.AT_FDCWD},
	"AT_RECURSIVE":                        {AT_RECURSIVE, unix.AT_RECURSIVE},
	"FSCONFIG_CMD_CREATE":                 {FSCONFIG_CMD_CREATE, unix.FSCONFIG_CMD_CREATE},
	"FSCONFIG_SET_STRING":                 {FSCONFIG_SET_STRING, unix.FSCONFIG_SET_STRING},
	"FSMOUNT_CLOEXEC":                     {FSMOUNT_CLOEXEC, unix.FSMOUNT_CLOEXEC},
	"FSOPEN_CLOEXEC":                      {FSOPEN_CLOEXEC, unix.FSOPEN_CLOEXEC},
	"MFD_CLOEXEC":                         {MFD_CLOEXEC, unix.MFD_CLOEXEC},
	"MOUNT_ATTR_NODEV":                    {MOUNT_ATTR_NODEV, unix.MOUNT_ATTR_NODEV},
	"MOUNT_ATTR_NOEXEC":                   {MOUNT_ATTR_NOEXEC, unix.MOUNT_ATTR_NOEXEC},
	"MOUNT_ATTR_NOSUID":                   {MOUNT_ATTR_NOSUID, unix.MOUNT_ATTR_NOSUID},
	"MOUNT_ATTR_RDONLY":                   {MOUNT_ATTR_RDONLY, unix.MOUNT_ATTR_RDONLY},
	"MOVE_MOUNT_F_EMPTY_PATH":             {MOVE_MOUNT_F_EMPTY_PATH, unix.MOVE_MOUNT_F_EMPTY_PATH},
	"MOVE_MOUNT_T_EMPTY_PATH":             {MOVE_MOUNT_T_EMPTY_PATH, unix.MOVE_MOUNT_T_EMPTY_PATH},
	"OPEN_TREE_CLOEXEC":                   {OPEN_TREE_CLOEXEC, unix.OPEN_TREE_CLOEXEC},
	"OPEN_TREE_CLONE":                     {OPEN_TREE_CLONE, unix.OPEN_TREE_CLONE},
	"O_PATH":                              {O_PATH, unix.O_PATH},
	"RESOLVE_NO_MAGICLINKS":               {RESOLVE_NO_MAGICLINKS, unix.RESOLVE_NO_MAGICLINKS},
	"RESOLVE_NO_SYMLINKS":                 {RESOLVE_NO_SYMLINKS, unix.RESOLVE_NO_SYMLINKS},
	"SEEK_SET":                            {SEEK_SET, unix.SEEK_SET},
	"CAP_CHOWN":                           {CAP_CHOWN, unix.CAP_CHOWN},
	"CAP_DAC_OVERRIDE":                    {CAP_DAC_OVERRIDE, unix.CAP_DAC_OVERRIDE},
	"CAP_FOWNER":                          {CAP_FOWNER, unix.CAP_FOWNER},
	"CAP_FSETID":                          {CAP_FSETID, unix.CAP_FSETID},
	"CAP_KILL":                            {CAP_KILL, unix.CAP_KILL},
	"CAP_LAST_CAP":                        {CAP_LAST_CAP, unix.CAP_LAST_CAP},
	"CAP_NET_BIND_SERVICE":                {CAP_NET_BIND_SERVICE, unix.CAP_NET_BIND_SERVICE},
	"CAP_SETGID":                          {CAP_SETGID, unix.CAP_SETGID},
	"CAP_SETUID":                          {CAP_SETUID, unix.CAP_SETUID},
	"LINUX_CAPABILITY_VERSION_3":          {LINUX_CAPABILITY_VERSION_3, unix.LINUX_CAPABILITY_VERSION_3},
	"POLLIN":                              {POLLIN, unix.POLLIN},
	"PR_CAP_AMBIENT":                      {PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT},
	"PR_CAP_AMBIENT_CLEAR_ALL":            {PR_CAP_AMBIENT_CLEAR_ALL, unix.PR_CAP_AMBIENT_CLEAR_ALL},
	"PR_SET_CHILD_SUBREAPER":              {PR_SET_CHILD_SUBREAPER, unix.PR_SET_CHILD_SUBREAPER},
	"PR_SET_NO_NEW_PRIVS":                 {PR_SET_NO_NEW_PRIVS, unix.PR_SET_NO_NEW_PRIVS},
	"SIG_SETMASK":                         {SIG_SETMASK, unix.SIG_SETMASK},
	"AUDIT_ARCH_AARCH64":                  {AUDIT_ARCH_AARCH64, unix.AUDIT_ARCH_AARCH64},
	"AUDIT_ARCH_X86_64":                   {AUDIT_ARCH_X86_64, unix.AUDIT_ARCH_X86_64},
	"IPPROTO_MPTCP":                       {IPPROTO_MPTCP, unix.IPPROTO_MPTCP},
	"SECCOMP_RET_ALLOW":                   {SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ALLOW},
	"SECCOMP_RET_ERRNO":                   {SECCOMP_RET_ERRNO, unix.SECCOMP_RET_ERRNO},
	"SECCOMP_SET_MODE_FILTER":             {SECCOMP_SET_MODE_FILTER, unix.SECCOMP_SET_MODE_FILTER},
	"LANDLOCK_ACCESS_FS_MAKE_BLOCK":       {LANDLOCK_ACCESS_FS_MAKE_BLOCK, unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK},
	"LANDLOCK_ACCESS_FS_MAKE_CHAR":        {LANDLOCK_ACCESS_FS_MAKE_CHAR, unix.LANDLOCK_ACCESS_FS_MAKE_CHAR},
	"LANDLOCK_ACCESS_FS_MAKE_DIR":         {LANDLOCK_ACCESS_FS_MAKE_DIR, unix.LANDLOCK_ACCESS_FS_MAKE_DIR},
	"LANDLOCK_ACCESS_FS_MAKE_FIFO":        {LANDLOCK_ACCESS_FS_MAKE_FIFO, unix.LANDLOCK_ACCESS_FS_MAKE_FIFO},
	"LANDLOCK_ACCESS_FS_MAKE_REG":         {LANDLOCK_ACCESS_FS_MAKE_REG, unix.LANDLOCK_ACCESS_FS_MAKE_REG},
	"LANDLOCK_ACCESS_FS_MAKE_SOCK":        {LANDLOCK_ACCESS_FS_MAKE_SOCK, unix.LANDLOCK_ACCESS_FS_MAKE_SOCK},
	"LANDLOCK_ACCESS_FS_MAKE_SYM":         {LANDLOCK_ACCESS_FS_MAKE_SYM, unix.LANDLOCK_ACCESS_FS_MAKE_SYM},
	"LANDLOCK_ACCESS_FS_REFER":            {LANDLOCK_ACCESS_FS_REFER, unix.LANDLOCK_ACCESS_FS_REFER},
	"LANDLOCK_ACCESS_FS_REMOVE_DIR":       {LANDLOCK_ACCESS_FS_REMOVE_DIR, unix.LANDLOCK_ACCESS_FS_REMOVE_DIR},
	"LANDLOCK_ACCESS_FS_REMOVE_FILE":      {LANDLOCK_ACCESS_FS_REMOVE_FILE, unix.LANDLOCK_ACCESS_FS_REMOVE_FILE},
	"LANDLOCK_ACCESS_FS_TRUNCATE":         {LANDLOCK_ACCESS_FS_TRUNCATE, unix.LANDLOCK_ACCESS_FS_TRUNCATE},
	"LANDLOCK_ACCESS_FS_WRITE_FILE":       {LANDLOCK_ACCESS_FS_WRITE_FILE, unix.LANDLOCK_ACCESS_FS_WRITE_FILE},
	"LANDLOCK_CREATE_RULESET_VERSION":     {LANDLOCK_CREATE_RULESET_VERSION, unix.LANDLOCK_CREATE_RULESET_VERSION},
	"LANDLOCK_RULE_PATH_BENEATH":          {LANDLOCK_RULE_PATH_BENEATH, unix.LANDLOCK_RULE_PATH_BENEATH},
	"LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET": {LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET},
	"LANDLOCK_SCOPE_SIGNAL":               {LANDLOCK_SCOPE_SIGNAL, unix.LANDLOCK_SCOPE_SIGNAL},
	"SYS_CLONE3":                          {SYS_CLONE3, unix.SYS_CLONE3},
	"SYS_CLOSE_RANGE":                     {SYS_CLOSE_RANGE, unix.SYS_CLOSE_RANGE},
	"SYS_FILE_SETATTR":                    {SYS_FILE_SETATTR, unix.SYS_FILE_SETATTR},
	"SYS_FSCONFIG":                        {SYS_FSCONFIG, unix.SYS_FSCONFIG},
	"SYS_FSMOUNT":                         {SYS_FSMOUNT, unix.SYS_FSMOUNT},
	"SYS_FSOPEN":                          {SYS_FSOPEN, unix.SYS_FSOPEN},
	"SYS_FSPICK":                          {SYS_FSPICK, unix.SYS_FSPICK},
	"SYS_IO_URING_ENTER":                  {SYS_IO_URING_ENTER, unix.SYS_IO_URING_ENTER},
	"SYS_IO_URING_REGISTER":               {SYS_IO_URING_REGISTER, unix.SYS_IO_URING_REGISTER},
	"SYS_IO_URING_SETUP":                  {SYS_IO_URING_SETUP, unix.SYS_IO_URING_SETUP},
	"SYS_LANDLOCK_ADD_RULE":               {SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_ADD_RULE},
	"SYS_LANDLOCK_CREATE_RULESET":         {SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_CREATE_RULESET},
	"SYS_LANDLOCK_RESTRICT_SELF":          {SYS_LANDLOCK_RESTRICT_SELF, unix.SYS_LANDLOCK_RESTRICT_SELF},
	"SYS_MOUNT_SETATTR":                   {SYS_MOUNT_SETATTR, unix.SYS_MOUNT_SETATTR},
	"SYS_MOVE_MOUNT":                      {SYS_MOVE_MOUNT, unix.SYS_MOVE_MOUNT},
	"SYS_OPENAT2":                         {SYS_OPENAT2, unix.SYS_OPENAT2},
	"SYS_OPEN_TREE":                       {SYS_OPEN_TREE, unix.SYS_OPEN_TREE},
	"SYS_OPEN_TREE_ATTR":                  {SYS_OPEN_TREE_ATTR, unix.SYS_OPEN_TREE_ATTR},
	"SYS_PIDFD_GETFD":                     {SYS_PIDFD_GETFD, unix.SYS_PIDFD_GETFD},
	"SYS_PROCESS_MADVISE":                 {SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MADVISE},
	"SYS_QUOTACTL_FD":                     {SYS_QUOTACTL_FD, unix.SYS_QUOTACTL_FD},
	"SYS_MEMFD_CREATE":                    {SYS_MEMFD_CREATE, unix.SYS_MEMFD_CREATE},
	"SYS_BPF":                             {SYS_BPF, unix.SYS_BPF},
	"SYS_CLOCK_ADJTIME":                   {SYS_CLOCK_ADJTIME, unix.SYS_CLOCK_ADJTIME},
	"SYS_FINIT_MODULE":                    {SYS_FINIT_MODULE, unix.SYS_FINIT_MODULE},
	"SYS_KCMP":                            {SYS_KCMP, unix.SYS_KCMP},
	"SYS_KEXEC_FILE_LOAD":                 {SYS_KEXEC_FILE_LOAD, unix.SYS_KEXEC_FILE_LOAD},
	"SYS_OPEN_BY_HANDLE_AT":               {SYS_OPEN_BY_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT},
	"SYS_PROCESS_VM_READV":                {SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_READV},
	"SYS_PROCESS_VM_WRITEV":               {SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_VM_WRITEV},
	"SYS_SECCOMP":                         {SYS_SECCOMP, unix.SYS_SECCOMP},
	"SYS_SETNS":                           {SYS_SETNS, unix.SYS_SETNS},
	"SYS_USERFAULTFD":                     {SYS_USERFAULTFD, unix.SYS_USERFAULTFD},
}
