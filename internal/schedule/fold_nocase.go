//go:build darwin || windows

package schedule

import "strings"

// foldCase makes spellings equal that the usual file systems here take for
// one name. Two files that differ by case only then wait for each other.
func foldCase(path string) string { return strings.ToLower(path) }
