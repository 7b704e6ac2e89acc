//go:build !unix

package schedule

// sharedFile cannot tell here whether a file has several names.
func sharedFile(string) (string, bool) { return "", false }
