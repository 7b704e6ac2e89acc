package shellscan

import "strings"

// use is one option as it was given.
type use struct {
	name  string // "-n" or "--lines"
	value Word
	has   bool // a value was given
}

// args are the words of a command sorted into options and operands.
type args struct {
	prog string
	uses []use
	pos  []Word
	// multi tells that some operand may become none or several.
	multi bool
	// guarded is the number of operands in front of "--"; -1 without it.
	guarded int
	// reads and trees are the files and directories that options name.
	reads, trees []Word
	why          string
}

// has tells whether one of the options was given.
func (a *args) has(names ...string) bool {
	for _, u := range a.uses {
		for _, n := range names {
			if u.name == n {
				return true
			}
		}
	}
	return false
}

// value gives the last value of an option.
func (a *args) value(names ...string) (Word, bool) {
	for i := len(a.uses) - 1; i >= 0; i-- {
		for _, n := range names {
			if a.uses[i].name == n && a.uses[i].has {
				return a.uses[i].value, true
			}
		}
	}
	return Word{}, false
}

// parse sorts words (without the program) by the list of harmless options. why is
// not empty when an option is not in it, or when a word that is not certain may be
// an option; with safe (no option of the program writes or runs anything) such
// words are operands.
func (f *flagSet) parse(prog string, words []Word, safe, stopAtFirst bool) args {
	a := args{prog: prog, guarded: -1}
	refuse := func(why string) args {
		a.why = why
		return a
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if a.guarded >= 0 || stopAtFirst && len(a.pos) > 0 {
			a.operand(w)
			continue
		}
		if w.Known != Literal {
			if !w.mayBeOption() {
				a.operand(w)
				continue
			}
			if ok := f.partial(&a, w, safe); ok {
				continue
			}
			if !safe {
				return refuse("the word " + show(w) + " may hold an option of " + prog)
			}
			a.operand(w)
			continue
		}
		t := w.Text
		if t == "--" {
			a.guarded = len(a.pos)
			continue
		}
		if f.plus && len(t) > 1 && t[0] == '+' {
			a.uses = append(a.uses, use{name: "+", value: w, has: true})
			continue
		}
		if len(t) < 2 || t[0] != '-' {
			a.operand(w)
			continue
		}
		if f.num && isDigits(t[1:]) {
			a.uses = append(a.uses, use{name: "-#", value: w})
			continue
		}
		n, ok := f.option(&a, words[i:])
		if !ok {
			if f.all {
				a.uses = append(a.uses, use{name: t})
				continue
			}
			return refuse("the option " + show(w) + " of " + prog + " is not known to be harmless")
		}
		i += n - 1
	}
	return a
}

func (a *args) operand(w Word) {
	a.multi = a.multi || w.Multi
	a.pos = append(a.pos, w)
}

// mayBeOption tells that a word that is not certain may turn out to begin with a dash.
func (w Word) mayBeOption() bool {
	if w.Known == Literal {
		return strings.HasPrefix(w.Text, "-")
	}
	if w.alts != nil {
		for _, a := range w.alts {
			if a.mayBeOption() {
				return true
			}
		}
		return false
	}
	if w.Prefix == "" || w.Prefix[0] == '-' {
		return true
	}
	return w.Multi && !w.pattern
}

// mayBegin tells that a word may begin with one of the characters.
func (w Word) mayBegin(set string) bool {
	for _, a := range w.alts {
		if a.mayBegin(set) {
			return true
		}
	}
	t := w.Prefix
	if w.Known == Literal {
		t = w.Text
	}
	if t == "" {
		return w.alts == nil
	}
	return strings.IndexByte(set, t[0]) >= 0
}

// partial accepts --name=$value and -n$value for options that take a value.
func (f *flagSet) partial(a *args, w Word, safe bool) bool {
	p := w.Prefix
	if len(p) < 2 || p[0] != '-' || w.Multi && !safe {
		return false
	}
	if strings.HasPrefix(p, "--") {
		name, _, has := strings.Cut(p, "=")
		if !has {
			return false
		}
		k := f.long[name]
		if k != flagValue && k != flagOptional && k != flagRead && k != flagTree {
			return false
		}
		a.take(k, use{name: name, value: Word{Source: w.Source, Text: w.Text, Multi: w.Multi}, has: true})
		return true
	}
	for i := 1; i < len(p); i++ {
		switch k := f.short[p[i]&0x7f]; k {
		case flagBool:
		case flagValue, flagOptional, flagRead, flagTree:
			a.take(k, use{name: "-" + p[i:i+1], value: Word{Source: w.Source, Text: w.Text, Multi: w.Multi}, has: true})
			return true
		default:
			return false
		}
	}
	return false
}

