package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

const seatbelt = "/usr/bin/sandbox-exec"

// engine is how the walls are built on macOS: by a profile.
type engine struct{}

func (e *engine) proxyOnTCP() bool { return true }

func (e *engine) choose(_ Policy, r Report) []Status {
	if r.OK(PartSeatbelt) {
		return nil
	}
	return []Status{r.status(PartSeatbelt)}
}

func (e *engine) words(s *Sandbox, _ view) []string {
	port := 0
	if s.proxy != nil {
		port = s.proxy.port
	}
	words := []string{seatbelt, "-p", seatbeltProfile(s.policy, s.roots, port), "/usr/bin/env"}
	for _, name := range s.policy.Unset {
		words = append(words, "-u", name)
	}
	return append(words, s.environment()...)
}

func (s *Sandbox) try(ctx context.Context) error {
	words := append(s.engine.words(s, makeView(s.policy, s.roots)), "/usr/bin/true")
	if out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %.200s", err, out)
	}
	return nil
}

func probe() Report {
	s := Status{Part: PartSeatbelt, OK: true, Reason: seatbelt}
	if _, err := os.Stat(seatbelt); err != nil {
		s.OK, s.Reason = false, err.Error()
	}
	return Report{Parts: []Status{s}}
}
