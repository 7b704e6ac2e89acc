// Package pathrule answers questions about file paths: where a spelling really leads, whether a path lies inside a
// folder, and whether a gitignore-style rule covers it. It also holds the tables of protected names and critical
// folders.
//
// It looks at the file system (lstat, readlink, stat) and never changes it. It knows nothing of tools, settings or
// permission modes: it says whether a rule covers a path, never whether a call may run.
//
// Two sides are kept apart throughout. A match that opens a door (an allow rule) is strict: every spelling of the path
// must match, byte for byte. A match that closes a door (a deny or ask rule, a protected name) is loose: any spelling is
// enough, letter case and Unicode composition do not count, and an existing target is also recognised by its identity
// on the device.
//
// Answers are true at the moment of the call. Whoever opens a file afterwards opens Resolved.Real without following
// links, so that a link planted in between is not followed.
package pathrule
