//go:build !darwin && !windows

package schedule

func foldCase(path string) string { return path }
