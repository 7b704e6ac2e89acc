//go:build unix

package client

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

func ignoreTerm() { signal.Ignore(syscall.SIGTERM, syscall.SIGHUP) }

// A process that will not end is ended, and its children with it.
func TestStubbornProcess(t *testing.T) {
	t.Parallel()
	m := start(t, nil, stdio(t, "s", "raw:stubborn"))
	up(t, m)
	if s, why := state(m, "s"); s != Connected {
		t.Fatal(s, why)
	}
	var self, child int
	eventually(t, "the numbers of the processes", func() bool {
		log, _, _ := m.Logs("s")
		_, rest, _ := strings.Cut(log, "pids ")
		n, _ := fmt.Sscan(rest, &self, &child)
		return n == 2
	})
	m.Close()
	for _, pid := range []int{self, child} {
		eventually(t, fmt.Sprint("the end of ", pid), func() bool { return syscall.Kill(pid, 0) != nil || zombie(pid) })
	}
}

// zombie tells whether a process has ended and nobody has waited for it: its
// parent is gone, and the one who inherited it may be slow.
func zombie(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(data), ") ")
	return err == nil && strings.HasPrefix(rest, "Z")
}
