// Package atomicfile replaces the content of files so that a reader, a crash or a
// second process sees the old content or the new content, and nothing between.
//
// The way of a replacement: resolve the path to its real target, take the locks,
// compare the present content with what the caller expects, write a temporary file
// in the same directory, flush it, rename it over the target, flush the directory.
// Every step after the resolution works relative to an open handle of the target's
// directory, reached without following any link, so that a link swapped in after
// the caller's permission check is refused and not followed.
//
// Two cases cannot use a rename: a file with several hard links (a rename would
// separate it from its other names) and a file system or mount point that refuses
// it. They are written in place after a complete, flushed copy of the old content
// was put beside the file. A write that fails puts the old content back. Only a
// process killed in the middle of such a write leaves a mixed file; the copy beside
// it then holds the old content, is never removed while it matters, and is reported
// by [Interrupted] and by the next [Replace] of that file.
//
// The package knows nothing of permission rules, encodings or tools, and it sets no
// limit to the size of files: callers do.
package atomicfile
