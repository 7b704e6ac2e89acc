//go:build !darwin && (!linux || !(amd64 || arm64))

package sandbox

import (
	"context"
	"errors"
	"runtime"
)

type engine struct{}

func (e *engine) proxyOnTCP() bool { return true }

func (e *engine) choose(_ Policy, r Report) []Status { return r.Parts }

func (e *engine) words(*Sandbox, view) []string { return nil }

// try fails even if all parts are accepted to be lost: there would be no sandbox at all.
func (s *Sandbox) try(context.Context) error {
	return errors.New("there is none for " + runtime.GOOS + "/" + runtime.GOARCH)
}

func probe() Report {
	return Report{Parts: []Status{{Part: PartMount, Reason: "there is no sandbox for " + runtime.GOOS + "/" + runtime.GOARCH}}}
}
