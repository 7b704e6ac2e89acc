package permission

import "runtime"

// foldsPrograms: the file system finds a program whatever the letter case of its
// name, so deny and ask rules do not mind it either.
const foldsPrograms = runtime.GOOS == "darwin" || runtime.GOOS == "windows"
