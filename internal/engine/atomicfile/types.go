package atomicfile

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"time"
)

// Errors that callers tell apart with errors.Is. The errors returned by this package
// wrap them with the path and what would be accepted.
var (
	// ErrChanged: the content is not what Options.Expect says. See [ConflictError].
	ErrChanged = errors.New("file changed")
	// ErrMoved: the path does not (or no longer) lead to Options.ResolvedMustBe,
	// or a link stands where none may stand.
	ErrMoved = errors.New("path leads elsewhere")
	// ErrReadOnly: the target exists and may not be written.
	ErrReadOnly = errors.New("file is read-only")
	// ErrNotRegular: the target is a directory, device, pipe or socket.
	ErrNotRegular = errors.New("not a regular file")
	// ErrBusy: another writer held the lock for longer than LockWait.
	ErrBusy = errors.New("file is locked by another writer")
	// ErrTooLarge: the file is larger than the caller's limit.
	ErrTooLarge = errors.New("file is too large")
)

// LockWait is how long a replacement waits for another writer of the same directory.
const LockWait = 15 * time.Second

// Fingerprint identifies the content of a file at one moment. Two fingerprints mean
// the same content when [Fingerprint.SameContent] says so; ModTime is information
// only, since clocks are coarse and formatters touch files without changing them.
type Fingerprint struct {
	Exists  bool
	Size    int64 // bytes
	ModTime time.Time
	SHA256  [sha256.Size]byte
}

// SameContent reports whether both stand for the same bytes, or both for no file.
func (f Fingerprint) SameContent(g Fingerprint) bool {
	if !f.Exists || !g.Exists {
		return f.Exists == g.Exists
	}
	return f.Size == g.Size && f.SHA256 == g.SHA256
}

// FingerprintOf returns the fingerprint of a file that holds data.
func FingerprintOf(data []byte, modTime time.Time) Fingerprint {
	return Fingerprint{Exists: true, Size: int64(len(data)), ModTime: modTime, SHA256: sha256.Sum256(data)}
}

// ConflictError says that the compare of a compare-and-swap failed. It is ErrChanged.
type ConflictError struct {
	Path      string
	Want, Got Fingerprint
}

func (e *ConflictError) Error() string {
	switch {
	case !e.Want.Exists:
		return fmt.Sprintf("%s was to be created, but it exists (%d bytes): read it first, then edit or overwrite it", e.Path, e.Got.Size)
	case !e.Got.Exists:
		return fmt.Sprintf("%s no longer exists: it was there when it was last read", e.Path)
	}
	return fmt.Sprintf("%s changed since it was last read (%d bytes then, %d bytes now): read it again, then retry", e.Path, e.Want.Size, e.Got.Size)
}

// Unwrap makes errors.Is(err, ErrChanged) true.
func (e *ConflictError) Unwrap() error { return ErrChanged }

// Options change how a file is replaced. The zero value replaces whatever regular
// file is there, or creates it together with its parent directories.
type Options struct {
	// Expect, if set, must match the content at the moment of replacing; a
	// Fingerprint with Exists false means that the file must not exist.
	Expect *Fingerprint
	// ResolvedMustBe, if set, is the result of the [Resolve] that the caller's
	// check was made on. If the path leads anywhere else now, nothing is written.
	ResolvedMustBe string
	// NoParents refuses to create missing parent directories.
	NoParents bool

	// fault is called after each step; an error makes that step fail. Tests only.
	fault func(step string) error
}

func (o Options) step(name string) error {
	if o.fault == nil {
		return nil
	}
	return o.fault(name)
}

// Outcome tells what a replacement did.
type Outcome struct {
	// Path is the real target that was written.
	Path string
	// Created is true if there was no such file before.
	Created bool
	// InPlace is true if the file was overwritten and not replaced by a rename.
	InPlace bool
	// Fingerprint is that of the new content.
	Fingerprint Fingerprint
	// Warnings are sentences about what could not be kept, such as the owner.
	Warnings []string
	// Backups are copies that an earlier, killed in-place write left beside the
	// file and that hold content found nowhere else. They are never removed here.
	Backups []string
}
