package shellrun

func CleanText(b []byte) string { return string(b) }
func wholeRunes(b []byte) int   { return len(b) }
