package shellrun

func hostUntilKilled(dir string, noCgroup bool) {}
