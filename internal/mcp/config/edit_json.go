package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// defaultIndent is one level of a file that does not show its own.
const defaultIndent = "  "

// layout is how a file is set.
type layout struct {
	lines bool   // one member a line
	unit  string // one level
	eol   string
}

func layoutOf(root *hujson.Object) layout {
	l := layout{lines: true, unit: defaultIndent, eol: "\n"}
	if len(root.Members) == 0 {
		return l
	}
	before := string(root.Members[0].Name.BeforeExtra)
	i := strings.LastIndexByte(before, '\n')
	l.lines = i >= 0
	if unit := before[i+1:]; l.lines && unit != "" {
		l.unit = unit
	}
	if strings.Contains(before, "\r\n") {
		l.eol = "\r\n"
	}
	return l
}

// value lays out a value that stands in a line with this indent.
func (l layout) value(raw json.RawMessage, indent string) (hujson.ValueTrimmed, error) {
	var b bytes.Buffer
	var err error
	if l.lines {
		err = json.Indent(&b, raw, indent, l.unit)
	} else {
		err = json.Compact(&b, raw)
	}
	if err != nil {
		return nil, err
	}
	v, err := hujson.Parse(bytes.ReplaceAll(b.Bytes(), []byte("\n"), []byte(l.eol)))
	return v.Value, err
}

// add puts a member at the end of an object that is so deep in the file. The
// members before it stay as they are.
func (l layout) add(o *hujson.Object, depth int, name string, raw json.RawMessage) (*hujson.Value, error) {
	indent := strings.Repeat(l.unit, depth+1)
	before, colon := l.eol+indent, " "
	if !l.lines {
		before, colon = "", ""
	}
	if n := len(o.Members); n > 0 {
		last := o.Members[n-1]
		before, colon = string(last.Name.BeforeExtra), string(last.Value.BeforeExtra)
		i := strings.LastIndexByte(before, '\n')
		indent, l.lines = before[i+1:], i >= 0
		if strings.Trim(before, " \t\r\n") != "" || strings.ContainsAny(colon, "\r\n") {
			colon = " "
		}
		if i >= 0 { // without blank lines
			before = l.eol + indent
		}
	} else if l.lines {
		o.AfterExtra = hujson.Extra(l.eol + strings.Repeat(l.unit, depth))
	}
	v, err := l.value(raw, indent)
	if err != nil {
		return nil, err
	}
	o.Members = append(o.Members, hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: hujson.Extra(before), Value: hujson.String(name)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(colon), Value: v},
	})
	return &o.Members[len(o.Members)-1].Value, nil
}

// indexOf gives the place of a key in an object, or -1. A key that stands there
// twice is an error: whoever wrote it meant something else than a program reads.
func indexOf(o *hujson.Object, key string) (int, error) {
	at := -1
	for i := range o.Members {
		name, ok := o.Members[i].Name.Value.(hujson.Literal)
		if !ok || name.String() != key {
			continue
		}
		if at >= 0 {
			return 0, fmt.Errorf("the key %q stands twice in it", key)
		}
		at = i
	}
	return at, nil
}

func parseObject(data []byte) (hujson.Value, *hujson.Object, error) {
	root, err := hujson.Parse(bytes.Clone(data))
	if err != nil {
		return root, nil, err
	}
	o, ok := root.Value.(*hujson.Object)
	if !ok {
		return root, nil, fmt.Errorf("it is not an object")
	}
	return root, o, nil
}

// putMember adds a member to the object that the keys of path lead to, and makes
// the objects on the way. Everything else keeps its bytes.
func putMember(data []byte, path []string, name string, value json.RawMessage) ([]byte, error) {
	root, o, err := parseObject(data)
	if err != nil {
		return nil, err
	}
	l := layoutOf(o)
	for depth, key := range path {
		i, err := indexOf(o, key)
		if err != nil {
			return nil, err
		}
		var v *hujson.Value
		if i >= 0 {
			v = &o.Members[i].Value
		} else if v, err = l.add(o, depth, key, json.RawMessage("{}")); err != nil {
			return nil, err
		}
		if v.Value.Kind() == 'n' {
			v.Value = &hujson.Object{}
		}
		next, ok := v.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("%q in it is not an object", key)
		}
		o = next
	}
	if i, err := indexOf(o, name); err != nil || i >= 0 {
		return nil, fmt.Errorf("the key %q stands in it already", name)
	}
	if _, err := l.add(o, len(path), name, value); err != nil {
		return nil, err
	}
	return root.Pack(), nil
}

// dropMember takes a member out of the object that the keys of path lead to. A
// project of which nothing is left goes too. Everything else keeps its bytes.
func dropMember(data []byte, path []string, name string) ([]byte, error) {
	root, o, err := parseObject(data)
	if err != nil {
		return nil, err
	}
	chain := []*hujson.Object{o}
	for _, key := range path {
		i, err := indexOf(o, key)
		if err != nil {
			return nil, err
		}
		if i < 0 {
			return data, nil
		}
		next, ok := o.Members[i].Value.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("%q in it is not an object", key)
		}
		o = next
		chain = append(chain, o)
	}
	if err := drop(o, name); err != nil {
		return nil, err
	}
	if len(path) == 3 && len(o.Members) == 0 && len(chain[2].Members) == 1 { // projects, the project, mcpServers
		if err := drop(chain[1], path[1]); err != nil {
			return nil, err
		}
	}
	return root.Pack(), nil
}

func drop(o *hujson.Object, key string) error {
	i, err := indexOf(o, key)
	if err != nil || i < 0 {
		return err
	}
	first := o.Members[0].Name.BeforeExtra
	o.Members = append(o.Members[:i:i], o.Members[i+1:]...)
	switch {
	case len(o.Members) == 0:
		o.AfterExtra = nil
	case i == 0:
		o.Members[0].Name.BeforeExtra = first
	}
	return nil
}
