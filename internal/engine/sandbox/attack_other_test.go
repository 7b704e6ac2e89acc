//go:build !linux || !(amd64 || arm64)

package sandbox

func attack(string) int { return 2 }
