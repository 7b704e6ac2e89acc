package inner

import "errors"

// What strings, strconv and bytes would do: importing one of them is enough to be initialised late (see package sys).

var errNoNumber = errors.New("not a number")

func itoa(n int) string {
	if n < 0 {
		return "-" + itoa(-n)
	}
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

// atoi reads digits, with a minus before them or not, of a number that has at most 18 of them.
func atoi(s string) (int, error) {
	sign := 1
	if len(s) > 1 && s[0] == '-' {
		sign, s = -1, s[1:]
	}
	if s == "" || len(s) > 18 {
		return 0, errNoNumber
	}
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, errNoNumber
		}
		n = 10*n + int(s[i]-'0')
	}
	return sign * n, nil
}

func cut(s string, sep byte) (before, after string, found bool) {
	for i := range len(s) {
		if s[i] == sep {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

func split(s string, sep byte) []string {
	var out []string
	for {
		before, after, found := cut(s, sep)
		out = append(out, before)
		if !found {
			return out
		}
		s = after
	}
}

// fields are the words between blanks and line ends.
func fields(s string) []string {
	var out []string
	start := -1
	for i := range len(s) + 1 {
		blank := i == len(s) || s[i] == ' ' || s[i] == '\t' || s[i] == '\n'
		switch {
		case blank && start >= 0:
			out, start = append(out, s[start:i]), -1
		case !blank && start < 0:
			start = i
		}
	}
	return out
}

// quote shows a text in one line of plain characters.
func quote(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c < ' ' || c > '~' {
			b[i] = '?'
		}
	}
	return `"` + string(b) + `"`
}
