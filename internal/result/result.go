// Package result keeps the results of tools within what a conversation can
// bear. There are three budgets: each tool's own maximum, the preview that
// stands for a result over it, and the maximum of one message.
//
// A result over its budget is written to a file of the session first; only
// then does its preview go to the model. Nothing is lost, and nothing is
// summarised. The package neither calls models nor decides what runs.
package result

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sevengate/sevengate/tool"
)

// Budgets. Characters are Unicode code points; only text counts.
const (
	// PreviewBytes is how much of a persisted result the model sees.
	PreviewBytes = 2_000
	// MaxMessageChars bounds all results of one message together.
	MaxMessageChars = 200_000
	// MaxArtifactBytes bounds one file in the results folder.
	MaxArtifactBytes = 1 << 30
)

// Store writes results that are too large into one folder. Its methods are
// safe for concurrent use with different ids.
type Store struct {
	dir    string
	reader string
}

// NewStore keeps results in dir, which is made, private to the user, when the
// first result needs it. readerHint tells the model how to look into a file,
// such as "Read it with offset and limit".
func NewStore(dir, readerHint string) *Store { return &Store{dir, readerHint} }

// Dir is the folder of the store.
func (s *Store) Dir() string { return s.dir }

// Empty is the text of a result that has no content: some models stop after
// an empty one.
func Empty(toolName string) string { return "(" + toolName + " completed with no output)" }

// IsEmpty tells whether content says nothing at all.
func IsEmpty(content []tool.Block) bool {
	for _, b := range content {
		if b.Type != tool.BlockText || strings.TrimSpace(b.Text) != "" {
			return false
		}
	}
	return true
}

// Chars counts the characters of the text in content.
func Chars(content []tool.Block) int {
	n := 0
	for _, b := range content {
		n += utf8.RuneCountInString(b.Text)
	}
	return n
}

// Persisted tells where a result went.
type Persisted struct {
	Path  string
	Bytes int64
	Chars int
}

// Fit returns content that keeps within limit characters; a negative limit is
// none. What does not fit is written to the store first and replaced by a
// preview; when it cannot be written, the content is cut and says so.
func (s *Store) Fit(id string, content []tool.Block, limit int) ([]tool.Block, *Persisted) {
	chars := Chars(content)
	if limit < 0 || chars <= limit {
		return content, nil
	}
	text := joinText(content)
	p, err := s.write(id, text)
	if err != nil {
		note := fmt.Sprintf("\n\n[Cut: the result has %s characters, over the limit of %s, and could not be saved: %v. Ask for less.]",
			commas(chars), commas(limit), describe(err))
		return append([]tool.Block{tool.TextBlock(cut(text, PreviewBytes) + note)}, nonText(content)...), nil
	}
	p.Chars = chars
	return append([]tool.Block{tool.TextBlock(s.preview(text, *p, limit))}, nonText(content)...), p
}

// Item is one result of a message.
type Item struct {
	ID      string
	Content []tool.Block
	// Own: the tool bounds its results itself and can be asked for another
	// part, so that an over-long one is cut in place and never saved.
	Own bool
	// Saved is set when FitMessage wrote the result to the store.
	Saved *Persisted
}

// FitMessage shrinks the largest results, in place, until all items together
// keep within limit characters.
func (s *Store) FitMessage(items []Item, limit int) {
	total := 0
	order := make([]int, len(items))
	sizes := make([]int, len(items))
	for i := range items {
		order[i], sizes[i] = i, Chars(items[i].Content)
		total += sizes[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return sizes[b] - sizes[a] })
	for _, i := range order {
		if total <= limit || sizes[i] <= PreviewBytes {
			return
		}
		item := &items[i]
		if item.Own {
			item.Content = cutOwn(item.Content, limit)
		} else {
			item.Content, item.Saved = s.Fit(item.ID, item.Content, 0)
		}
		total -= sizes[i] - Chars(item.Content)
	}
}

func cutOwn(content []tool.Block, limit int) []tool.Block {
	text := joinText(content)
	note := fmt.Sprintf("\n\n[Cut here: the results of this message come to more than %s characters together. Ask for this part again by itself, in smaller pieces.]", commas(limit))
	return append([]tool.Block{tool.TextBlock(cut(text, PreviewBytes) + note)}, nonText(content)...)
}

func (s *Store) preview(text string, p Persisted, limit int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<persisted-output>\nThe result has %s characters", commas(p.Chars))
	if limit > 0 {
		fmt.Fprintf(&b, ", over the limit of %s", commas(limit))
	}
	fmt.Fprintf(&b, ". All of it (%s bytes) is in:\n%s\n", commas(int(p.Bytes)), p.Path)
	if s.reader != "" {
		b.WriteString(s.reader + "\n")
	}
	fmt.Fprintf(&b, "\nThe first %s bytes:\n%s\n</persisted-output>", commas(PreviewBytes), cut(text, PreviewBytes))
	return b.String()
}

// write puts text into the file of an id, atomically. An id that was written
// before gets a new name, so that nothing is overwritten.
func (s *Store) write(id, text string) (*Persisted, error) {
	if s == nil || s.dir == "" {
		return nil, errors.New("there is no results folder")
	}
	if len(text) > MaxArtifactBytes {
		text = cut(text, MaxArtifactBytes)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the results folder: %w", err)
	}
	tmp, err := os.CreateTemp(s.dir, ".writing-*") // 0600, new
	if err != nil {
		return nil, fmt.Errorf("saving the result: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.WriteString(text)
	if err == nil {
		err = tmp.Sync()
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("saving the result: %w", err)
	}
	name := FileName(id)
	for n := 1; ; n++ {
		path := filepath.Join(s.dir, name+".txt")
		if n > 1 {
			path = filepath.Join(s.dir, fmt.Sprintf("%s.%d.txt", name, n))
		}
		// A link, unlike a rename, never replaces what is there.
		err := os.Link(tmp.Name(), path)
		if errors.Is(err, fs.ErrExist) && n < 1000 {
			continue
		}
		if err != nil {
			if renameErr := renameNew(tmp.Name(), path); renameErr != nil {
				return nil, fmt.Errorf("saving the result: %w", renameErr)
			}
		}
		return &Persisted{Path: path, Bytes: int64(len(text))}, nil
	}
}

// renameNew serves file systems without hard links.
func renameNew(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("%s: %w", to, fs.ErrExist)
	}
	return os.Rename(from, to)
}

// FileName makes a file name of a tool_use id, which comes from outside and
// may hold anything.
func FileName(id string) string {
	const longest = 100
	safe := id != "" && len(id) <= longest
	for i := 0; safe && i < len(id); i++ {
		c := id[i]
		safe = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
	}
	if safe {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "id-" + hex.EncodeToString(sum[:16])
}

func joinText(content []tool.Block) string {
	var parts []string
	for _, b := range content {
		if b.Type == tool.BlockText {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func nonText(content []tool.Block) []tool.Block {
	var out []tool.Block
	for _, b := range content {
		if b.Type != tool.BlockText {
			out = append(out, b)
		}
	}
	return out
}

// cut returns at most n bytes of s and never half a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// describe says what went wrong without the path, which the model does not
// need.
func describe(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}

func commas(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
