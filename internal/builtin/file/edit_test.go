package file

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sevengate/sevengate/tool"
	"pgregory.net/rapid"
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
	b.ok("Edit", args{"file_path": "sub/new.txt", "old_string": "x", "new_string": "y"})
	b.put("old.txt", "keep\n")
	b.fails("Write", args{"file_path": "old.txt", "content": "x"}, "has not been read")
	if b.get("old.txt") != "keep\n" {
		t.Error("the file was changed")
	}
	b.fails("Write", args{"file_path": b.dir, "content": "x"}, "is a directory")
	b.fails("Write", args{"file_path": "", "content": "x"}, "file_path is empty")
	b.put("empty", "")
	b.ok("Write", args{"file_path": "empty", "content": "x"})
	b.put("pic.bin", "\x00\x01\x02")
	b.fails("Write", args{"file_path": "pic.bin", "content": "x"}, "has not been read")
}

func TestEditRefusals(t *testing.T) {
	b := newBench(t, Deps{})
	b.put("a.txt", "x = 1\nx = 2\n\tindented\n")
	b.fails("Edit", args{"file_path": "a.txt", "old_string": "x", "new_string": "x"}, "nothing to change")
	b.fails("Edit", args{"file_path": "none.txt", "old_string": "x", "new_string": "y"}, "does not exist")
	b.ok("Read", args{"file_path": "a.txt"})
	b.fails("Edit", args{"file_path": "a.txt", "old_string": "x =", "new_string": "y"}, "2 times", "lines 1, 2")
	b.fails("Edit", args{"file_path": "a.txt", "old_string": "    indented", "new_string": "y"}, "not found", "line 3", "blanks")
	b.fails("Edit", args{"file_path": "a.txt", "old_string": "", "new_string": "y"}, "exists and is not empty")
	has(t, b.ok("Edit", args{"file_path": "a.txt", "old_string": "x =", "new_string": "y =", "replace_all": true}), "2 places")
	has(t, b.ok("Edit", args{"file_path": "new.txt", "old_string": "", "new_string": "made\n"}), "created")
	b.ok("Edit", args{"file_path": "new.txt", "old_string": "made", "new_string": "changed"})
	b.put("empty.txt", "")
	b.ok("Edit", args{"file_path": "empty.txt", "old_string": "", "new_string": "filled\n"})
	if got := b.get("a.txt") + b.get("new.txt") + b.get("empty.txt"); got != "y = 1\ny = 2\n\tindented\nchanged\nfilled\n" {
		t.Errorf("contents %q", got)
	}
	// Nothing past the limit is even loaded.
	p := b.put("huge.txt", "")
	if err := os.Truncate(p, MaxEditBytes+1); err != nil {
		t.Skip("no sparse files: ", err)
	}
	b.fails("Edit", args{"file_path": "huge.txt", "old_string": "a", "new_string": "b"}, "files of up to 256.0 MB")
}

func TestEditOutput(t *testing.T) {
	b := newBench(t, Deps{})
	p := b.put("a.txt", "1\n2 < 3\n")
	b.ok("Read", args{"file_path": p})
	_, data, err := b.run("Edit", args{"file_path": p, "old_string": "2", "new_string": "two"})
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(data)
	want := fmt.Sprintf(`{"filePath":%q,"oldString":"2","newString":"two","originalFile":"1\n2 \u003c 3\n","structuredPatch":[{"oldStart":1,"oldLines":2,"newStart":1,"newLines":2,"lines":[" 1","-2 \u003c 3","+two \u003c 3"]}],"userModified":false,"replaceAll":false}`, p)
	if string(raw) != want {
		t.Errorf("got  %s\nwant %s", raw, want)
	}
	_, data, err = b.run("Write", args{"file_path": "n.txt", "content": "x"})
	if err != nil {
		t.Fatal(err)
	}
	raw, _ = json.Marshal(data)
	want = fmt.Sprintf(`{"type":"create","filePath":%q,"content":"x","structuredPatch":[],"originalFile":null}`, b.path("n.txt"))
	if string(raw) != want {
		t.Errorf("got  %s\nwant %s", raw, want)
	}
}

