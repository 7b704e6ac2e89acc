package confine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sevengate/sevengate/internal/engine/pathrule"
)

// programFiles are the files in the working directories that command lines name
// which this program runs outside the sandbox: a hook's script that a command could
// rewrite would be its way out.
func programFiles(lines, roots []string, dir, home string) []string {
	var out []string
	for _, line := range lines {
		line = strings.NewReplacer("${CLAUDE_PROJECT_DIR}", dir, "$CLAUDE_PROJECT_DIR", dir, "${HOME}", home, "$HOME", home, `"`, "", "'", "").Replace(line)
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n;|&<>()=", r) }) {
			if word == "~" || strings.HasPrefix(word, "~/") {
				word = home + word[1:]
			}
			if !filepath.IsAbs(word) {
				word = filepath.Join(dir, word)
			}
			word = filepath.Clean(word)
			if !pathrule.InsideAny(roots, word) || slices.Contains(out, word) {
				continue
			}
			if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
				out = append(out, word)
			}
		}
	}
	return out
}
