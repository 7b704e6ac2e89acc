package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// fields is a JSON object whose members are found by their exact names only.
type fields map[string]json.RawMessage

func object(raw json.RawMessage) (fields, error) {
	var f fields
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	if f == nil {
		return nil, errors.New("it must be an object")
	}
	return f, nil
}

// get decodes one member; an absent one, or null, leaves out as it is.
func (f fields) get(name string, out any) error {
	raw := f[name]
	if len(raw) == 0 || isNull(raw) {
		return nil
	}
	if json.Unmarshal(raw, out) == nil {
		return nil
	}
	return fmt.Errorf("it must be %s", wanted(out))
}

func wanted(out any) string {
	switch out.(type) {
	case *string:
		return "a string"
	case *bool, **bool:
		return "true or false"
	case *[]string:
		return "a list of strings"
	case *map[string]string:
		return "an object of strings"
	case *[]json.RawMessage:
		return "a list"
	}
	return "an object"
}

func isNull(raw json.RawMessage) bool {
	return string(bytes.TrimSpace(raw)) == "null"
}

// encode is json.Marshal without the escaping of <, > and &.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}

// clip shortens a text to one line of at most n characters.
func clip(s string, n int) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		s = s[:i] + "…"
	}
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
