//go:build !unix

package settings

import (
	"errors"
	"fmt"
	"os"
	"time"
)

func managedDirs() []string {
	return []string{`C:\Program Files\ClaudeCode`, `C:\Program Files\Sevengate`}
}

func sameOwner(...string) bool { return true }

const (
	lockTries = 100
	lockPause = 20 * time.Millisecond
)

// lockFile creates a file that only one process can create; it gives up after two seconds.
func lockFile(path string) (unlock func(), err error) {
	for range lockTries {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if err == nil {
			return func() { f.Close(); os.Remove(path) }, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("lock: %w", err)
		}
		time.Sleep(lockPause)
	}
	return nil, fmt.Errorf("lock %s: another process holds it; remove it if none runs", path)
}
