//go:build !unix

package client

func ignoreTerm() {}
