package settings

import "encoding/json"

// Value is what one level says of a key.
type Value struct {
	Source Source
	File   string // "" for --settings given inline
	// Dir is the folder that a "/path" pattern in it starts from.
	Dir string
	// Untrusted tells that a repository supplies it and the folder is not trusted: it may make things stricter only.
	Untrusted bool
	JSON      json.RawMessage
}

// Values returns what each level says of a key, the strongest first, for keys whose levels the caller must join by
// rules of its own. The key is a path ("sandbox", "network", "allowedDomains").
func (s *Snapshot) Values(path ...string) []Value {
	var out []Value
	for _, d := range s.docs {
		v, ok := lookup(d.values, path)
		if !ok || v == nil {
			continue
		}
		raw, err := json.Marshal(v)
		if err != nil {
			continue
		}
		out = append(out, Value{Source: d.source, File: d.path, Dir: d.dir, Untrusted: d.repository && !s.Trust.Trusted, JSON: raw})
	}
	return out
}
