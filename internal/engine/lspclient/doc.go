// Package lspclient speaks the Language Server Protocol with one server process:
// it starts the process, keeps the server's copy of files the same as those on
// disk, asks it questions, collects its diagnostics, and ends it together with all
// that it started.
//
// A server is not trusted to behave: what it sends is bounded in size, depth and
// number, every question ends with an answer, a timeout or the end of the
// connection, and a server that stops reading is given up. It is never allowed to
// change files: what it proposes is declined.
//
// The package knows nothing of tools and of which server fits which file, and it
// starts no server again: callers do. Positions here are those of the protocol,
// zero-based and in UTF-16 units; [Text] converts them.
package lspclient
