// Package conformance holds the tests that run the public conformance suite of
// the protocol against the client. It has no code of its own.
package conformance
