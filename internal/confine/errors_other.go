//go:build !unix

package confine

func isReadOnly(error) bool { return false }
