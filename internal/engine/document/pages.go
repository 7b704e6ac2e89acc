package document

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxPages is how many pages of a PDF one call gives.
const MaxPages = 20

// ErrPages is wrapped by every refusal of a page range.
var ErrPages = errors.New("page range not usable")

// ParsePages reads page ranges such as "1-5,7" or "3-" for a document of total pages
// and returns the 1-based numbers in the order given, each once, at most MaxPages.
func ParsePages(ranges string, total int) ([]int, error) {
	var out []int
	seen := make(map[int]bool)
	for part := range strings.SplitSeq(ranges, ",") {
		part = strings.TrimSpace(part)
		from, to, dash := strings.Cut(part, "-")
		a, err := pageNumber(from)
		b := a
		if err == nil && dash {
			if strings.TrimSpace(to) == "" {
				b = total
			} else {
				b, err = pageNumber(to)
			}
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("pages %q: %q is no page or range; give for example \"1-5,7\": %w", ranges, part, ErrPages)
		case a > total:
			return nil, fmt.Errorf("pages %q: the document has %d pages: %w", ranges, total, ErrPages)
		case b < a:
			return nil, fmt.Errorf("pages %q: the range %q runs backwards: %w", ranges, part, ErrPages)
		}
		for p := a; p <= min(b, total); p++ {
			if seen[p] {
				continue
			}
			if len(out) == MaxPages {
				return nil, fmt.Errorf("pages %q: at most %d pages a call, ask for the rest in further calls: %w", ranges, MaxPages, ErrPages)
			}
			seen[p] = true
			out = append(out, p)
		}
	}
	return out, nil
}

func pageNumber(s string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 1 || strings.ContainsAny(s, "+-") {
		return 0, ErrPages
	}
	return n, nil
}
