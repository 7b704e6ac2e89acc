package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// makeTree writes small source-like files, the same ones every time.
func makeTree(dir string, files int) error {
	rnd := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("func return len(x) cap(y) err nil ErrUnexpectedEOF FIXME Deadline( errors.New( if for range string int64 abc12de3 ServeHandlerFunc( // comment } {")
	var b bytes.Buffer
	for i := range files {
		sub := filepath.Join(dir, fmt.Sprintf("d%03d", i/1000), fmt.Sprintf("e%02d", i/50%20))
		if i%50 == 0 {
			if err := os.MkdirAll(sub, 0o755); err != nil {
				return err
			}
		}
		b.Reset()
		for range 10 + rnd.IntN(20) {
			for range 3 + rnd.IntN(6) {
				if w := words[rnd.IntN(len(words))]; w != "ErrUnexpectedEOF" || rnd.IntN(200) == 0 {
					b.WriteString(w + " ")
				}
			}
			b.WriteByte('\n')
		}
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%d.go", i)), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
