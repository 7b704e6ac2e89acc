package hook

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dlclark/regexp2/v2"
)

// Limits of matchers that are regular expressions.
const (
	matchTimeout   = 500 * time.Millisecond
	maxMatcherSize = 4096 // bytes of a pattern
	maxMatchValue  = 64 << 10
)

// matcher compares an event's value with a group's matcher. It is compiled
// when it is first used.
type matcher struct {
	all   bool
	exact []string
	re    func() (*regexp2.Regexp, error)
}

// newMatcher reads a matcher by these rules: empty or * matches everything;
// nothing but letters, digits, _, -, blank, comma and | is a name or a list of
// names; anything else is a JavaScript regular expression, not anchored.
// narrow leaves only letters, digits, _ and | to names.
func newMatcher(s string, narrow bool) *matcher {
	if s == "" || s == "*" {
		return &matcher{all: true}
	}
	if strings.IndexFunc(s, func(r rune) bool { return !nameRune(r, narrow) }) < 0 {
		m := &matcher{}
		for _, name := range strings.FieldsFunc(s, func(r rune) bool { return r == '|' || r == ',' }) {
			if name = strings.TrimSpace(name); name != "" {
				m.exact = append(m.exact, name)
			}
		}
		return m
	}
	return &matcher{re: sync.OnceValues(func() (*regexp2.Regexp, error) { return compile(s) })}
}

func nameRune(r rune, narrow bool) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '|':
		return true
	case r == '-', r == ' ', r == ',':
		return !narrow
	}
	return false
}

func compile(s string) (re *regexp2.Regexp, err error) {
	defer recoverAs(&err, "the matcher cannot be compiled")
	if len(s) > maxMatcherSize {
		return nil, fmt.Errorf("the matcher has %d bytes; at most %d are allowed", len(s), maxMatcherSize)
	}
	re, err = regexp2.Compile(s, regexp2.ECMAScript)
	if err != nil {
		return nil, fmt.Errorf("the matcher %q is no regular expression: %s", clip(s, maxLabel), clip(err.Error(), maxLabel))
	}
	re.MatchTimeout = matchTimeout
	return re, nil
}

// match tells whether the value fits. An error means that this cannot be told.
func (m *matcher) match(value string) (ok bool, err error) {
	switch {
	case m.all:
		return true, nil
	case m.re == nil:
		return slices.Contains(m.exact, value), nil
	}
	re, err := m.re()
	if err != nil {
		return false, err
	}
	if len(value) > maxMatchValue {
		return false, fmt.Errorf("the value to match has %d bytes; at most %d are compared", len(value), maxMatchValue)
	}
	defer recoverAs(&err, "the matcher failed")
	if ok, err = re.MatchString(value); err != nil {
		return false, fmt.Errorf("the matcher gave up after %v", matchTimeout)
	}
	return ok, nil
}

func recoverAs(err *error, what string) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%s: internal error", what)
	}
}
