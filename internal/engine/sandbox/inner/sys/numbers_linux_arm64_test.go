package sys

var numbers map[string][2]int64
