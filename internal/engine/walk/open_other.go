//go:build !unix

package walk

import "os"

func openNoBlock(name string) (*os.File, error) { return os.Open(name) }
