// Package schema makes JSON Schemas from Go types, validates inputs against
// them with a list of all that is wrong, and builds the form in which a
// model's API gets a tool.
//
// Foreign schemas are used as they are for validation. Nothing outside a
// schema is ever fetched: a reference that leaves the document is an error.
// The package decides nothing about calls.
package schema
