package file

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"

	"github.com/sevengate/sevengate/internal/engine/document"
	"github.com/sevengate/sevengate/internal/engine/textedit"
	"github.com/sevengate/sevengate/tool"
)

// ReadInput is the input of Read.
type ReadInput struct {
	FilePath string `json:"file_path" jsonschema:"the file, by its absolute path"`
	Offset   int    `json:"offset,omitempty" jsonschema:"the first line to read, from 1 (of a notebook: the first cell)"`
	Limit    int    `json:"limit,omitempty" jsonschema:"how many lines (of a notebook: cells) to read"`
	Pages    string `json:"pages,omitempty" jsonschema:"for PDF only: the pages to read, such as 3 or 1-5"`
}

// pathAliases are near-miss names of the one path that a tool takes.
func pathAliases(more ...string) map[string]string {
	m := map[string]string{}
	for _, name := range []string{"path", "filePath", "filepath", "file", "filename", "file_name", "absolute_path"} {
		m[name] = "file_path"
	}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return m
}

func (f *family) readTool() tool.Tool {
	return tool.Define(tool.Def[ReadInput, ReadOutput]{
		Name:            "Read",
		SearchHint:      "read the content of a file: text, image, PDF, notebook",
		Prompt:          f.readPrompt,
		FieldAliases:    pathAliases("start_line", "offset", "max_lines", "limit", "page", "pages"),
		PrimaryField:    "file_path",
		MaxResultChars:  tool.Unlimited, // the token limit bounds it
		ReadOnly:        tool.Always[ReadInput],
		ConcurrencySafe: tool.Always[ReadInput],
		Effects:         func(in ReadInput) tool.Effects { return tool.Reads(in.FilePath) },
		Kind:            func(ReadInput) tool.Kind { return tool.KindRead },
		Interrupt:       tool.InterruptCancel,
		Path:            func(in ReadInput) string { return in.FilePath },
		Subjects:        func(in ReadInput) []tool.Subject { return []tool.Subject{tool.ReadOf(in.FilePath)} },
		Backfill: func(in ReadInput, at tool.Place) ReadInput {
			in.FilePath = at.Abs(in.FilePath)
			return in
		},
		ClassifierInput: func(in ReadInput) string { return in.FilePath },
		Validate:        validateRead,
		CheckPermissions: func(_ context.Context, in ReadInput, env *tool.Env) tool.Verdict {
			return f.remember(in.FilePath, env)
		},
		Call:      f.read,
		MapResult: mapRead,
		View:      readView(),
	})
}

func (f *family) readPrompt(c tool.PromptContext) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Reads a file of this machine. Lines come with their numbers, as from cat -n. Without offset and limit the whole file is read, up to about %d tokens; a larger one gives its first part and says how to go on. Lines of more than %d characters are clipped. Images are shown, notebooks come with cells and outputs, PDF files as text and pictures of their pages; a PDF of more than %d pages needs pages, at most %d in one call.", f.deps.MaxReadTokens, MaxLineChars, MaxPagesUnasked, document.MaxPages)
	b.WriteString("\n\nRead several files in one turn when they may all matter. ")
	switch {
	case c.Has("Glob"):
		b.WriteString("A directory is not a file: use Glob for that. ")
	case c.Has("Bash"):
		b.WriteString("A directory is not a file: use ls for that. ")
	}
	b.WriteString("A file must be read before it is edited or overwritten.")
	return b.String()
}

func validateRead(_ context.Context, in ReadInput, _ *tool.Env) error {
	switch {
	case in.FilePath == "":
		return errors.New("file_path is empty; give the path of a file")
	case in.Offset < 0:
		return fmt.Errorf("offset is %d; lines are counted from 1", in.Offset)
	case in.Limit < 0:
		return fmt.Errorf("limit is %d; it must be a number of lines, at least 1", in.Limit)
	}
	return nil
}

func (f *family) read(ctx context.Context, in ReadInput, env *tool.Env) (tool.Result[ReadOutput], error) {
	out, err := f.readFile(ctx, in, env)
	return tool.OK(out), err
}

