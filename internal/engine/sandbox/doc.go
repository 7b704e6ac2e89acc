// Package sandbox keeps a command's hands off what it has not been given, by
// means of the operating system alone: no helper has to be installed, and
// neither root nor a daemon is needed.
//
// A Policy says what may be written, what must not be read, and which network
// may be reached. Prepare finds out whether the machine can enforce that, tries
// it, and returns a Sandbox; Sandbox.Wrap gives the words that are put before a
// command. What cannot be enforced is an error, unless Policy.Accept says that
// its loss is acceptable; then Sandbox.Lost tells it.
//
// On Linux the program starts itself again with a hidden argument (package
// inner, which acts by being linked in; no function has to be called) and builds, for each
// command anew:
//   - user, mount, PID and IPC namespaces: everything is mounted read-only
//     without devices and set-user-ID, the writable roots are mounted over
//     it, what must not be read is covered, and no process of the machine is in
//     sight. Ancestors of what is protected cannot be renamed or removed.
//   - a network namespace with nothing but its own loopback. With NetworkProxy a
//     port there is served by a proxy in this process, which asks for each host.
//   - Landlock as a second wall: writing, signals, abstract sockets.
//   - a seccomp filter: ptrace, mounts, namespaces, keys, BPF, io_uring, kernel
//     modules, sockets of other families, MPTCP, and system calls newer
//     than the filter. It cannot see paths, so without Policy.UnixSockets no
//     Unix socket can be made at all (pairs of connected ones can).
//   - no_new_privs, and of root's capabilities only those over files and users.
//
// The programs that build the walls cannot be written by a command, whatever Write says. Variables that Unset drops are
// out of reach, not merely out of the command's own environment.
//
// With Policy.Bubblewrap the namespaces and mounts are made by bubblewrap instead, and this program, started by it inside
// them, does the rest: for machines on which bubblewrap may do that and other programs may not. It takes longer;
// symbolic links that appear in granted or denied paths between Wrap and the command's start are followed, not refused; and where root
// needs a user namespace for it, root knows no other users inside.
//
// On macOS a profile for sandbox-exec is made from the same Policy. Elsewhere
// there is no sandbox.
//
// What it does not do: it sets no limits on time, memory or disk; it does not
// stop a command from using up what it may use. A protected path that does not
// exist when a command starts cannot be covered: Sandbox.Appeared tells that it came to
// exist, and the caller must treat it as the command's work. The same file under another name
// (a hard link or a mount made before) is another path. Renaming between a directory above something protected and
// its surroundings is refused as between file systems (mv copies instead).
package sandbox
