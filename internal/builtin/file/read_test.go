package file

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sevengate/sevengate/tool"
	"pgregory.net/rapid"
)

func TestReadNumbersLines(t *testing.T) {
	b := newBench(t, Deps{})
	b.put("a.txt", "one\n  two\n\nfour")
	if got, want := b.ok("Read", args{"file_path": "a.txt"}), "     1\tone\n     2\t  two\n     3\t\n     4\tfour"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := b.ok("Read", args{"file_path": "a.txt", "offset": 2, "limit": 2}), "     2\t  two\n     3\t"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	_, data, _ := b.run("Read", args{"file_path": "a.txt", "offset": 2, "limit": 2})
	raw, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"type":"text","file":{"filePath":%q,"content":"  two\n","numLines":2,"startLine":2,"totalLines":4}}`, b.path("a.txt"))
	if string(raw) != want {
		t.Errorf("output is %s, want %s", raw, want)
	}
	var back ReadOutput
	if err := json.Unmarshal(raw, &back); err != nil || *back.Text != *data.(ReadOutput).Text {
		t.Errorf("output does not survive JSON: %+v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"type":"other","file":{}}`), &back); err == nil {
		t.Error("an unknown type was taken")
	}
}

func TestReadSaysWhatThereIsNot(t *testing.T) {
	b := newBench(t, Deps{})
	b.put("empty.png", "")
	has(t, b.ok("Read", args{"file_path": "empty.png"}), "exists and is empty")
	has(t, b.ok("Read", args{"file_path": "empty.png", "offset": 5}), "exists and is empty")
	b.put("a.txt", "1\n2\n3\n")
	has(t, b.ok("Read", args{"file_path": "a.txt", "offset": 9}), "3 lines", "line 9", "past its end")
	b.fails("Edit", args{"file_path": "a.txt", "old_string": "1", "new_string": "x"}, "has not been read")
	b.fails("Read", args{"file_path": "A.TXT.md"}, "does not exist", b.dir)
	b.fails("Read", args{"file_path": "A.md"}, "does not exist", "Did you mean "+b.path("a.txt"))
	b.fails("Read", args{"file_path": "."}, "is a directory", "Glob")
	b.fails("Read", args{"file_path": "a\x00b"}, "null byte")
	b.fails("Read", args{"file_path": ""}, "file_path is empty")
	b.fails("Read", args{"file_path": "a.txt", "offset": -1}, "offset is -1")
	b.fails("Read", args{"file_path": "a.txt", "limit": -1}, "limit is -1")
	has(t, b.ok("Read", args{"file_path": "a.txt", "pages": "1-2"}), "pages was ignored")
}

func TestReadRefusesBinary(t *testing.T) {
	b := newBench(t, Deps{})
	b.put("x.bin", "abc\x00\x01\x02def")
	b.fails("Read", args{"file_path": "x.bin"}, "binary", "9 bytes")
	b.put("x.zip", "PK\x03\x04 and so on")
	b.fails("Read", args{"file_path": "x.zip"}, "binary", "archive")
	b.put("x.mp4", "\x00\x00\x00\x18ftypisom....")
	b.fails("Read", args{"file_path": "x.mp4"}, "audio or video")
	// Null bytes that come only after what is sampled are found where they are shown.
	big := strings.Repeat("a line of text\n", 1_400_000) + "x\x00y\n"
	b.put("late.txt", big)
	has(t, b.ok("Read", args{"file_path": "late.txt", "limit": 1}), "a line of text")
	b.fails("Read", args{"file_path": "late.txt", "offset": 1_400_001, "limit": 1}, "binary")
}

func TestReadCapsTokens(t *testing.T) {
	b := newBench(t, Deps{MaxReadTokens: 200})
	var all strings.Builder
	for i := 1; i <= 100; i++ {
		fmt.Fprintf(&all, "this is line number %d of it\n", i)
	}
	b.put("long.txt", all.String())
	text, data, err := b.run("Read", args{"file_path": "long.txt"})
	if err != nil {
		t.Fatal(err)
	}
	out := data.(ReadOutput).Text
	if !out.TruncatedByTokenCap || out.NumLines < 5 || out.NumLines > 40 || out.TotalLines != 100 {
		t.Fatalf("shown: %d of %d lines, capped %v", out.NumLines, out.TotalLines, out.TruncatedByTokenCap)
	}
	next := fmt.Sprintf("offset %d and limit %d", out.NumLines+1, out.NumLines)
	has(t, text, "PARTIAL view", next)
	b.fails("Edit", args{"file_path": "long.txt", "old_string": "line number 1 of", "new_string": "x"}, "partial view")
	b.fails("Write", args{"file_path": "long.txt", "content": "x"}, "only a part")

	b.fails("Read", args{"file_path": "long.txt", "offset": 1}, "100 lines", fmt.Sprintf("a limit of %d fits", out.NumLines), "Grep")
	b.fails("Read", args{"file_path": "long.txt", "limit": 90}, "more than 200 tokens")
	// What the notice and the error say does work.
	has(t, b.ok("Read", args{"file_path": "long.txt", "offset": out.NumLines + 1, "limit": out.NumLines}), fmt.Sprintf("\tthis is line number %d of it", out.NumLines+1))
	b.ok("Edit", args{"file_path": "long.txt", "old_string": "line number 1 of", "new_string": "x"})
	b.fails("Write", args{"file_path": "long.txt", "content": "x"}, "only a part")
	// A later look at less of the same content does not take back what was seen.
	b.ok("Read", args{"file_path": "long.txt"})
	b.ok("Edit", args{"file_path": "long.txt", "old_string": "line number 2 of", "new_string": "y"})
}

