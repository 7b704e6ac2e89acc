//go:build !race

package shellrun

const raceDetector = false
