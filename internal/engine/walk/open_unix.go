//go:build unix

package walk

import (
	"os"
	"syscall"
)

// openNoBlock opens a file for reading without waiting for a writer if the name became a pipe meanwhile.
func openNoBlock(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