// C13: one huge line.
func TestReadClipsLines(t *testing.T) {
	b := newBench(t, Deps{})
	b.put("min.js", strings.Repeat("é", 3_000_000)+"\nshort\n"+strings.Repeat("b", MaxLineChars)+"\r\n")
	text := b.ok("Read", args{"file_path": "min.js", "limit": 1})
	if !strings.HasPrefix(text, "     1\t"+strings.Repeat("é", MaxLineChars)+"…") {
		t.Errorf("the beginning of the line is not shown: %.60q", text)
	}
	has(t, text, "it has 3000000 characters", "1 line was clipped", "Grep")
	if len(text) > 3*MaxLineChars {
		t.Errorf("the result has %d bytes", len(text))
	}
	if got := b.ok("Read", args{"file_path": "min.js", "offset": 2}); strings.Contains(got, "clipped") || !strings.HasSuffix(strings.Split(got, "\n\n[")[0], "b") {
		t.Errorf("a line of the greatest length is not shown whole: …%q", got[len(got)-80:])
	}
}

var aaa = bytes.Repeat([]byte("a"), pageBuffer)

type endless struct{ left int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := copy(p, aaa[:min(int64(len(aaa)), e.left)])
	e.left -= int64(n)
	return n, nil
}

func TestPageOfAHugeLineIsSmall(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := readPage(&endless{1 << 28}, window{first: 1, maxTokens: DefaultMaxReadTokens})
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("%d bytes were allocated", grown)
	}
	if p.total != 1 || p.clipped != 1 {
		t.Errorf("lines %d, clipped %d", p.total, p.clipped)
	}
	has(t, p.lines[0], "it has 268435456 characters")
}

// A page is what splitting the text would give, however the bytes arrive.
func TestPageIsASlice(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringMatching(`([abé\t\r]{0,5}\n?){0,8}`).Draw(rt, "text")
		first, limit := rapid.IntRange(1, 6).Draw(rt, "first"), rapid.IntRange(0, 6).Draw(rt, "limit")
		var r io.Reader = strings.NewReader(text)
		if rapid.Bool().Draw(rt, "slow") {
			r = iotest.DataErrReader(iotest.OneByteReader(r))
		}
		p, err := readPage(r, window{first: first, limit: limit, maxTokens: 1000})
		if err != nil {
			rt.Fatal(err)
		}
		var all []string
		if text != "" {
			all = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		}
		want := all[min(first-1, len(all)):]
		if limit > 0 {
			want = want[:min(limit, len(want))]
		}
		if p.total != len(all) || !slices.Equal(p.lines, slices.Clip(want)) || p.full || p.clipped > 0 {
			rt.Fatalf("%q from %d, %d lines: %+v, want %q of %d", text, first, limit, p, want, len(all))
		}
	})
}

func TestReadStreamsLargeFiles(t *testing.T) {
	b := newBench(t, Deps{})
	line := "0123456789 the same line again and again ünd so weiter\r\n"
	n := (maxWholeBytes/len(line) + 1000)
	p := b.put("big.txt", strings.Repeat(line, n)+"last \xe9ine")
	text := b.ok("Read", args{"file_path": "big.txt", "offset": n})
	has(t, text, fmt.Sprintf("%6d\t%s\n", n, strings.TrimSuffix(line, "\r\n")), fmt.Sprintf("%6d\tlast ", n+1), "CRLF")
	view, ok := b.env.Files.Get(p)
	if !ok || !view.Partial || view.Hash == [32]byte{} {
		t.Fatalf("view %+v", view)
	}
	has(t, b.ok("Read", args{"file_path": "big.txt"}), "PARTIAL view", fmt.Sprint(n+1))

	// The same text in UTF-16, which must be decoded on the way.
	wide := []byte{0xff, 0xfe}
	for _, r := range strings.Repeat("wide line\n", maxWholeBytes/20+100) {
		wide = append(wide, byte(r), byte(r>>8))
	}
	b.put("wide.txt", string(wide))
	has(t, b.ok("Read", args{"file_path": "wide.txt", "offset": 800_000, "limit": 1}), "800000\twide line", "UTF-16LE")
}

