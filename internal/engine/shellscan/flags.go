package shellscan

import "strings"

// flagKind says what an option takes.
type flagKind uint8

const (
	flagMissing  flagKind = iota // not in the list
	flagBool                     // takes nothing
	flagValue                    // takes a value, attached or in the next word
	flagOptional                 // takes a value only when attached
	flagRead                     // takes a file to read
	flagTree                     // takes a directory to read
	flagPair                     // takes two values
	flagPairRead                 // takes a value and a file to read
)

// flagSet is the parsed list of a program's harmless options.
//
// The list is words like "-a" (nothing), "-n:" (a value), "--color?" (a value
// only when attached), "-f<" (a file that is read), "-d/" (a directory that is read),
// "--arg::" (two values), "--rawfile:<" (a value and a file that is read),
// "-#" (numbers such as -5), "-*" (every other option is harmless too), "+" (words
// beginning with + are options).
type flagSet struct {
	short [128]flagKind
	long  map[string]flagKind
	num   bool
	all   bool
	plus  bool
	count int
}

func (f *flagSet) any() bool { return f.count > 0 }

func parseFlagSet(spec string) *flagSet {
	f := &flagSet{}
	for len(spec) > 0 {
		word := spec
		if k := strings.IndexByte(spec, ' '); k >= 0 {
			word, spec = spec[:k], spec[k+1:]
		} else {
			spec = ""
		}
		if word == "" {
			continue
		}
		f.count++
		switch word {
		case "-#":
			f.num = true
			continue
		case "-*":
			f.all = true
			continue
		case "+":
			f.plus = true
			continue
		}
		kind := flagBool
		switch word[len(word)-1] {
		case ':':
			kind = flagValue
			if len(word) > 3 && word[len(word)-2] == ':' {
				kind, word = flagPair, word[:len(word)-1]
			}
		case '?':
			kind = flagOptional
		case '<':
			kind = flagRead
			if word[len(word)-2] == ':' {
				kind, word = flagPairRead, word[:len(word)-1]
			}
		case '/':
			kind = flagTree
		}
		if kind != flagBool && len(word) > 2 {
			word = word[:len(word)-1]
		} else {
			kind = flagBool
		}
		if len(word) == 2 {
			f.short[word[1]&0x7f] = kind
			continue
		}
		if f.long == nil {
			f.long = map[string]flagKind{}
		}
		f.long[word] = kind
	}
	return f
}

// skip gives how many words the option at the front takes.
func (f *flagSet) skip(argv []Word) (int, bool) {
	a := argv[0].Text
	if f.num && len(a) > 1 && isDigits(a[1:]) {
		return 1, true
	}
	if strings.HasPrefix(a, "--") {
		name, _, has := strings.Cut(a, "=")
		switch f.long[name] {
		case flagBool:
			return 1, !has
		case flagOptional:
			return 1, true
		case flagValue, flagRead, flagTree:
			if has {
				return 1, true
			}
			return 2, len(argv) > 1 && argv[1].single()
		}
		return 0, false
	}
	if k := f.long[a]; k == flagBool { // -name of one dash
		return 1, true
	}
	for i := 1; i < len(a); i++ {
		if a[i] >= 0x80 {
			return 0, false
		}
		switch f.short[a[i]] {
		case flagBool:
		case flagOptional:
			return 1, true
		case flagValue, flagRead, flagTree:
			if i+1 < len(a) {
				return 1, true
			}
			return 2, len(argv) > 1 && argv[1].single()
		default:
			return 0, false
		}
	}
	return 1, true
}

// single tells that a word surely is one word.
func (w Word) single() bool { return !w.Multi }
