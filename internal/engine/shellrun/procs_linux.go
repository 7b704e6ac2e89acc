package shellrun

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxEnviron bounds how much of a foreign process's environment is looked at.
const maxEnviron = 1 << 20

// procInfo is a process as /proc/PID/stat tells it.
type procInfo struct {
	pid, ppid, pgid, sid int
	state                byte
	start                uint64 // clock ticks since boot: with pid, unmistakable
}

func (p procInfo) dead() bool { return p.state == 'Z' || p.state == 'X' }

// signal sends to exactly this process, never to a successor with the same number.
func (p procInfo) signal(sig unix.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
			if now, ok := readProc(p.pid); ok && now.start == p.start {
				_ = unix.Kill(p.pid, sig)
			}
		}
		return
	}
	defer unix.Close(fd)
	if now, ok := readProc(p.pid); ok && now.start == p.start {
		if err := unix.PidfdSendSignal(fd, sig, nil, 0); errors.Is(err, unix.ENOSYS) {
			_ = unix.Kill(p.pid, sig)
		}
	}
}

func readProc(pid int) (procInfo, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procInfo{}, false
	}
	return parseStat(pid, b)
}

func parseStat(pid int, b []byte) (procInfo, bool) {
	// The name in parentheses may hold anything, so count from its end.
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return procInfo{}, false
	}
	f := strings.Fields(string(b[i+1:]))
	if len(f) < 20 || len(f[0]) != 1 {
		return procInfo{}, false
	}
	p := procInfo{pid: pid, state: f[0][0]}
	p.ppid, _ = strconv.Atoi(f[1])
	p.pgid, _ = strconv.Atoi(f[2])
	p.sid, _ = strconv.Atoi(f[3])
	p.start, _ = strconv.ParseUint(f[19], 10, 64)
	return p, true
}

// findProcs returns the living processes that carry a marker or are claimed by owns, and all their descendants, except
// this process and init.
func findProcs(marked func(string) bool, owns func(procInfo) bool) []procInfo {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := dir.Readdirnames(-1)
	dir.Close()
	self := os.Getpid()
	var all []procInfo
	mine := map[int]bool{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == self || pid == 1 {
			continue
		}
		p, ok := readProc(pid)
		if !ok || p.pid == self {
			continue
		}
		all = append(all, p)
		if !p.dead() && (owns(p) || carries(pid, marked)) {
			mine[pid] = true
		}
	}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if !mine[p.pid] && mine[p.ppid] {
				mine[p.pid], grown = true, true
			}
		}
	}
	out := all[:0]
	for _, p := range all {
		if mine[p.pid] && !p.dead() {
			out = append(out, p)
		}
	}
	return out
}

// carries reports whether one of the process's markers is marked.
func carries(pid int, marked func(string) bool) bool {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	defer f.Close()
	env, err := io.ReadAll(io.LimitReader(f, maxEnviron))
	if err != nil {
		return false
	}
	key := []byte(markerVar + "=")
	for len(env) > 0 {
		kv, rest, _ := bytes.Cut(env, []byte{0})
		if v, ok := bytes.CutPrefix(kv, key); ok {
			for m := range strings.SplitSeq(string(v), ":") {
				if marked(m) {
					return true
				}
			}
		}
		env = rest
	}
	return false
}

// clockTicks is the present time in the unit of procInfo.start. The kernel counts 100 ticks a second for user space on
// every architecture that Go supports on Linux.
func clockTicks() uint64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return 0
	}
	return uint64(ts.Sec)*100 + uint64(ts.Nsec)/10_000_000 + 1
}

func pidList(ps []procInfo) string {
	var b strings.Builder
	for i, p := range ps {
		if i == 20 {
			b.WriteString(" …")
			break
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.Itoa(p.pid))
	}
	return b.String()
}
