package walk

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// dirBufferBytes is what one call of the kernel fills: some thousand entries.
const dirBufferBytes = 32 << 10

// directory is an open directory. It is read without package os, which prepares each file for the poller and makes an
// object of each entry: that costs as much as reading them.
type directory struct{ fd int }

// scratch is what one goroutine needs to read directories.
type scratch struct {
	buf     []byte
	entries []dirent
}

// openDir opens a directory. A link as the last component is refused unless follow.
func openDir(path string, follow bool) (directory, error) {
	flags := unix.O_RDONLY | unix.O_CLOEXEC | unix.O_DIRECTORY | unix.O_NONBLOCK
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	for {
		fd, err := unix.Open(path, flags, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return directory{-1}, &os.PathError{Op: "open", Path: path, Err: err}
		}
		return directory{fd}, nil
	}
}

func (d directory) close() { unix.Close(d.fd) }

// share makes s read through the buffer of another of the same goroutine.
func (s *scratch) share(other *scratch) {
	if other.buf == nil {
		other.buf = make([]byte, dirBufferBytes)
	}
	s.buf = other.buf
}

// read appends some entries to s.entries, and reports whether there are no more.
func (d directory) read(s *scratch) (done bool, err error) {
	if s.buf == nil {
		s.buf = make([]byte, dirBufferBytes)
	}
	var n int
	for {
		if n, err = unix.Getdents(d.fd, s.buf); err != unix.EINTR {
			break
		}
	}
	if n <= 0 || err != nil {
		return true, err
	}
	s.entries = parseDirents(s.buf[:n], s.entries)
	return false, nil
}

// Places in the kernel's struct linux_dirent64.
const (
	direntLength = 16
	direntType   = 18
	direntName   = 19
)

// parseDirents appends the entries of what getdents64 gave, without "." and "..".
func parseDirents(buf []byte, entries []dirent) []dirent {
	text := string(buf) // of which the names are parts
	for len(buf) >= direntName {
		length := int(binary.NativeEndian.Uint16(buf[direntLength:]))
		if length < direntName || length > len(buf) {
			break
		}
		name := text[len(text)-len(buf)+direntName:]
		if end := bytes.IndexByte(buf[direntName:length], 0); end >= 0 {
			name = name[:end]
		} else {
			name = name[:length-direntName]
		}
		kind := buf[direntType]
		deleted := binary.NativeEndian.Uint64(buf) == 0 // some file systems leave such
		if buf = buf[length:]; name != "" && name != "." && name != ".." && !deleted {
			entries = append(entries, dirent{name, typeOf(kind)})
		}
	}
	return entries
}

func typeOf(kind byte) fs.FileMode {
	switch kind {
	case unix.DT_REG:
		return 0
	case unix.DT_DIR:
		return fs.ModeDir
	case unix.DT_LNK:
		return fs.ModeSymlink
	case unix.DT_FIFO:
		return fs.ModeNamedPipe
	case unix.DT_SOCK:
		return fs.ModeSocket
	case unix.DT_CHR:
		return fs.ModeDevice | fs.ModeCharDevice
	case unix.DT_BLK:
		return fs.ModeDevice
	}
	return fs.ModeIrregular
}