func TestReadOfUnhashedFile(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 65 MB")
	}
	b := newBench(t, Deps{})
	p := b.put("huge.log", strings.Repeat("a line of sixteen\n", maxHashBytes/18+10)+"needle\n")
	has(t, b.ok("Read", args{"file_path": "huge.log", "limit": 1}), "sixteen")
	view, _ := b.env.Files.Get(p)
	if view.Hash != [32]byte{} || !view.Partial {
		t.Fatalf("view %+v", view)
	}
	b.ok("Edit", args{"file_path": "huge.log", "old_string": "needle", "new_string": "pin"})
	if got := b.get("huge.log"); !strings.HasSuffix(got, "sixteen\npin\n") {
		t.Errorf("the end is %q", got[len(got)-30:])
	}
}

func TestReadStopsWithTheCall(t *testing.T) {
	b := newBench(t, Deps{})
	b.put("a.txt", "x\n")
	call, err := b.tools["Read"].Bind(json.RawMessage(`{"file_path":"a.txt"}`), b.env.Place)
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := call.Run(ctx, b.env); !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
}

func TestReadTellsEncodings(t *testing.T) {
	b := newBench(t, Deps{})
	b.put("w.txt", "na\xefve caf\xe9 \x96 d\xe9j\xe0 vu\n")
	has(t, b.ok("Read", args{"file_path": "w.txt"}), "naïve café", "windows-1252", "guessed")
	b.put("bom.txt", "\xef\xbb\xbfx\r\ny\r\n")
	has(t, b.ok("Read", args{"file_path": "bom.txt"}), "     1\tx\n", "byte order mark", "CRLF")
	b.put("bad.txt", "ünïcödé äöü ok\n\xff broken\n")
	has(t, b.ok("Read", args{"file_path": "bad.txt"}), "\ufffd broken", "cannot be decoded")
}

// C14: what is called an image and is none, and images of all sizes.
func TestReadImages(t *testing.T) {
	b := newBench(t, Deps{})
	b.put("page.png", "<html><body>404</body></html>")
	has(t, b.ok("Read", args{"file_path": "page.png"}), "<html>")
	b.put("cut.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	b.fails("Read", args{"file_path": "cut.png"}, "cannot be shown")

	var buf bytes.Buffer
	if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, 3000, 20))); err != nil {
		t.Fatal(err)
	}
	b.put("picture.txt", buf.String())
	call, err := b.tools["Read"].Bind(json.RawMessage(`{"file_path":"picture.txt"}`), b.env.Place)
	if err != nil {
		t.Fatal(err)
	}
	out, err := call.Run(t.Context(), b.env)
	if err != nil {
		t.Fatal(err)
	}
	blocks, _ := call.Map(out)
	if len(blocks) == 0 || blocks[0].Type != tool.BlockImage || blocks[0].Source.MediaType != out.Data.(ReadOutput).Image.Type {
		t.Fatalf("blocks %+v", blocks)
	}
	raw, err := base64.StdEncoding.DecodeString(blocks[0].Source.Data)
	if err != nil {
		t.Fatal(err)
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(raw))
	if err != nil || config.Width > 1568 {
		t.Errorf("shown %v wide, %v", config.Width, err)
	}
	if d := out.Data.(ReadOutput).Image.Dimensions; d.OriginalWidth != 3000 || d.DisplayWidth != config.Width {
		t.Errorf("dimensions %+v", d)
	}
}

// C17: U+2028 and U+2029 are no line ends, and JSON escapes them.
func TestLineSeparatorsAreNoLines(t *testing.T) {
	b := newBench(t, Deps{})
	b.put("u.txt", "a\u2028b\u2029c\u0085d\vx\n2\n")
	text, data, err := b.run("Read", args{"file_path": "u.txt"})
	if err != nil || data.(ReadOutput).Text.TotalLines != 2 {
		t.Fatalf("%v, %+v", err, data)
	}
	has(t, text, "a\u2028b\u2029c\u0085d")
	raw, _ := json.Marshal(data)
	if strings.ContainsAny(string(raw), "\u2028\u2029") {
		t.Error("the JSON has raw line separators")
	}
	b.ok("Edit", args{"file_path": "u.txt", "old_string": "b\u2029c", "new_string": "B\u2028C"})
	if got := b.get("u.txt"); got != "a\u2028B\u2028C\u0085d\vx\n2\n" {
		t.Errorf("content %q", got)
	}
}

