package shellscan

import "strings"

// needs is the check of a row that holds only with one of the options.
func needs(option, why string) func(*scanner, *Command, *args, state) string {
	return func(_ *scanner, _ *Command, a *args, _ state) string {
		if a.has(option) {
			return ""
		}
		return why
	}
}

// beyond is the check of a row that no prefix rule may cover.
func beyond(why string) func(*scanner, *Command, *args, state) string {
	return func(_ *scanner, c *Command, _ *args, _ state) string {
		c.BeyondPrefix = why
		return why
	}
}

func filesFrom(_ *scanner, c *Command, a *args, _ state) string {
	if a.has("--files0-from") {
		c.UnknownReads = true
	}
	return ""
}

func testCheck(s *scanner, c *Command, a *args, st state) string {
	words := c.Run[1:]
	for i, w := range words {
		if w.Known == Literal && (w.Text == "-v" || w.Text == "-R") && i+1 < len(words) && words[i+1].Known == Literal && !strings.ContainsAny(words[i+1].Text, "[$`") {
			continue
		}
		if w.Known == Literal && (w.Text == "-v" || w.Text == "-R") || w.Known != Literal && w.mayBeOption() && w.Multi && i+1 < len(words) {
			c.BeyondPrefix = "a test may evaluate a subscript"
			return "a test may evaluate a subscript"
		}
		if w.Known == Literal && len(w.Text) == 2 && strings.HasPrefix(w.Text, "-") && strings.Contains("abcdefghkprstuwxLOGSN", w.Text[1:]) && i+1 < len(words) && words[i+1].Text != "]" {
			s.reads(c, words[i+1], st, false)
		}
	}
	return ""
}

func grepCheck(s *scanner, c *Command, a *args, st state) string {
	d, _ := a.value("-d", "--directories")
	if !a.has("-r", "-R", "--recursive", "--dereference-recursive") && d.Text != "recurse" {
		return ""
	}
	for i := range c.Reads {
		c.Reads[i].Tree = true
	}
	n := len(a.pos)
	if n > 0 && !a.has("-e", "-f", "--regexp", "--file") {
		n--
	}
	if n == 0 {
		s.reads(c, lit("."), st, true)
	}
	return ""
}

func rgCheck(s *scanner, c *Command, a *args, st state) string {
	if a.has("--files") && len(a.pos) > 0 {
		s.reads(c, a.pos[0], st, true)
	} else if len(a.pos) == 1 && !a.has("-e", "-f", "--regexp", "--file") {
		s.reads(c, lit("."), st, true)
	}
	return ""
}

func fdCheck(s *scanner, c *Command, a *args, st state) string {
	if len(a.pos) == 1 && len(a.trees) == 0 {
		s.reads(c, lit("."), st, false)
	}
	return ""
}

func batCheck(_ *scanner, _ *Command, a *args, _ state) string {
	if v, ok := a.value("--paging"); ok && v.Text != "never" {
		return "a pager can run programs"
	}
	return ""
}

// secretNames are parts of the names of variables that hold secrets.
var secretNames = []string{"KEY", "TOKEN", "SECRET", "PASS", "PWD_", "CRED", "AUTH", "PRIVATE", "COOKIE", "SESSION", "CERT", "DSN", "DATABASE", "CONN", "URL", "URI", "WEBHOOK", "_ID", "SIGN", "SALT"}

func printenvCheck(_ *scanner, _ *Command, a *args, _ state) string {
	for _, w := range a.pos {
		name := strings.ToUpper(w.Text)
		for _, x := range secretNames {
			if w.Known != Literal || strings.Contains(name, x) {
				return "the variable " + show(w) + " may hold a secret"
			}
		}
	}
	if len(a.pos) == 0 && !a.has("--version", "--help") {
		return "it shows the environment, which may hold secrets"
	}
	return ""
}

func manCheck(_ *scanner, _ *Command, a *args, _ state) string {
	for _, w := range a.pos {
		if w.Known != Literal || strings.ContainsAny(w.Text, "/\\") {
			return "the page " + show(w) + " is not a plain name"
		}
	}
	return ""
}

func tputCheck(_ *scanner, _ *Command, a *args, _ state) string {
	for _, w := range a.pos {
		if w.Known != Literal || w.Text == "init" || w.Text == "reset" {
			return "tput init and reset run what the terminal's description names"
		}
	}
	return ""
}

func psCheck(_ *scanner, _ *Command, a *args, _ state) string {
	for _, w := range a.pos {
		if w.Known != Literal {
			return "the word " + show(w) + " may hold an option of ps"
		}
		if strings.Contains(w.Text, "e") && !isDigits(w.Text) {
			return "ps e shows the environment of processes"
		}
	}
	for _, n := range []string{"-o", "-O", "--format"} {
		if v, ok := a.value(n); ok && strings.Contains(v.Text, "env") {
			return "it shows the environment of processes"
		}
	}
	return ""
}

func topCheck(_ *scanner, _ *Command, a *args, _ state) string {
	if !a.has("-b") && !a.has("-l") {
		return "top is interactive without -b"
	}
	return ""
}

func sysctlCheck(_ *scanner, _ *Command, a *args, _ state) string {
	for _, w := range a.pos {
		if w.Known != Literal || strings.Contains(w.Text, "=") {
			return "sysctl name=value changes settings"
		}
	}
	return ""
}

