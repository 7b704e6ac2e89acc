// Package floorplan holds no code: its test asserts, from the real import
// graph, on which floor every package lives and that it imports only packages
// on floors below it, or in its own folder.
package floorplan