func TestReadNeverHangs(t *testing.T) {
	b := newBench(t, Deps{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		specialFiles(t, b)
	}()
	select {
	case <-done:
	case <-time.After(60 * time.Second):
		t.Fatal("a read hangs")
	}
}

func TestReadDenied(t *testing.T) {
	var secret string
	b := newBench(t, Deps{ReadDenied: func(p string) bool { return p == secret }})
	secret = b.put("secret/.env", "KEY=1\n")
	if err := os.MkdirAll(b.path("sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../secret/.env", b.path("sub/l")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	for _, p := range []string{"secret/.env", "sub/l"} { // B2
		b.fails("Read", args{"file_path": p}, "may not be read")
		b.fails("Edit", args{"file_path": p, "old_string": "KEY", "new_string": "x"}, "may not be read", "may not be changed")
		b.fails("Write", args{"file_path": p, "content": "x"}, "may not be read")
	}
	b.fails("Read", args{"file_path": "secret/.ENV2"}, "does not exist")
	if _, _, err := b.run("Read", args{"file_path": "secret/.enV.x"}); err == nil || strings.Contains(err.Error(), "Did you mean") {
		t.Errorf("a denied name is given away: %v", err)
	}
}

func TestUnchangedIsNotRepeated(t *testing.T) {
	b := newBench(t, Deps{})
	b.put("a.txt", strings.Repeat("some text that is long enough\n", 20))
	var messages []tool.Message
	b.env.History = func() []tool.Message { return messages }
	first := b.ok("Read", args{"file_path": "a.txt"})
	if again := b.ok("Read", args{"file_path": "a.txt"}); again != first {
		t.Error("the content is not repeated though the conversation does not have it")
	}
	messages = []tool.Message{{Role: tool.RoleUser, Content: []tool.Block{tool.ToolResult("t1", false, tool.TextBlock(first))}}}
	if again := b.ok("Read", args{"file_path": "a.txt"}); again != unchangedText {
		t.Errorf("repeated: %.80q", again)
	}
	has(t, b.ok("Read", args{"file_path": "a.txt", "offset": 2}), "     2\tsome text")
	b.ok("Edit", args{"file_path": "a.txt", "old_string": "some", "new_string": "any", "replace_all": true})
	has(t, b.ok("Read", args{"file_path": "a.txt"}), "any text")
	messages = nil // compacted
	has(t, b.ok("Read", args{"file_path": "a.txt"}), "any text")
}

// I4, I5: a kept result is read like any file, cut by the token limit.
func TestReadOfKeptResult(t *testing.T) {
	b := newBench(t, Deps{})
	b.env.ResultsDir = b.path("results")
	p := b.put("results/t1.txt", strings.Repeat("output of a command\n", 20_000))
	text := b.ok("Read", args{"file_path": p})
	has(t, text, "PARTIAL view")
	if n := len(text); n > 6*DefaultMaxReadTokens {
		t.Errorf("%d bytes", n)
	}
	if b.tools["Read"].Facts().MaxResultChars != tool.Unlimited {
		t.Error("results of Read would be kept again")
	}
}

func TestDeclarations(t *testing.T) {
	at := tool.Place{Cwd: filepath.FromSlash("/w"), Home: filepath.FromSlash("/home/u")}
	if runtime.GOOS == "windows" {
		at = tool.Place{Cwd: `C:\w`, Home: `C:\u`}
	}
	for _, each := range New(Deps{}) {
		field := "file_path"
		if each.Name() == "NotebookEdit" {
			field = "notebook_path"
		}
		raw, _ := json.Marshal(args{field: "~/x.ipynb"})
		call, err := each.Bind(raw, at)
		if err != nil {
			t.Fatal(err)
		}
		want := filepath.Join(at.Home, "x.ipynb")
		subjects, err := call.Subjects()
		if err != nil || len(subjects) != 1 || subjects[0].Value != want || call.Path() != want {
			t.Errorf("%s: subjects %v, path %q, %v", each.Name(), subjects, call.Path(), err)
		}
		read := each.Name() == "Read"
		if (subjects[0].Family == tool.FamilyRead) != read || call.ReadOnly() != read || call.ConcurrencySafe() != read {
			t.Errorf("%s: facts are wrong", each.Name())
		}
		e := call.Effects()
		if !e.Known() || read != (len(e.ReadPaths()) == 1) || read == (len(e.WritePaths()) == 1) {
			t.Errorf("%s: effects %v %v", each.Name(), e.ReadPaths(), e.WritePaths())
		}
		if each.Prompt(tool.PromptContext{}) == "" || call.ViewUse() == "" || each.Facts().PrimaryField != field {
			t.Errorf("%s: prompt, view or primary field is missing", each.Name())
		}
		if !strings.Contains(string(call.Observed()), filepath.Base(at.Home)) {
			t.Errorf("%s: hooks see %s", each.Name(), call.Observed())
		}
	}
}