// The faults of section C that concern bytes: each is an edit, and what the file
// must hold afterwards, byte for byte.
func TestEditKeepsBytes(t *testing.T) {
	for _, c := range []struct{ name, file, old, new, want string }{
		{"C1 CRLF matched as LF", "a\r\nb\r\nc", "a\nb", "A\nB", "A\r\nB\r\nc"},
		{"C1 CRLF given as CRLF", "a\r\nb\r\nc", "a\r\nb", "A\r\nB", "A\r\nB\r\nc"},
		{"C2 mixed endings stay", "a\r\nb\nc\r\nd\n", "b", "B", "a\r\nB\nc\r\nd\n"},
		{"C2 no CR CR LF", "a\r\nb\r\n", "a\r\n", "x\r\ny\r\n", "x\r\ny\r\nb\r\n"},
		{"C5 dollars", "line\n", "line", "'^x+$' $$ $& ${1} $` $' \\1", "'^x+$' $$ $& ${1} $` $' \\1\n"},
		{"C7 trailing blanks", "one\ntwo\n", "two", "line two  ", "one\nline two  \n"},
		{"BOM stays", "\xef\xbb\xbfa\n", "a", "b", "\xef\xbb\xbfb\n"},
		{"no final newline is added", "a", "a", "b", "b"},
		{"curly quotes", "say “hi”\n", "“hi”", "“ho”", "say “ho”\n"},
		{"escapes are letters", `\u0041` + "\n", `\u0041`, `\u0042`, `\u0042` + "\n"},
		{"legacy encoding", "na\xefve caf\xe9 d\xe9j\xe0 vu\nx\n", "x", "é", "na\xefve caf\xe9 d\xe9j\xe0 vu\n\xe9\n"},
		{"UTF-16", "\xff\xfea\x00\r\x00\n\x00b\x00", "b", "ü\nc", "\xff\xfea\x00\r\x00\n\x00\xfc\x00\r\x00\n\x00c\x00"},
		{"lone CR", "a\rb\rc", "b\n", "B\n", "a\rB\rc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, Deps{})
			b.put("f.txt", c.file)
			b.ok("Read", args{"file_path": "f.txt"})
			b.ok("Edit", args{"file_path": "f.txt", "old_string": c.old, "new_string": c.new})
			if got := b.get("f.txt"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// C4: what cannot be decoded is never written back.
func TestUndecodableIsNotChanged(t *testing.T) {
	b := newBench(t, Deps{})
	content := "ünïcödé äöü ok\n\xff broken\nlast\n"
	b.put("f.txt", content)
	b.ok("Read", args{"file_path": "f.txt"})
	b.fails("Edit", args{"file_path": "f.txt", "old_string": "last", "new_string": "x"}, "0xFF", "line 2")
	b.fails("Write", args{"file_path": "f.txt", "content": "x"}, "0xFF")
	if b.get("f.txt") != content {
		t.Error("the file was changed")
	}
}

func TestWriteKeepsEncodingAndEndings(t *testing.T) {
	b := newBench(t, Deps{})
	b.put("f.txt", "\xef\xbb\xbfa\r\nb\r\n")
	b.ok("Read", args{"file_path": "f.txt"})
	has(t, b.ok("Write", args{"file_path": "f.txt", "content": "x\ny\n"}), "CRLF", "byte order mark")
	if got := b.get("f.txt"); got != "\xef\xbb\xbfx\r\ny\r\n" {
		t.Errorf("content %q", got)
	}
}

// C10: what changed is told by content, and an edit that still fits is made.
func TestChangedOnDisk(t *testing.T) {
	b := newBench(t, Deps{})
	p := b.put("f.txt", "one\ntwo\nthree\n")
	b.ok("Read", args{"file_path": "f.txt"})
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(p, later, later); err != nil {
		t.Fatal(err)
	}
	if text := b.ok("Edit", args{"file_path": "f.txt", "old_string": "one", "new_string": "1"}); strings.Contains(text, "Note") {
		t.Errorf("touching the file counts as a change: %s", text)
	}
	b.put("f.txt", "1\ntwo\nthree\nfour\n") // a formatter
	has(t, b.ok("Edit", args{"file_path": "f.txt", "old_string": "two", "new_string": "2"}), "had changed on disk")
	if got := b.get("f.txt"); got != "1\n2\nthree\nfour\n" {
		t.Errorf("content %q", got)
	}
	b.fails("Write", args{"file_path": "f.txt", "content": "x"}, "has changed on disk", "read it again")
	b.put("f.txt", "three three\n")
	b.fails("Edit", args{"file_path": "f.txt", "old_string": "three", "new_string": "3"}, "has changed on disk", "read it again")
	b.fails("Edit", args{"file_path": "f.txt", "old_string": "three", "new_string": "3", "replace_all": true}, "has changed on disk")
	b.fails("Edit", args{"file_path": "f.txt", "old_string": "two", "new_string": "3"}, "has changed on disk")
	b.ok("Read", args{"file_path": "f.txt"})
	b.ok("Edit", args{"file_path": "f.txt", "old_string": "three", "new_string": "3", "replace_all": true})
	if err := os.Remove(p); err != nil {
		t.Fatal(err)
	}
	b.fails("Edit", args{"file_path": "f.txt", "old_string": "3", "new_string": "4"}, "does not exist")
}

// C19: a part that was read counts, also after the conversation was resumed.
func TestPartialReadSurvivesResume(t *testing.T) {
	b := newBench(t, Deps{})
	b.put("f.txt", "1\n2\n3\n4\n")
	b.ok("Read", args{"file_path": "f.txt", "offset": 2, "limit": 1})
	raw, err := json.Marshal(b.env.Files)
	if err != nil {
		t.Fatal(err)
	}
	b.env.Files = &tool.FileState{}
	b.fails("Edit", args{"file_path": "f.txt", "old_string": "2", "new_string": "two"}, "has not been read")
	if err := json.Unmarshal(raw, b.env.Files); err != nil {
		t.Fatal(err)
	}
	b.fails("Write", args{"file_path": "f.txt", "content": "x"}, "only a part")
	b.ok("Edit", args{"file_path": "f.txt", "old_string": "2", "new_string": "two"})
	b.put("f.txt", "1\ntwo\n3\n4\n5\n")
	b.fails("Edit", args{"file_path": "f.txt", "old_string": "3", "new_string": "three"}, "has changed on disk")
	b.ok("Read", args{"file_path": "f.txt", "offset": 1, "limit": 99}) // all of it, in other words
	b.ok("Write", args{"file_path": "f.txt", "content": "x"})
}

func TestBeforeChange(t *testing.T) {
	var seen []string
	var stop error
	b := newBench(t, Deps{BeforeChange: func(p string) error {
		data, _ := os.ReadFile(p)
		seen = append(seen, string(data))
		return stop
	}})
	b.ok("Write", args{"file_path": "a", "content": "x"})
	b.ok("Edit", args{"file_path": "a", "old_string": "x", "new_string": "y"})
	b.fails("Edit", args{"file_path": "a", "old_string": "nowhere", "new_string": "y"})
	if len(seen) != 2 || seen[0] != "" || seen[1] != "x" {
		t.Errorf("the hook saw %q", seen)
	}
	stop = errors.New("no space for history")
	b.fails("Edit", args{"file_path": "a", "old_string": "y", "new_string": "z"}, "no space for history", "was not changed")
	if b.get("a") != "y" {
		t.Error("the file was changed all the same")
	}
}

// Somebody who takes no lock writes in the last moment: the edit is tried again on
// what is there now.
func TestEditIsTriedAgain(t *testing.T) {
	calls := 0
	b := newBench(t, Deps{BeforeChange: func(p string) error {
		if calls++; calls == 1 {
			return os.WriteFile(p, []byte("mine\nnew line of another\n"), 0o644)
		}
		return nil
	}})
	b.put("f.txt", "mine\ntheirs\n")
	b.ok("Read", args{"file_path": "f.txt"})
	has(t, b.ok("Edit", args{"file_path": "f.txt", "old_string": "mine", "new_string": "MINE"}), "had changed on disk")
	if got := b.get("f.txt"); got != "MINE\nnew line of another\n" || calls != 2 {
		t.Errorf("content %q after %d tries", got, calls)
	}
}

// C20, G5: of parallel edits none is lost.
func TestParallelEdits(t *testing.T) {
	b := newBench(t, Deps{})
	var lines []string
	for i := 1; i <= 24; i++ {
		lines = append(lines, fmt.Sprintf("<line %d>", i))
	}
	b.put("f.txt", strings.Join(lines, "\n"))
	b.ok("Read", args{"file_path": "f.txt"})
	var wg sync.WaitGroup
	for i := range lines {
		wg.Go(func() {
			if _, _, err := b.run("Edit", args{"file_path": "f.txt", "old_string": lines[i], "new_string": fmt.Sprint("done ", i+1)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i, line := range strings.Split(b.get("f.txt"), "\n") {
		if line != fmt.Sprint("done ", i+1) {
			t.Errorf("line %d is %q", i+1, line)
		}
	}
}

// Random edits through the tool are the same string operations.
func TestEditsAreStringOperations(t *testing.T) {
	b := newBench(t, Deps{})
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		name := fmt.Sprintf("f%d.txt", n)
		piece := rapid.StringMatching(`[ab\n$é\t]{0,4}`)
		ending := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "ending")
		want := rapid.StringMatching(`[ab\n$é\t]{1,30}`).Draw(rt, "text")
		b.put(name, strings.ReplaceAll(want, "\n", ending))
		b.ok("Read", args{"file_path": name})
		crlf := strings.Contains(want, "\n") && ending == "\r\n"
		for range rapid.IntRange(1, 4).Draw(rt, "edits") {
			old, new, all := piece.Draw(rt, "old"), piece.Draw(rt, "new"), rapid.Bool().Draw(rt, "all")
			_, _, err := b.run("Edit", args{"file_path": name, "old_string": old, "new_string": new, "replace_all": all})
			count := 0
			for i := range want {
				if strings.HasPrefix(want[i:], old) {
					count++
				}
			}
			fits := old != new && (old == "" && want == "" || old != "" && (count == 1 || all && count > 0))
			if fits != (err == nil) {
				rt.Fatalf("%q: %q to %q (all %v): error %v", want, old, new, all, err)
			}
			if !fits {
				continue
			}
			if want == "" {
				want, crlf = new, false
			} else {
				want = strings.ReplaceAll(want, old, new)
			}
			got := b.get(name)
			if norm := strings.ReplaceAll(got, "\r\n", "\n"); norm != want {
				rt.Fatalf("content %q, want %q", got, want)
			}
			if crlf && strings.Count(got, "\r\n") != strings.Count(want, "\n") {
				rt.Fatalf("endings of %q", got)
			}
			crlf = crlf && strings.Contains(want, "\n")
		}
	})
}

func TestPreviewShowsTheDiff(t *testing.T) {
	b := newBench(t, Deps{})
	b.put("a.txt", "one\ntwo\nthree\n")
	for name, in := range map[string]args{
		"Edit":  {"file_path": "a.txt", "old_string": "two", "new_string": "2"},
		"Write": {"file_path": "a.txt", "content": "one\n2\nthree\n"},
	} {
		raw, _ := json.Marshal(in)
		call, err := b.tools[name].Bind(raw, b.env.Place)
		if err != nil {
			t.Fatal(err)
		}
		r, ok := call.ViewPreview()
		if !ok || r.Format != tool.FormatDiff || r.Summary != "1 line added, 1 line removed" {
			t.Errorf("%s: %+v", name, r)
		}
		has(t, r.Detail, "@@ -1,3 +1,3 @@", " one\n-two\n+2\n three")
	}
	raw, _ := json.Marshal(args{"file_path": "none.txt", "old_string": "a", "new_string": "b"})
	call, _ := b.tools["Edit"].Bind(raw, b.env.Place)
	if r, ok := call.ViewPreview(); !ok || !strings.Contains(r.Detail, "-a") {
		t.Errorf("without the file: %+v", r)
	}
}
