//go:build !unix

package shellrun

func hostUntilKilled(string, bool) {}
