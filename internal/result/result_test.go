package result

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sevengate/sevengate/tool"
)

func TestFitKeepsWhatFits(t *testing.T) {
	s := NewStore(filepath.Join(t.TempDir(), "r"), "")
	in := []tool.Block{tool.TextBlock(strings.Repeat("é", 50))}
	out, p := s.Fit("a", in, 50)
	if p != nil || out[0].Text != in[0].Text {
		t.Errorf("a result of exactly the limit was changed")
	}
	if _, err := os.Stat(s.Dir()); !os.IsNotExist(err) {
		t.Errorf("the folder was made without need: %v", err)
	}
}

func TestFitPersistsTheWholeAndShowsTheStart(t *testing.T) {
	s := NewStore(filepath.Join(t.TempDir(), "r"), "Read it with offset and limit.")
	text := strings.Repeat("0123456789", 600)
	image := tool.ImageBlock("image/png", "AAAA")
	out, p := s.Fit("toolu_1", []tool.Block{tool.TextBlock(text), image}, 5_000)
	if p == nil {
		t.Fatal("nothing was persisted")
	}
	got, err := os.ReadFile(p.Path)
	if err != nil || string(got) != text {
		t.Fatalf("file holds %d bytes (%v), want all %d", len(got), err, len(text))
	}
	if filepath.Base(p.Path) != "toolu_1.txt" {
		t.Errorf("file is %s", p.Path)
	}
	for path, want := range map[string]os.FileMode{p.Path: 0o600, s.Dir(): 0o700} {
		if info, _ := os.Stat(path); info.Mode().Perm() != want {
			t.Errorf("mode of %s is %v, want %v", path, info.Mode().Perm(), want)
		}
	}
	for _, want := range []string{"<persisted-output>", "6,000 characters", p.Path, "offset and limit", text[:PreviewBytes]} {
		if !strings.Contains(out[0].Text, want) {
			t.Errorf("the preview lacks %.40q", want)
		}
	}
	if len(out) != 2 || out[1].Type != tool.BlockImage {
		t.Errorf("the image was lost: %v", out)
	}
	if _, p2 := s.Fit("toolu_1", []tool.Block{tool.TextBlock(text + "!")}, 5_000); p2 == nil || p2.Path == p.Path {
		t.Errorf("a second result of the same id went to %+v", p2)
	}
}

func TestHostileIDsStayInTheFolder(t *testing.T) {
	dir := t.TempDir()
	s := NewStore(filepath.Join(dir, "r"), "")
	for _, id := range []string{"../../x", "/etc/passwd", "", "a\x00b", strings.Repeat("a", 5000), "..", "con/aux"} {
		_, p := s.Fit(id, []tool.Block{tool.TextBlock("abc")}, 1)
		if p == nil || filepath.Dir(p.Path) != s.Dir() {
			t.Errorf("id %.20q went to %+v", id, p)
		}
	}
}

func TestUnwritableFolderCutsAndSaysSo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out, p := NewStore(filepath.Join(file, "r"), "").Fit("a", []tool.Block{tool.TextBlock(strings.Repeat("x", 9000))}, 5000)
	if p != nil || !strings.Contains(out[0].Text, "could not be saved") || len(out[0].Text) > PreviewBytes+300 {
		t.Errorf("got %+v and %d bytes", p, len(out[0].Text))
	}
}

func TestFitMessageShrinksTheLargestFirst(t *testing.T) {
	s := NewStore(filepath.Join(t.TempDir(), "r"), "")
	items := []Item{
		{ID: "small", Content: []tool.Block{tool.TextBlock(strings.Repeat("s", 40_000))}},
		{ID: "large", Content: []tool.Block{tool.TextBlock(strings.Repeat("l", 150_000))}},
		{ID: "middle", Content: []tool.Block{tool.TextBlock(strings.Repeat("m", 60_000))}},
	}
	s.FitMessage(items, MaxMessageChars)
	if items[1].Saved == nil || items[0].Saved != nil || items[2].Saved != nil {
		t.Errorf("saved: %v %v %v, want only the large one", items[0].Saved, items[1].Saved, items[2].Saved)
	}
	own := []Item{{ID: "own", Own: true, Content: []tool.Block{tool.TextBlock(strings.Repeat("o", 250_000))}}}
	s.FitMessage(own, MaxMessageChars)
	if own[0].Saved != nil || Chars(own[0].Content) > 3000 || !strings.Contains(own[0].Content[0].Text, "smaller pieces") {
		t.Errorf("a self-bounding result was saved or left long")
	}
}

func TestFitMessageProperty(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(0, 9000), 0, 8).Draw(t, "sizes")
		items := make([]Item, len(sizes))
		for i, n := range sizes {
			items[i] = Item{ID: "x", Own: i%3 == 0, Content: []tool.Block{tool.TextBlock(strings.Repeat("é", n))}}
		}
		NewStore(dir, "").FitMessage(items, 20_000)
		total := 0
		for _, it := range items {
			total += Chars(it.Content)
			if !utf8.ValidString(it.Content[0].Text) {
				t.Fatalf("half a character")
			}
		}
		if total > 20_000 {
			t.Fatalf("%v comes to %d", sizes, total)
		}
	})
}
