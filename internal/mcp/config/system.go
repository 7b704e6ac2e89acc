package config

import "runtime"

// SystemDirs are the folders of this system that an administrator's
// managed-mcp.json may stand in, ours first. They do not depend on variables,
// which anybody can set.
func SystemDirs() []string {
	switch runtime.GOOS {
	case "darwin":
		return []string{"/Library/Application Support/Sevengate", "/Library/Application Support/ClaudeCode"}
	case "windows":
		return []string{`C:\Program Files\Sevengate`, `C:\Program Files\ClaudeCode`}
	}
	return []string{"/etc/sevengate", "/etc/claude-code"}
}
