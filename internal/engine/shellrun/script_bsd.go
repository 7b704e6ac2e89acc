//go:build unix && !linux

package shellrun

import "os"

// scriptFile returns an open file with the command's text.
func scriptFile(dir, command string) (*os.File, error) { return unlinkedScript(dir, command) }
