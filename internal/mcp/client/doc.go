// Package client keeps the connections to MCP servers and turns what the
// servers offer into tools, resources and prompts of ours.
//
// Servers start in the background and never delay anything that does not ask
// for them. Each has a state and, where it does not work, a reason. A call that
// may have had effects is never repeated. Nothing that a server says about its
// tools loosens a permission, unless the person's own configuration trusts it.
// The package decides no permission and knows no model.
package client