// noAddress refuses operands that are fetched from the network.
func noAddress(_ *scanner, _ *Command, a *args, _ state) string {
	for _, w := range a.pos {
		if w.Known != Literal || strings.Contains(w.Text, "://") {
			return "the word " + show(w) + " may be an address in the network"
		}
	}
	return ""
}

// getentCheck refuses look-ups that are sent to name servers.
func getentCheck(_ *scanner, _ *Command, a *args, _ state) string {
	if len(a.pos) == 0 || a.pos[0].Known != Literal || !wordIn("passwd group services protocols rpc shells", a.pos[0].Text) {
		return "getent may ask the network"
	}
	return ""
}

func kubeCheck(_ *scanner, _ *Command, a *args, _ state) string {
	if a.has("-f") && a.prog != "kubectl logs" && a.prog != "oc logs" {
		return a.prog + " -f reads a file or an address"
	}
	if v, ok := a.value("-o", "--output"); ok && (v.Known != Literal || strings.Contains(v.Text, "file=")) {
		return "the form of its output may come from a file"
	}
	for _, w := range a.pos {
		if w.Known != Literal || strings.Contains(strings.ToLower(w.Text), "secret") {
			return "it may show secrets"
		}
		if a.prog == "kubectl config" && w.Text == "view" {
			return "it may show secrets"
		}
	}
	return ""
}

func ghCheck(_ *scanner, _ *Command, a *args, _ state) string {
	if v, ok := a.value("-R", "--repo"); ok && (v.Known != Literal || strings.Count(v.Text, "/") != 1) {
		return "the repository " + show(v) + " may be on another host"
	}
	for _, w := range a.pos {
		if w.Known != Literal || strings.Contains(w.Text, "://") && !strings.HasPrefix(w.Text, "https://github.com/") {
			return "the word " + show(w) + " may name another host"
		}
	}
	if v, ok := a.value("-q", "--jq"); ok && (v.Known != Literal || jqEnv(v.Text)) {
		return "the filter may show the environment"
	}
	return ""
}

func goCheck(_ *scanner, _ *Command, a *args, _ state) string {
	if a.prog == "go env" && a.has("-u", "-m") {
		return "go env -u changes settings"
	}
	return ""
}

func tarCheck(s *scanner, c *Command, a *args, st state) string {
	list := a.has("-t", "--list")
	if len(a.pos) > 0 && len(a.uses) == 0 && a.pos[0].Known == Literal {
		bundle := a.pos[0].Text
		if strings.Trim(bundle, "tvfzjJ") != "" || !strings.Contains(bundle, "t") {
			s.mayRead(c, a.pos[1:], st)
			return "only the listing of an archive is known to be harmless"
		}
		list = true
		if strings.Contains(bundle, "f") && len(a.pos) > 1 {
			a.reads = append(a.reads, a.pos[1])
			s.reads(c, a.pos[1], st, false)
		}
	}
	if !list {
		s.mayRead(c, c.Run[1:], st)
		return "only the listing of an archive is known to be harmless"
	}
	for _, w := range a.reads {
		if w.Known != Literal || strings.Contains(w.Text, ":") {
			return "the archive " + show(w) + " may be on another machine"
		}
	}
	return ""
}

func unzipCheck(_ *scanner, _ *Command, a *args, _ state) string {
	if a.has("-l", "-v", "-Z", "-t", "-p", "-c") {
		return ""
	}
	return "it unpacks files"
}

// jqEnv tells that a jq program may show the environment or read modules.
func jqEnv(p string) bool {
	for i := 0; i < len(p); i++ {
		if !nameByte(p[i]) || i > 0 && (nameByte(p[i-1]) || p[i-1] == '.') {
			continue
		}
		j := i
		for j < len(p) && nameByte(p[j]) {
			j++
		}
		switch p[i:j] {
		case "env", "ENV", "import", "include", "modulemeta", "get_search_list", "input_filename", "load", "strenv", "envsubst", "system", "eval", "load_str", "load_xml", "load_props":
			return true
		}
	}
	return false
}

func jqCheck(s *scanner, c *Command, a *args, st state) string {
	if len(a.pos) == 0 {
		return ""
	}
	if !a.has("--args", "--jsonargs") {
		for _, w := range a.pos[1:] {
			s.reads(c, w, st, false)
		}
	}
	if p := a.pos[0]; p.Known != Literal {
		return "the program of " + a.prog + " is not certain"
	} else if jqEnv(p.Text) {
		return "the program may show the environment or read other files"
	}
	return ""
}

func yqCheck(s *scanner, c *Command, a *args, st state) string {
	pos := a.pos
	if len(pos) > 0 && pos[0].Known == Literal {
		switch pos[0].Text {
		case "e", "eval", "ea", "eval-all":
			pos = pos[1:]
		}
	}
	if len(pos) == 0 {
		return ""
	}
	if pos[0].Known != Literal || jqEnv(pos[0].Text) {
		return "the program may show the environment or read other files"
	}
	if len(pos) > 1 || !strings.HasPrefix(pos[0].Text, ".") {
		for _, w := range pos {
			s.reads(c, w, st, false)
		}
	}
	return ""
}
