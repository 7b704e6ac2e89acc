package shellrun

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseMemoryLimit(t *testing.T) {
	for value, want := range map[string]int64{
		"": 0, " ": 0, "0": 0, "max": 0, "0G": 0, "2G": 2 << 30, "2g": 2 << 30, "2GB": 2 << 30, "2 GiB": 2 << 30, "512M": 512 << 20, "512mb": 512 << 20,
		"1.5G": 3 << 29, "1T": 1 << 40, "65536K": 64 << 20, "1073741824": 1 << 30, "1073741824B": 1 << 30, " 1G\n": 1 << 30,
	} {
		if got, err := ParseMemoryLimit(value); got != want || err != nil {
			t.Errorf("%q: %d %v, want %d", value, got, err, want)
		}
	}
	for _, value := range []string{"512", "15M", "-1", "-2G", "2X", "G", "2GG", "2iB", "2KiBB", "1e9", "0x40000000", "nan", "inf", "1,5G", "50%", "2 G B x",
		"99999999999999999999", "9999999T", "..", "1_000_000_000", "+1G"} {
		if got, err := ParseMemoryLimit(value); err == nil {
			t.Errorf("%q: %d", value, got)
		} else if !strings.Contains(err.Error(), "is accepted") {
			t.Errorf("%q: %v", value, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(MinMemoryLimit, 1<<50).Draw(t, "n")
		if got, err := ParseMemoryLimit(formatBytes(n)); got != n || err != nil {
			t.Fatalf("%d → %s → %d %v", n, formatBytes(n), got, err)
		}
	})
}

func FuzzParseMemoryLimit(f *testing.F) {
	for _, s := range []string{"2G", "1.5 gib", "max", "50%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := ParseMemoryLimit(s); err == nil && n != 0 && n < MinMemoryLimit || err != nil && n != 0 {
			t.Errorf("%q: %d %v", s, n, err)
		}
	})
}

func TestMemoryLimitRefused(t *testing.T) {
	for _, n := range []int64{-1, 1, MinMemoryLimit - 1} {
		if r, err := New(Options{OutputDir: t.TempDir(), MemoryLimit: n}); err == nil {
			r.Close()
			t.Errorf("%d accepted", n)
		}
	}
}

// TestMemoryLimitUnenforced: without cgroups nothing is pretended, and commands run all the same.
func TestMemoryLimitUnenforced(t *testing.T) {
	if said := newRunner(t, nil).Unenforced(); said != "" {
		t.Errorf("without a limit: %q", said)
	}
	r := newRunner(t, func(o *Options) { o.MemoryLimit, o.NoCgroup = 1<<30, true })
	if said := r.Unenforced(); !strings.Contains(said, "the memory limit of 1G for commands is not enforced: ") {
		t.Errorf("%q", said)
	}
	if res, out := run(t, r, "echo hi", nil); out != "hi\n" || res.OutOfMemory {
		t.Errorf("%+v %q", res, out)
	}
}
