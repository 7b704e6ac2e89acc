package prefault

import (
	"syscall"
	"unsafe"

	// The processes that a sandbox starts end in there. They need no heap.
	_ "github.com/sevengate/sevengate/internal/engine/sandbox/inner"
)

const (
	// ahead is about what the initialisation of all packages allocates.
	ahead = 4 << 20
	// chunk is what the runtime asks the kernel for at a time, and probe is more
	// than it would put between other objects.
	chunk = 4 << 20
	probe = 8 << 10
	// madvPopulateWrite is MADV_POPULATE_WRITE, of Linux 5.14. Older kernels refuse
	// it.
	madvPopulateWrite = 23
)

// init must come before other packages are initialised, so it cannot be a call:
// with next to no imports, the package is among the first.
func init() {
	at := uintptr(unsafe.Pointer(object())) &^ (probe - 1)
	fetch(at, at+ahead)
}

// fetch gives pages to the memory from at to end, up to the first chunk that is not
// mapped: a range that reaches into one would be refused whole.
func fetch(at, end uintptr) {
	for at < end {
		to := min(at&^(chunk-1)+chunk, end)
		if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, at, to-at, madvPopulateWrite); errno != 0 {
			return
		}
		at = to
	}
}

// object is on the heap, since it leaves the function.
//
//go:noinline
func object() *[probe]byte { return new([probe]byte) }
