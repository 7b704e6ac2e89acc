//go:build !linux

package settings

import "time"

// quiet is never sure here: every call looks at the files.
type quiet struct{}

func (*quiet) still(time.Time) bool    { return false }
func (*quiet) arm([]string, time.Time) {}
func (*quiet) close()                  {}
