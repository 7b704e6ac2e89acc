package file

import (
	"crypto/sha256"
	"fmt"
	"os"

	"github.com/sevengate/sevengate/internal/engine/atomicfile"
	"github.com/sevengate/sevengate/tool"
)

// same tells whether two views are of the same content. Files too large to be
// identified by their content are told by size and time.
func same(a, b tool.FileView) bool {
	var none [sha256.Size]byte
	if a.Hash == none || b.Hash == none {
		return a.Hash == b.Hash && a.Size == b.Size && a.ModTime.Equal(b.ModTime)
	}
	return a.Hash == b.Hash && a.Size == b.Size
}

// truncated tells whether a view shows only as much as fitted of a whole file; the
// reader did not choose what it saw.
func truncated(v tool.FileView) bool { return v.Partial && v.Offset == 0 && v.Limit == 0 }

// strength orders views by what they entitle to.
func strength(v tool.FileView) int {
	switch {
	case truncated(v):
		return 0
	case v.Partial:
		return 1
	}
	return 2
}

// saw records a view, unless more is known of the same content already.
func saw(env *tool.Env, real string, v tool.FileView) {
	if old, ok := env.Files.Get(real); ok && same(old, v) && strength(old) > strength(v) {
		return
	}
	env.Files.Put(real, v)
}

// standing is how the present content of a file stands to what was read of it.
type standing struct {
	view    tool.FileView
	changed bool
}

// mustHaveRead finds what was read of an existing file. verb is what is to be done
// with it: edited, overwritten.
func mustHaveRead(env *tool.Env, t target, old []byte, verb string) (standing, error) {
	view, ok := env.Files.Get(t.real)
	if !ok {
		return standing{}, fmt.Errorf("%s has not been read in this conversation; read it first, so that nothing unseen is %s", t.given, verb)
	}
	now := tool.FileView{Size: int64(len(old))}
	if view.Hash == ([sha256.Size]byte{}) {
		if info, err := os.Lstat(t.real); err == nil {
			now.ModTime = info.ModTime()
		}
	} else {
		now.Hash = sha256.Sum256(old)
	}
	return standing{view: view, changed: !same(view, now)}, nil
}

// wrote records the conversation's own change. before is what was known of the file.
func wrote(env *tool.Env, out atomicfile.Outcome, before tool.FileView) {
	fp := out.Fingerprint
	before.Hash, before.Size, before.ModTime, before.Written = fp.SHA256, fp.Size, fp.ModTime, true
	env.Files.Put(out.Path, before)
}

// changeNotes is what there is to say of a change beside that it was made.
func changeNotes(out atomicfile.Outcome) []string {
	notes := append([]string(nil), out.Warnings...)
	for _, b := range out.Backups {
		notes = append(notes, fmt.Sprintf("%s holds content of the file from a write that was cut off earlier; it is kept until somebody removes it", b))
	}
	return notes
}
