package shellscan

import (
	"strconv"
	"strings"
)

// braceExpand does what bash does with {a,b} and {1..9} before anything else.
// ok is false when a brace stands so that its meaning is not plain.
func braceExpand(atoms []atom) (words [][]atom, braced, ok bool) {
	open := false
	for _, a := range atoms {
		if !a.quoted && !a.unknown && strings.Contains(a.text, "{") {
			open = true
		}
	}
	if !open {
		return [][]atom{atoms}, false, true
	}
	units := make([]atom, 0, 32)
	for _, a := range atoms {
		if a.quoted || a.unknown {
			units = append(units, a)
			continue
		}
		for i := 0; i < len(a.text); i++ {
			units = append(units, atom{text: a.text[i : i+1]})
		}
	}
	n, braced := 0, false
	out, ok := expandUnits(units, &n, &braced)
	if !ok {
		return nil, true, false
	}
	if !braced {
		return [][]atom{atoms}, false, true
	}
	for i, w := range out {
		out[i] = merge(w)
	}
	return out, true, true
}

// merge joins neighbouring unquoted characters.
func merge(w []atom) []atom {
	var out []atom
	for _, a := range w {
		if k := len(out) - 1; k >= 0 && !a.quoted && !a.unknown && !out[k].quoted && !out[k].unknown {
			out[k].text += a.text
			continue
		}
		out = append(out, a)
	}
	return out
}

func is(a atom, c string) bool { return !a.quoted && !a.unknown && a.text == c }

func expandUnits(u []atom, n *int, braced *bool) ([][]atom, bool) {
	start := -1
	for i := range u {
		if is(u[i], "{") {
			start = i
			break
		}
	}
	if start < 0 {
		return [][]atom{u}, true
	}
	depth, end := 0, -1
	var commas []int
scan:
	for i := start; i < len(u); i++ {
		switch {
		case is(u[i], "{"):
			depth++
		case is(u[i], "}"):
			if depth--; depth == 0 {
				end = i
				break scan
			}
		case is(u[i], ",") && depth == 1:
			commas = append(commas, i)
		}
	}
	if end < 0 {
		// An open brace that is never closed: plain only when nothing in it could be an expansion.
		for _, a := range u[start:] {
			if is(a, ",") || is(a, ".") || is(a, "}") {
				return nil, false
			}
		}
		return [][]atom{u}, true
	}
	var alts [][]atom
	switch {
	case len(commas) > 0:
		from := start + 1
		for _, k := range append(commas, end) {
			sub, ok := expandUnits(u[from:k], n, braced)
			if !ok {
				return nil, false
			}
			alts = append(alts, sub...)
			from = k + 1
		}
	default:
		var ok bool
		if alts, ok = sequence(u[start+1 : end]); !ok {
			return nil, false
		}
		if alts == nil { // {} or {x}: text
			rest, ok := expandUnits(u[end+1:], n, braced)
			if !ok {
				return nil, false
			}
			for _, a := range u[start+1 : end] {
				if is(a, "{") {
					return nil, false
				}
			}
			return product(u[:end+1], [][]atom{nil}, rest), true
		}
	}
	*braced = true
	rest, ok := expandUnits(u[end+1:], n, braced)
	if !ok || len(alts)*len(rest) > MaxBraceWords {
		return nil, false
	}
	if *n += len(alts) * len(rest); *n > MaxBraceWords*2 {
		return nil, false
	}
	return product(u[:start], alts, rest), true
}

func product(pre []atom, mid, post [][]atom) [][]atom {
	out := make([][]atom, 0, len(mid)*len(post))
	for _, m := range mid {
		for _, p := range post {
			w := make([]atom, 0, len(pre)+len(m)+len(p))
			out = append(out, append(append(append(w, pre...), m...), p...))
		}
	}
	return out
}

// sequence expands the inside of {1..5}; nil when it is no sequence.
func sequence(u []atom) ([][]atom, bool) {
	var b strings.Builder
	for _, a := range u {
		if a.quoted || a.unknown {
			if strings.Contains(b.String(), "..") || a.unknown {
				return nil, false
			}
			b.WriteString("\x00")
			continue
		}
		b.WriteString(a.text)
	}
	text := b.String()
	if !strings.Contains(text, "..") {
		return nil, true
	}
	from, to, _ := strings.Cut(text, "..")
	a, errA := strconv.Atoi(from)
	z, errZ := strconv.Atoi(to)
	if errA != nil || errZ != nil || strconv.Itoa(a) != from || strconv.Itoa(z) != to || a > z || z-a >= MaxBraceWords {
		return nil, false
	}
	var out [][]atom
	for ; a <= z; a++ {
		out = append(out, []atom{{text: strconv.Itoa(a)}})
	}
	return out, true
}
