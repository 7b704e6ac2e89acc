package disclose

import (
	"strings"
	"sync"
	"unicode"
)

// words splits a text into lower-case words: at everything that is neither
// letter nor digit, and where a lower-case letter meets an upper-case one or a
// run of capitals ends, as in listPullRequests or HTTPServer.
func words(text string) []string {
	var out []string
	runes := []rune(text)
	start := -1
	flush := func(end int) {
		if start >= 0 {
			out = append(out, strings.ToLower(string(runes[start:end])))
			start = -1
		}
	}
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush(i)
			continue
		}
		if start >= 0 && unicode.IsUpper(r) {
			before := runes[i-1]
			next := i+1 < len(runes) && unicode.IsLower(runes[i+1]) && !pluralEnd(runes[i+1:])
			if unicode.IsLower(before) || unicode.IsUpper(before) && next {
				flush(i)
			}
		}
		if start < 0 {
			start = i
		}
	}
	flush(len(runes))
	return out
}

// pluralEnd tells whether an s ends the word here, as in PRs.
func pluralEnd(rest []rune) bool {
	return rest[0] == 's' && (len(rest) == 1 || !unicode.IsLetter(rest[1]))
}

// terms gives the stems of a text's words, without words that mean nothing.
func terms(text string) []string {
	var out []string
	for _, w := range words(text) {
		if !stopWords()[w] {
			out = append(out, stem(w))
		}
	}
	return out
}

// stem takes off what makes a plural, a participle or a gerund of a word, and a
// last e, since those endings swallow it. The stem need not be a word.
func stem(w string) string {
	n := len(w)
	switch {
	case n > 4 && strings.HasSuffix(w, "ies"):
		w = w[:n-3] + "y"
	case n > 4 && hasAnySuffix(w, "sses", "xes", "ches", "shes", "zes"):
		w = w[:n-2]
	case n > 2 && strings.HasSuffix(w, "s") && !hasAnySuffix(w, "ss", "us", "is"):
		w = w[:n-1]
	}
	n = len(w)
	switch {
	case n > 5 && strings.HasSuffix(w, "ing"):
		w = single(w[:n-3])
	case n > 4 && strings.HasSuffix(w, "ed") && !strings.HasSuffix(w, "eed"):
		w = single(w[:n-2])
	}
	if n = len(w); n > 3 && strings.HasSuffix(w, "e") {
		w = w[:n-1]
	}
	return w
}

func hasAnySuffix(s string, suffixes ...string) bool {
	for _, suffix := range suffixes {
		if strings.HasSuffix(s, suffix) {
			return true
		}
	}
	return false
}

// single undoes the doubling of a last consonant, as in running.
func single(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("aeioulsz", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}

// stopWords carry no meaning in a search for a tool.
var stopWords = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(`a an the of to in on at by for from with into as and or but if then than
		is are was were be been am do does did done has have had can could will would should may might must
		i me my we us our you your he she it its they them their this that these those there here
		what which who whom whose when where why how some any all no not so up out about please want need tool tools`) {
		out[w] = true
	}
	return out
})

// synonymGroups are words that name the same thing or deed among the tools of
// offices and software makers.
var synonymGroups = []string{
	"create make new add open",
	"create report submit file",
	"navigate open visit go browse",
	"delete remove erase drop",
	"get show read view fetch see display",
	"list show all",
	"find search lookup",
	"update change edit modify set",
	"finish complete done close resolve end",
	"start run launch trigger",
	"stop shutdown kill terminate cancel",
	"restart reboot",
	"answer reply respond",
	"reserve book schedule arrange",
	"mute silence snooze",
	"copy duplicate clone",
	"issue ticket bug",
	"status state",
	"mail email inbox mailbox",
	"meeting event appointment calendar",
	"message msg",
	"person people user member colleague somebody someone",
	"repository repo",
	"pr pull",
	"ci workflow pipeline build",
	"error failure fail exception crash",
	"database db sql",
	"server vm machine instance",
	"container pod docker",
	"kubernetes k8s",
	"function lambda",
	"ssl tls",
	"domain dns",
	"cost money spend price billing bill",
	"password credential secret",
	"metric graph chart plot",
	"environment env",
	"folder directory",
	"document doc",
	"spreadsheet sheet",
	"picture image screenshot photo",
	"url link address",
	"web website site page browser",
}

// synonyms maps a stem to the stems that may stand for it.
var synonyms = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for _, group := range synonymGroups {
		members := strings.Fields(group)
		for _, a := range members {
			for _, b := range members {
				if a, b := stem(a), stem(b); a != b {
					out[a] = append(out[a], b)
				}
			}
		}
	}
	return out
})
