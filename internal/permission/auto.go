package permission

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sevengate/sevengate/tool"
)

// Limits of auto mode.
const (
	// ClassifierTimeout is how long a classifier may think; then a person is asked.
	ClassifierTimeout = 30 * time.Second
	// MaxRefusalsInRow and MaxRefusals are after how many refusals of the
	// classifier, in a row and in all, an agent's calls are asked instead.
	MaxRefusalsInRow = 3
	MaxRefusals      = 20
	// maxRefusalAgents bounds the agents that are counted.
	maxRefusalAgents = 10_000
)

// Classifier answers in a person's place in auto mode. It must be safe for
// concurrent use and return soon after ctx is done.
type Classifier interface {
	// Classify judges one call. A verdict without behavior, like an error, means
	// that a person is asked.
	Classify(ctx context.Context, in ClassifierInput) (tool.Verdict, error)
}

// ClassifierInput is all that a classifier gets to see.
type ClassifierInput struct {
	Tool string
	// Input is what the tool declares that a classifier may see.
	Input string
	// Parts are what nothing allows yet, in words.
	Parts []string
	Cwd   string
	Roots []string
	// Interactive: a person can be asked instead.
	Interactive bool
}

// refusals counts what the classifier refused, for each agent. The zero value is
// ready.
type refusals struct {
	mu     sync.Mutex
	agents map[string]*refusalCount
}

type refusalCount struct{ row, all int }

func (r *refusals) full(agent string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.agents[agent]
	return c != nil && (c.row >= MaxRefusalsInRow || c.all >= MaxRefusals)
}

func (r *refusals) note(agent string, refused bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.agents[agent]
	if c == nil {
		if !refused {
			return
		}
		if r.agents == nil || len(r.agents) >= maxRefusalAgents {
			r.agents = map[string]*refusalCount{}
		}
		c = &refusalCount{}
		r.agents[agent] = c
	}
	if !refused {
		c.row = 0
		return
	}
	c.row++
	c.all++
}

// ResumeAuto lets the classifier answer again for an agent whose calls are
// asked after too many refusals, as when a person answered. The main
// conversation is the agent "".
func (p *Policy) ResumeAuto(agent string) {
	p.auto.mu.Lock()
	defer p.auto.mu.Unlock()
	delete(p.auto.agents, agent)
}

// classify asks the classifier about what nothing allows.
func (d *decider) classify(ctx context.Context) (tool.Verdict, bool) {
	agent := ""
	if d.req.Env != nil {
		agent = d.req.Env.AgentID
	}
	input := d.call.ClassifierInput()
	skip := ""
	switch {
	case d.p.cfg.Classifier == nil:
		skip = "there is no classifier, so a person is asked"
	case d.e.flags.broken != "":
		skip = "a settings file is broken, so a person is asked"
	case input == "":
		skip = d.call.Name() + " shows nothing to a classifier, so a person is asked"
	case d.p.auto.full(agent):
		skip = "the classifier refused too often, so a person is asked"
	}
	if skip != "" {
		d.step(tool.LayerMode, "", skip)
		return tool.Verdict{}, false
	}
	in := ClassifierInput{Tool: d.call.Name(), Input: input, Cwd: d.at.Cwd, Roots: d.at.Roots, Interactive: d.req.Interactive}
	for i := range d.parts {
		if d.parts[i].Behavior != tool.Allow {
			in.Parts = append(in.Parts, d.parts[i].what())
		}
	}
	ctx, cancel := context.WithTimeout(ctx, ClassifierTimeout)
	defer cancel()
	v, err := safely(ctx, d.p.cfg.Classifier, in)
	if err != nil || ctx.Err() != nil || v.Behavior != tool.Allow && v.Behavior != tool.Deny {
		d.step(tool.LayerMode, "", "the classifier gave no answer, so a person is asked")
		return tool.Verdict{}, false
	}
	why := orElse(v.Reason.Message, "no reason given")
	d.p.auto.note(agent, v.Behavior == tool.Deny)
	d.step(tool.LayerMode, v.Behavior, "the classifier: "+why)
	reason := tool.Reason{Phase: phasePermit, Layer: tool.LayerMode, Message: "the classifier of auto mode allows it: " + why}
	if v.Behavior == tool.Deny {
		reason.Message = fmt.Sprintf("Refused: the classifier of auto mode does not allow this: %s. Do it in another way, or ask the user.", why)
		return d.deny(reason), true
	}
	for i := range d.parts {
		if p := &d.parts[i]; p.Behavior != tool.Allow {
			p.Behavior, p.Reason = tool.Allow, reason
		}
	}
	return tool.Verdict{Behavior: tool.Allow, Reason: reason, UpdatedInput: d.own.UpdatedInput}, true
}

// safely turns a panic of a classifier into no answer.
func safely(ctx context.Context, c Classifier, in ClassifierInput) (v tool.Verdict, err error) {
	defer func() {
		if r := recover(); r != nil {
			v, err = tool.Verdict{}, fmt.Errorf("the classifier failed")
		}
	}()
	return c.Classify(ctx, in)
}
