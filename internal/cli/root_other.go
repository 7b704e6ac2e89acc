//go:build !unix

package cli

// runsAsRoot has no meaning here.
func runsAsRoot() bool { return false }
