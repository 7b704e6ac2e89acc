package file

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestEditNeedsARead(t *testing.T) {
	b := newBench(t, Deps{})
	b.put("a.txt", "one\ntwo\n")
	b.fails("Edit", args{"file_path": "a.txt", "old_string": "one", "new_string": "1"}, "has not been read")
	b.ok("Read", args{"file_path": "a.txt"})
	has(t, b.ok("Edit", args{"file_path": "a.txt", "old_string": "one", "new_string": "1"}), "was changed")
	// Its own change needs no reading again.
	b.ok("Edit", args{"file_path": "a.txt", "old_string": "two", "new_string": "2"})
	b.ok("Write", args{"file_path": "a.txt", "content": "new\n"})
	if got := b.get("a.txt"); got != "new\n" {
		t.Errorf("content is %q", got)
	}
}

func TestWriteCreatesAndRefusesUnread(t *testing.T) {
	b := newBench(t, Deps{})
	has(t, b.ok("Write", args{"file_path": "sub/new.txt", "content": "x\n"}), "created")
	b.put("old.txt", "keep\n")
	b.fails("Write", args{"file_path": "old.txt", "content": "x"}, "has not been read")
	if b.get("old.txt") != "keep\n" {
		t.Error("the file was changed")
	}
	b.fails("Write", args{"file_path": b.dir, "content": "x"}, "is a directory")
	os.WriteFile(b.path("empty"), nil, 0o644)
	b.ok("Write", args{"file_path": "empty", "content": "x"})
}

func TestBeforeChangeStops(t *testing.T) {
	var seen []string
	stop := errors.New("disk full")
	b := newBench(t, Deps{BeforeChange: func(p string) error {
		seen = append(seen, p)
		return stop
	}})
	b.fails("Write", args{"file_path": "a", "content": "x"}, "disk full")
	if _, err := os.Stat(b.path("a")); err == nil {
		t.Error("the file was made all the same")
	}
	if strings.Join(seen, " ") != b.path("a") {
		t.Errorf("hook saw %v", seen)
	}
}