func (f *family) readFile(ctx context.Context, in ReadInput, env *tool.Env) (ReadOutput, error) {
	t, err := f.locate(in.FilePath, env)
	if err != nil {
		return ReadOutput{}, err
	}
	if f.denied(t) {
		return ReadOutput{}, fmt.Errorf("%s may not be read: a permission rule denies it", t.given)
	}
	src, err := f.open(ctx, t, env)
	if err != nil {
		return ReadOutput{}, err
	}
	defer src.close()
	buffered := bufio.NewReaderSize(src, pageBuffer)
	head, err := buffered.Peek(document.SniffBytes)
	if err != nil && err != io.EOF {
		return ReadOutput{}, fmt.Errorf("read %s: %w", t.given, err)
	}
	kind := document.Sniff(head, t.real)
	switch kind {
	case document.Archive, document.Media, document.Program:
		return ReadOutput{}, binaryError(t, src.info.Size(), string(kind))
	case document.PNG, document.JPEG, document.GIF, document.WebP, document.BMP, document.TIFF, document.HEIF, document.ICO:
		return f.readImage(t, env, src, buffered)
	case document.PDF:
		return f.readPDF(ctx, t, in, env, src, buffered)
	case document.Notebook:
		data, err := src.load(t, buffered, document.MaxNotebook, "a notebook")
		if err != nil {
			return ReadOutput{}, err
		}
		out, err := f.readNotebook(t, in, env, src, data)
		if !errors.Is(err, document.ErrNotebook) {
			return out, err
		}
		// What cannot be parsed can still be looked at, so that it can be repaired.
		broken := fmt.Sprintf("The file is shown as text: %v.", err)
		out, err = f.readText(t, in, env, src, bufio.NewReaderSize(bytes.NewReader(data), pageBuffer))
		out.notes = append(out.notes, broken)
		return out, err
	}
	return f.readText(t, in, env, src, buffered)
}

// binaryError names a file that is no text and not shown otherwise.
func binaryError(t target, size int64, kind string) error {
	if kind == "" {
		kind = "unknown format"
	}
	return fmt.Errorf("%s is a binary file (%s, %s), which Read does not show; use a program that knows the format, such as file, strings, unzip -l or xxd in a shell", t.given, kind, human(size))
}

// Bounds of what is read at once.
const (
	// maxWholeBytes is the largest text that is loaded and decoded as a whole; a
	// larger one passes through a buffer.
	maxWholeBytes = 16 << 20
	// sampleBytes is how much of a larger text tells its encoding.
	sampleBytes = 32 << 10
)

func (f *family) readText(t target, in ReadInput, env *tool.Env, src *source, r *bufio.Reader) (ReadOutput, error) {
	w := window{first: max(in.Offset, 1), limit: in.Limit, maxTokens: f.deps.MaxReadTokens}
	view := tool.FileView{Size: src.info.Size(), ModTime: src.info.ModTime()}
	var p page
	var notes []string
	if src.info.Size() <= maxWholeBytes {
		data, err := io.ReadAll(io.LimitReader(r, maxWholeBytes+1))
		if err != nil {
			return ReadOutput{}, fmt.Errorf("read %s: %w", t.given, err)
		}
		if len(data) > maxWholeBytes {
			data = data[:maxWholeBytes]
			notes = append(notes, fmt.Sprintf("The file goes on past its first %s, which is all that is read of a file without a fixed size.", human(maxWholeBytes)))
		} else if src.idle {
			notes = append(notes, "The file had no more to give for the moment, but has no end yet.")
		}
		text, err := textedit.Load(data)
		if err != nil {
			return ReadOutput{}, binaryError(t, max(src.info.Size(), int64(len(data))), "")
		}
		if p, err = readPage(strings.NewReader(text.String()), w); err != nil {
			return ReadOutput{}, fmt.Errorf("read %s: %w", t.given, err)
		}
		view.Hash, view.Size = sha256.Sum256(data), int64(len(data))
		notes = append(notes, textNotes(text)...)
	} else {
		var err error
		if p, view.Hash, notes, err = streamText(t, src, r, w); err != nil {
			return ReadOutput{}, err
		}
	}
	if in.Pages != "" {
		notes = append(notes, "pages was ignored, since the file is no PDF.")
	}
	if p.clipped > 0 {
		notes = append(notes, fmt.Sprintf("%s clipped after %d characters; to see the rest, use Grep for what you look for, or cut -c in a shell.", countedAre(p.clipped, "line was", "lines were"), MaxLineChars))
	}
	explicit := in.Offset > 0 || in.Limit > 0
	if p.full && explicit {
		return ReadOutput{}, fmt.Errorf("the lines asked for come to more than %d tokens, the most that one result may have (the file has %s); from line %d a limit of %d fits. Ask for fewer lines, or find the place with Grep",
			f.deps.MaxReadTokens, counted(p.total, "line"), w.first, len(p.lines))
	}
	out := ReadOutput{Type: TypeText, notes: notes, Text: &TextFile{
		FilePath: t.given, Content: strings.Join(p.lines, "\n"), NumLines: len(p.lines), StartLine: w.first, TotalLines: p.total,
		TruncatedByTokenCap: p.full,
	}}
	view.Partial = len(p.lines) < p.total
	if view.Partial && explicit {
		view.Offset, view.Limit = w.first, len(p.lines)
	}
	if len(p.lines) == 0 && p.total > 0 {
		return out, nil // nothing was seen
	}
	if view.Hash == [sha256.Size]byte{} && !view.Partial {
		view.Partial, view.Offset, view.Limit = true, w.first, math.MaxInt32
	}
	known, had := env.Files.Get(t.real)
	if had && !known.Written && same(known, view) && inHistory(env, out) {
		return ReadOutput{Type: TypeUnchanged, Unchanged: &UnchangedFile{FilePath: t.given}}, nil
	}
	saw(env, t.real, view)
	return out, nil
}

