//go:build !windows && !darwin

package pathrule

var host = platform{}
