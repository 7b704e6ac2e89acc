// Package config reads which MCP servers there are, from the files and scopes
// that people write them in, and decides which of them may be started. It
// starts nothing and contacts nobody.
package config
