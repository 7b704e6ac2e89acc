package gate

import "time"

// Phase names one of the seven phases.
type Phase string

// The seven phases, in order.
const (
	PhaseExtract  Phase = "extract"
	PhaseValidate Phase = "validate"
	PhasePreHook  Phase = "pre-hooks"
	PhasePermit   Phase = "permit"
	PhaseExecute  Phase = "execute"
	PhasePostHook Phase = "post-hooks"
	PhaseMap      Phase = "map"
)

// Phases lists the phases in order.
func Phases() []Phase {
	return []Phase{PhaseExtract, PhaseValidate, PhasePreHook, PhasePermit, PhaseExecute, PhasePostHook, PhaseMap}
}

// Step is what one phase said.
type Step struct {
	Phase   Phase  `json:"phase"`
	Outcome string `json:"outcome"`
	Detail  string `json:"detail,omitempty"`
	Micros  int64  `json:"micros"`
}

// Trace is what every phase said, in order.
type Trace []Step

// add records a step that began at start, and returns the time at its end.
func (t *Trace) add(p Phase, start time.Time, outcome, detail string) {
	*t = append(*t, Step{Phase: p, Outcome: outcome, Detail: detail, Micros: time.Since(start).Microseconds()})
}

// Outcomes of phases, beside those of permission.
const (
	outcomeOK      = "ok"
	outcomeError   = "error"
	outcomeChanged = "changed"
	outcomeNone    = "none"
	outcomeSaved   = "saved"
)
