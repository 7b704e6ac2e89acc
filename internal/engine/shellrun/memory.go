package shellrun

import (
	"fmt"
	"strconv"
	"strings"
)

// EnvMemoryLimit is the environment variable that hosts take Options.MemoryLimit from, by ParseMemoryLimit.
const EnvMemoryLimit = "CLAUDE_CODE_TOOL_MEMORY_LIMIT"

// MinMemoryLimit is the smallest memory limit accepted, in bytes: with less not even a shell can be counted on.
const MinMemoryLimit int64 = 16 << 20

// memoryUnits are powers of 1024.
const memoryUnits = "KMGT"

// ParseMemoryLimit reads a memory limit: a number of bytes, or a number with the unit K, M, G or T (powers of 1024, also
// written KB or KiB, in either case). Empty, "0" and "max" are no limit, for which it returns 0.
func ParseMemoryLimit(value string) (int64, error) {
	s := strings.ToUpper(strings.TrimSpace(value))
	if s == "" || s == "MAX" {
		return 0, nil
	}
	refused := fmt.Errorf("memory limit %.40q refused: a number of bytes or one with K, M, G or T is accepted, at least %dM, for example 2G",
		value, MinMemoryLimit>>20)
	digits := strings.TrimRight(s, "BI"+memoryUnits+" ")
	unit := strings.TrimSpace(s[len(digits):])
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || strings.Trim(digits, "0123456789.") != "" {
		return 0, refused
	}
	if unit != "" && unit != "B" {
		i := strings.IndexByte(memoryUnits, unit[0])
		if rest := unit[1:]; i < 0 || rest != "" && rest != "B" && rest != "IB" {
			return 0, refused
		}
		for range i + 1 {
			n *= 1024
		}
	}
	switch {
	case n == 0:
		return 0, nil
	case n < float64(MinMemoryLimit) || n >= 1<<62:
		return 0, refused
	}
	return int64(n), nil
}

// Unenforced says, in a sentence for a person, which of the Options' limits the system does not let the Runner enforce, and
// why; empty: all are. The answer can change with the first command. Who runs commands should say it once.
func (r *Runner) Unenforced() string {
	if r.opts.MemoryLimit <= 0 {
		return ""
	}
	why := r.root.unlimited
	if why == "" && r.cgroupRefused.Load() {
		why = "the kernel does not let processes be started in a cgroup here"
	}
	if why == "" {
		return ""
	}
	return fmt.Sprintf("the memory limit of %s for commands is not enforced: %s", formatBytes(r.opts.MemoryLimit), why)
}

// formatBytes writes a size in the largest unit that leaves a whole number.
func formatBytes(n int64) string {
	unit := ""
	for _, u := range memoryUnits {
		if n%1024 != 0 {
			break
		}
		n, unit = n/1024, string(u)
	}
	return strconv.FormatInt(n, 10) + unit
}