func countedAre(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// textNotes tells how a text is written, where that is not plain UTF-8 with LF.
func textNotes(t textedit.Text) []string {
	var notes []string
	var how []string
	if t.Encoding() != textedit.UTF8 {
		how = append(how, "encoding "+string(t.Encoding()))
		if t.Guessed() {
			how[0] += " (guessed)"
		}
	}
	if t.BOM() {
		how = append(how, "with a byte order mark")
	}
	switch t.Endings() {
	case textedit.CRLF, textedit.CR:
		how = append(how, t.Endings().String()+" line endings")
	case textedit.Mixed:
		how = append(how, "both LF and CRLF line endings")
	}
	if len(how) > 0 {
		notes = append(notes, "The file has "+strings.Join(how, ", ")+"; edits keep this.")
		if t.Encoding() != textedit.UTF8 {
			notes[0] = "The file is written in: " + strings.Join(how, ", ") + "; edits keep this."
		}
	}
	if err := t.Undecodable(); err != nil {
		notes = append(notes, "Bytes that cannot be decoded are shown as U+FFFD: "+err.Error()+".")
	}
	return notes
}

// streamText shows a part of a text that is too large to be loaded.
func streamText(t target, src *source, r *bufio.Reader, w window) (p page, sum [sha256.Size]byte, notes []string, err error) {
	var digest hash.Hash
	sample, err := r.Peek(sampleBytes)
	if err != nil && err != io.EOF {
		return p, sum, nil, fmt.Errorf("read %s: %w", t.given, err)
	}
	if i := strings.LastIndexByte(string(sample), '\n'); i > 0 && i%2 == 1 {
		sample = sample[:i+1] // whole lines, and whole units of UTF-16
	}
	sample = wholeRunes(sample)
	text, err := textedit.Load(slices.Clone(sample))
	if err != nil {
		return p, sum, nil, binaryError(t, src.info.Size(), "")
	}
	var in io.Reader = r
	if src.info.Size() <= maxHashBytes {
		digest = sha256.New()
		in = io.TeeReader(in, digest)
	}
	body := in
	switch text.Encoding() {
	case textedit.UTF16LE:
		body = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Reader(in)
	case textedit.UTF16BE:
		body = unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder().Reader(in)
	default:
		if text.BOM() {
			if _, err := io.CopyN(io.Discard, body, 3); err != nil {
				return p, sum, nil, fmt.Errorf("read %s: %w", t.given, err)
			}
		}
	}
	w.crlf = true
	if p, err = readPage(body, w); err != nil {
		return p, sum, nil, fmt.Errorf("read %s: %w", t.given, err)
	}
	for i, line := range p.lines {
		if strings.IndexByte(line, 0) >= 0 {
			return p, sum, nil, binaryError(t, src.info.Size(), "")
		}
		if !utf8.ValidString(line) {
			p.lines[i] = decodeLine(line)
		}
	}
	if digest != nil {
		copy(sum[:], digest.Sum(nil))
	}
	if text.Undecodable() == nil {
		notes = textNotes(text)
	}
	return p, sum, notes, nil
}

// wholeRunes drops what the end of a sample has of a character cut in two.
func wholeRunes(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if c >= 0xC0 && !utf8.FullRune(b[len(b)-n:]) {
				return b[:len(b)-n]
			}
			return b
		}
	}
	return b
}

// decodeLine decodes one line of a text in a legacy encoding as well as it can be
// told from the line alone.
func decodeLine(line string) string {
	if t, err := textedit.Load([]byte(line)); err == nil {
		return t.String()
	}
	return strings.ToValidUTF8(line, "\ufffd")
}

// inHistory tells whether the conversation still has the same content as the
// result of a call.
func inHistory(env *tool.Env, out ReadOutput) bool {
	if env.History == nil {
		return false
	}
	messages := env.History()
	if len(messages) == 0 {
		return false
	}
	text := mapRead(out)[0].Text
	if len(text) <= len(unchangedText) {
		return false // repeating it costs less than saying so
	}
	for i := len(messages) - 1; i >= 0; i-- {
		for _, b := range messages[i].Content {
			if b.Type == tool.BlockToolResult && !b.IsError && len(b.Content) == 1 && b.Content[0].Text == text {
				return true
			}
		}
	}
	return false
}
