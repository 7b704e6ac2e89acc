//go:build !unix

package ptyterm

import (
	"context"
	"errors"
	"time"

	"github.com/sevengate/sevengate/internal/engine/shellrun"
)

// Supported tells whether terminals can be started on this system.
const Supported = false

// Terminal does not exist on this system.
type Terminal struct{}

var errUnsupported = errors.New("terminals are not supported on this system")

// Start always fails on this system.
func Start(context.Context, *shellrun.Runner, Options) (*Terminal, error) { return nil, errUnsupported }

// Type fails.
func (*Terminal) Type(string) error { return errUnsupported }

// Press fails.
func (*Terminal) Press([]string) error { return errUnsupported }

// Resize fails.
func (*Terminal) Resize(int, int) error { return errUnsupported }

// Look shows nothing.
func (*Terminal) Look(int) Picture { return Picture{Ended: true} }

// Wait does not wait.
func (*Terminal) Wait(context.Context, string, time.Duration) bool { return false }

// Process returns nil.
func (*Terminal) Process() *shellrun.Process { return nil }

// Close does nothing.
func (*Terminal) Close(context.Context) error { return nil }
