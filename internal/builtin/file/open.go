package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/sevengate/sevengate/internal/engine/atomicfile"
	"github.com/sevengate/sevengate/tool"
)

// unsizedWait is how long a file without a size, as in /proc, may keep a reader
// waiting for more.
const unsizedWait = 2 * time.Second

// source is an opened regular file. Its reads stop when the call is stopped.
type source struct {
	ctx  context.Context
	file *os.File
	info fs.FileInfo
	// idle is set when a file without a size had no more to give in time.
	idle bool
}

// open opens the regular file that a target is. It never waits for a pipe or a
// device, and never follows a link put there after the target was located.
func (f *family) open(ctx context.Context, t target, env *tool.Env) (*source, error) {
	info, err := os.Lstat(t.real)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, f.missing(t, env)
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", t.given, err)
	}
	if err := onlyRegular(t, info); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(t.real, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.given, err)
	}
	s := &source{ctx: ctx, file: file}
	if err := s.verify(t); err != nil {
		file.Close()
		return nil, err
	}
	if s.info.Size() == 0 {
		// Files of /proc may block; where the system can wait for them, so can we.
		_ = file.SetReadDeadline(time.Now().Add(unsizedWait))
	}
	return s, nil
}

// verify makes sure that what was opened is the file at the real path, reached
// without a link.
func (s *source) verify(t target) error {
	var err error
	if s.info, err = s.file.Stat(); err != nil {
		return fmt.Errorf("look at %s: %w", t.given, err)
	}
	if err := onlyRegular(t, s.info); err != nil {
		return err
	}
	real, err := atomicfile.Resolve(t.real)
	if err != nil {
		return err
	}
	now, err := os.Lstat(t.real)
	if err != nil {
		return fmt.Errorf("look at %s: %w", t.given, err)
	}
	if real != t.real || !os.SameFile(s.info, now) {
		return fmt.Errorf("%s was replaced while it was being opened; nothing was read, make the call again", t.given)
	}
	return nil
}

func onlyRegular(t target, info fs.FileInfo) error {
	what := ""
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return fmt.Errorf("%s is a directory, and Read reads files; use Glob, or ls in a shell, to see what is in it", t.given)
	case mode&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	case mode&fs.ModeSymlink != 0:
		return fmt.Errorf("%s became a symbolic link after it was checked; nothing was read, make the call again", t.given)
	default:
		what = "no regular file"
	}
	return fmt.Errorf("%s is %s; reading it could wait or go on forever, so only regular files are read", t.given, what)
}

// Read makes a source an io.Reader that ends with the call.
func (s *source) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, context.Cause(s.ctx)
	}
	n, err := s.file.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.idle = true
		return n, io.EOF
	}
	return n, err
}

func (s *source) close() { s.file.Close() }
