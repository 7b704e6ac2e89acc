//go:build !linux || !(amd64 || arm64)

package inner

import (
	"errors"
	"runtime"
)

// ABI returns the version of Landlock; 0: none.
func ABI() int { return 0 }

// Probe tries to build a plan's walls in a process that does nothing else.
func Probe(*Plan) error {
	return errors.New("not built for " + runtime.GOOS + "/" + runtime.GOARCH)
}
