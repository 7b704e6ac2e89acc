//go:build unix

package lspclient

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// A server that stops reading is given up instead of filling the memory.
func TestAServerThatDoesNotRead(t *testing.T) {
	s := start(t, "")
	// The server reads, but nothing is read any more once its process is stopped.
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Skip(err)
	}
	big := map[string]any{"x": strings.Repeat("x", 1<<16)}
	for range maxQueued + 10 {
		if err := s.conn.notify("x", big); err != nil {
			break
		}
	}
	select {
	case <-s.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("it was not given up")
	}
	if !strings.Contains(s.Reason().Error(), "does not read") {
		t.Fatal(s.Reason())
	}
}
