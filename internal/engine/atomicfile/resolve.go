package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is how many symbolic links one path may pass, as in the Linux kernel.
const maxLinks = 40

// Resolve returns the absolute path that a write to path would reach: every symbolic
// link is followed, also one whose target does not exist. Components that do not
// exist are kept as they are. It creates nothing. A relative path is taken from the
// process's working directory.
func Resolve(path string) (string, error) {
	if path == "" {
		return "", errors.New("resolve path: the path is empty")
	}
	if strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("resolve path %q: a path must not contain a null byte", path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("resolve path %s: %w", path, err)
	}
	if os.IsPathSeparator(path[len(path)-1]) && abs != filepath.VolumeName(abs)+string(filepath.Separator) {
		return "", fmt.Errorf("resolve path %s: it ends in a separator and so names a directory, a file is needed: %w", path, ErrNotRegular)
	}
	vol := filepath.VolumeName(abs)
	root := vol + string(filepath.Separator)
	done := root
	todo := splitPath(abs[len(vol):])
	missing := false
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if missing {
				return "", fmt.Errorf("resolve path %s: %s does not exist, so .. after it leads nowhere", path, done)
			}
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, part)
		if missing {
			done = next
			continue
		}
		info, err := os.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) {
			done, missing = next, true
			continue
		}
		if err != nil {
			return "", fmt.Errorf("resolve path %s: %w", path, err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if len(todo) > 0 && !info.IsDir() {
				return "", fmt.Errorf("resolve path %s: %s is not a directory", path, next)
			}
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("resolve path %s: more than %d symbolic links", path, maxLinks)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", fmt.Errorf("resolve path %s: %w", path, err)
		}
		if filepath.IsAbs(target) {
			vol := filepath.VolumeName(target)
			done = vol + string(filepath.Separator)
			target = target[len(vol):]
		}
		todo = append(splitPath(target), todo...)
	}
	return done, nil
}

// splitPath must not clean: "a/../b" through a link a is not "b".
func splitPath(p string) []string {
	return strings.FieldsFunc(p, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
}