func (a *args) take(k flagKind, u use) {
	a.uses = append(a.uses, u)
	switch k {
	case flagRead:
		a.reads = append(a.reads, u.value)
	case flagTree:
		a.trees = append(a.trees, u.value)
	}
}

// option takes the option at the front of words and gives how many words it has.
func (f *flagSet) option(a *args, words []Word) (int, bool) {
	t := words[0].Text
	value := func(k flagKind, name string) (int, bool) {
		n := 1
		if k == flagPair || k == flagPairRead {
			n = 2
		}
		if len(words) <= n {
			return 0, false
		}
		for _, w := range words[1 : n+1] {
			if w.Multi {
				return 0, false
			}
		}
		if k == flagPairRead {
			k = flagRead
		}
		a.take(k, use{name: name, value: words[n], has: true})
		return n + 1, true
	}
	if strings.HasPrefix(t, "--") {
		name, v, has := strings.Cut(t, "=")
		switch k := f.long[name]; k {
		case flagMissing:
			return 0, false
		case flagBool:
			if has {
				return 0, false
			}
			a.uses = append(a.uses, use{name: name})
			return 1, true
		case flagOptional:
			a.uses = append(a.uses, use{name: name, value: lit(v), has: has})
			return 1, true
		case flagPair, flagPairRead:
			if has {
				return 0, false
			}
			return value(k, name)
		default:
			if has {
				a.take(k, use{name: name, value: lit(v), has: true})
				return 1, true
			}
			return value(k, name)
		}
	}
	if name, v, has := strings.Cut(t, "="); f.long[name] != flagMissing {
		switch k := f.long[name]; {
		case !has && k == flagBool:
			a.uses = append(a.uses, use{name: t})
			return 1, true
		case has && k != flagBool && k != flagPair && k != flagPairRead:
			a.take(k, use{name: name, value: lit(v), has: true})
			return 1, true
		case !has && k != flagOptional:
			return value(k, name)
		}
	}
	for i := 1; i < len(t); i++ {
		if t[i] >= 0x80 {
			return 0, false
		}
		name := "-" + t[i:i+1]
		switch k := f.short[t[i]]; k {
		case flagMissing, flagPair, flagPairRead:
			return 0, false
		case flagBool:
			a.uses = append(a.uses, use{name: name})
		case flagOptional:
			a.uses = append(a.uses, use{name: name, value: lit(t[i+1:]), has: i+1 < len(t)})
			return 1, true
		default:
			if i+1 < len(t) {
				a.take(k, use{name: name, value: lit(t[i+1:]), has: true})
				return 1, true
			}
			return value(k, name)
		}
	}
	return 1, true
}

// refused finds an option that a program's row names as one that writes or runs:
// spelled out, shortened, in a cluster, or possible in a word that is not certain.
func (p *program) refused(words []Word, set *flagSet) string {
	if p.refuse == "" {
		return ""
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		t := w.Text
		if w.Known != Literal {
			if t = w.Prefix; !w.mayBeOption() {
				if p.stop {
					return ""
				}
				continue
			}
			if t == "" || t == "-" || t == "--" || w.Multi && !w.pattern {
				return "the word " + show(w) + " may hold an option"
			}
		}
		if t == "--" {
			return ""
		}
		if len(t) < 2 || t[0] != '-' {
			if p.stop {
				return ""
			}
			continue
		}
		if why := p.matchRefused(t, set); why != "" {
			return "the option " + show(w) + " " + why
		}
		// Step over the value of a known option.
		if w.Known == Literal {
			var a args
			if n, ok := set.option(&a, words[i:]); ok {
				i += n - 1
			}
		}
	}
	return ""
}

func (p *program) matchRefused(t string, set *flagSet) string {
	rest := p.refuse
	for rest != "" {
		var entry string
		entry, rest, _ = strings.Cut(rest, "; ")
		names, why, _ := strings.Cut(entry, ": ")
		for names != "" {
			var name string
			name, names, _ = strings.Cut(names, " ")
			if hits(t, name, set) {
				return why
			}
		}
	}
	return ""
}

// hits tells whether the option word t may be the option name.
func hits(t, name string, set *flagSet) bool {
	if strings.HasPrefix(name, "--") {
		given, _, _ := strings.Cut(t, "=")
		return given == name || len(given) > 3 && strings.HasPrefix(name, given) && set.long[given] == flagMissing
	}
	if len(name) > 2 {
		given, _, _ := strings.Cut(t, "=")
		return given == name
	}
	if strings.HasPrefix(t, "--") {
		return false
	}
	for i := 1; i < len(t); i++ {
		if t[i] == name[1] {
			return true
		}
		if t[i] >= 0x80 {
			return false
		}
		if k := set.short[t[i]]; k != flagBool && k != flagMissing {
			return false
		}
	}
	return false
}
