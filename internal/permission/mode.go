package permission

import (
	"fmt"
	"strings"
)

// Mode says what happens to calls that no rule speaks of.
type Mode string

// The modes. The empty Mode is ModeDefault.
const (
	ModeDefault     Mode = "default"           // asks; "manual" is another name
	ModeAcceptEdits Mode = "acceptEdits"       // file work inside the working directories goes through
	ModePlan        Mode = "plan"              // only what reads
	ModeAuto        Mode = "auto"              // a classifier answers instead of a person
	ModeDontAsk     Mode = "dontAsk"           // every question is a refusal
	ModeBypass      Mode = "bypassPermissions" // everything but rules that say otherwise, and safety checks
)

// Modes lists the modes as they are written.
func Modes() []Mode {
	return []Mode{ModeDefault, ModeAcceptEdits, ModePlan, ModeAuto, ModeDontAsk, ModeBypass}
}

// ParseMode reads a mode as it is written in settings and on the command line;
// "manual" and "" are the default mode.
func ParseMode(s string) (Mode, error) {
	if s == "" || s == "manual" {
		return ModeDefault, nil
	}
	names := make([]string, 0, len(Modes()))
	for _, m := range Modes() {
		if string(m) == s {
			return m, nil
		}
		names = append(names, string(m))
	}
	return ModeDefault, fmt.Errorf("permission mode %q is unknown; known are %s", s, strings.Join(names, ", "))
}
