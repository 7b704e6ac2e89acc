//go:build unix

package settings

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

func managedDirs() []string {
	if runtime.GOOS == "darwin" {
		return []string{"/Library/Application Support/ClaudeCode", "/Library/Application Support/Sevengate"}
	}
	return []string{"/etc/claude-code", "/etc/sevengate"}
}

// sameOwner reports whether all paths that exist belong to the user that runs.
func sameOwner(paths ...string) bool {
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
				return false
			}
		}
	}
	return true
}

// lockFile waits for the lock at path, so that two processes do not overwrite each other's changes.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	for {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
