//go:build !unix

package file

import "testing"

func specialFiles(t *testing.T, b *bench) {
	if _, _, err := b.run("Read", args{"file_path": "NUL"}); err == nil {
		t.Error("a device was read")
	}
}
