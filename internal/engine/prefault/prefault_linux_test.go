package prefault

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Of memory that begins in the middle of a chunk, all is there up to the chunk that
// is not mapped.
func TestFetch(t *testing.T) {
	space, err := unix.Mmap(-1, 0, 4*chunk, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(space)
	if err := unix.Madvise(space, unix.MADV_NOHUGEPAGE); err != nil {
		t.Log(err)
	}
	start := uintptr(unsafe.Pointer(&space[0]))
	skip := int(start+chunk-1)&^(chunk-1) - int(start)
	chunks := space[skip : skip+3*chunk]
	if err := unix.Mprotect(chunks[2*chunk:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	if err := unix.Madvise(chunks[:probe], madvPopulateWrite); err != nil {
		t.Skipf("the kernel does not know MADV_POPULATE_WRITE: %v", err)
	}
	from := uintptr(unsafe.Pointer(&chunks[chunk/2]))
	fetch(from, from+2*chunk)
	for name, c := range map[string]struct {
		part []byte
		want bool
	}{
		"before":          {chunks[probe : chunk/2], false},
		"first chunk":     {chunks[chunk/2 : chunk], true},
		"second chunk":    {chunks[chunk : 2*chunk], true},
		"what is not one": {chunks[2*chunk:], false},
	} {
		if got := resident(t, c.part); got != c.want {
			t.Errorf("%s: resident %v", name, got)
		}
	}
}

// resident tells whether all pages are there; some but not all is an error.
func resident(t *testing.T, part []byte) bool {
	t.Helper()
	page := unix.Getpagesize()
	vec := make([]byte, len(part)/page)
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&part[0])), uintptr(len(part)), uintptr(unsafe.Pointer(&vec[0]))); errno != 0 {
		t.Fatal(errno)
	}
	n := 0
	for _, v := range vec {
		n += int(v & 1)
	}
	if n != 0 && n != len(vec) {
		t.Errorf("%d of %d pages are resident", n, len(vec))
	}
	return n == len(vec)
}
