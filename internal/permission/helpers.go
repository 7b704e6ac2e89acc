package permission

func repoHelpers(dir string) (string, bool) { return "", false }
