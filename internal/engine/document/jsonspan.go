package document

import "encoding/json"

// The functions here find the places of values in JSON text that json.Valid has
// accepted, so that one value can be exchanged and every other byte kept.

type span struct{ from, to int }

type member struct {
	key   string
	whole span // from the key to the end of the value
	value span
}

func skipBlanks(b []byte, p int) int {
	for p < len(b) && (b[p] == ' ' || b[p] == '\t' || b[p] == '\n' || b[p] == '\r') {
		p++
	}
	return p
}

func skipString(b []byte, p int) int {
	for p++; b[p] != '"'; p++ {
		if b[p] == '\\' {
			p++
		}
	}
	return p + 1
}

func skipValue(b []byte, p int) int {
	depth := 0
	for {
		switch b[p] {
		case '"':
			p = skipString(b, p)
		case '{', '[':
			depth++
			p++
		case '}', ']':
			depth--
			p++
		case ' ', '\t', '\n', '\r', ',', ':':
			p++
			continue
		default:
			for p < len(b) && b[p] != ',' && b[p] != '}' && b[p] != ']' && b[p] > ' ' {
				p++
			}
		}
		if depth == 0 {
			return p
		}
	}
}

// members lists the members of the object at s; nil if it is no object.
func members(b []byte, s span) []member {
	if b[s.from] != '{' {
		return nil
	}
	var out []member
	for p := skipBlanks(b, s.from+1); b[p] != '}'; {
		m := member{whole: span{from: p}}
		end := skipString(b, p)
		json.Unmarshal(b[p:end], &m.key)
		p = skipBlanks(b, skipBlanks(b, end)+1) // after the colon
		m.value.from = p
		p = skipValue(b, p)
		m.value.to, m.whole.to = p, p
		out = append(out, m)
		if p = skipBlanks(b, p); b[p] == ',' {
			p = skipBlanks(b, p+1)
		}
	}
	return out
}

// elements lists the elements of the array at s; nil if it is no array.
func elements(b []byte, s span) []span {
	if b[s.from] != '[' {
		return nil
	}
	var out []span
	for p := skipBlanks(b, s.from+1); b[p] != ']'; {
		e := span{from: p}
		p = skipValue(b, p)
		e.to = p
		out = append(out, e)
		if p = skipBlanks(b, p); b[p] == ',' {
			p = skipBlanks(b, p+1)
		}
	}
	return out
}

// find returns the last member called key, which is the one that counts in JSON.
func find(ms []member, key string) (member, bool) {
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].key == key {
			return ms[i], true
		}
	}
	return member{}, false
}
