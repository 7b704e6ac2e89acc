//go:build !linux

package grep

import (
	"io"
	"time"
)

// near would open files faster than openRegular does.
type near struct{}

func (n *near) open(string) {}
func (n *near) close()      {}

type nearFile struct{ fd int }

func (f *nearFile) open(*near, string) bool { return false }

func (f *nearFile) Read([]byte) (int, error) { return 0, io.EOF }
func (f *nearFile) Close() error             { return nil }
func (f *nearFile) size() int64              { return -1 }

func modTime(int) time.Time { return time.Time{} }
