package shellscan

import "strings"

// forms fills in the texts that rules are matched with.
func (s *scanner) forms(c *Command, u unwrapped) {
	text := join(c.Argv)
	harmless := true
	if len(c.Assigns) > 0 {
		full := ""
		for _, a := range c.Assigns {
			full += a.text + " "
			harmless = harmless && a.Harmless
		}
		c.Forms = append(c.Forms, Form{Text: full + text, Allow: true})
	}
	c.Forms = append(c.Forms, Form{Text: text, Allow: harmless, Marked: marked(c.Argv)})
	for _, l := range u.levels {
		c.Forms = append(c.Forms, Form{Text: join(l.argv), Allow: harmless && l.allow, Marked: marked(l.argv)})
	}
	s.plainForms(c, u.argv)
}

// marked is the text of words with NUL for the blanks inside them.
func marked(ws []Word) string {
	found := false
	for i := range ws {
		found = found || strings.ContainsAny(ws[i].Text, " \t\n")
	}
	if !found {
		return ""
	}
	out := make([]string, len(ws))
	for i := range ws {
		out[i] = strings.Map(func(r rune) rune {
			if r == ' ' || r == '\t' || r == '\n' {
				return 0
			}
			return r
		}, ws[i].Text)
	}
	return strings.Join(out, " ")
}

// subcommandPrograms have options in front of a subcommand.
var subcommandPrograms = map[string]bool{
	"docker": true, "podman": true, "nerdctl": true, "kubectl": true, "oc": true, "helm": true, "npm": true, "pnpm": true, "yarn": true, "bun": true,
	"cargo": true, "go": true, "terraform": true, "tofu": true, "aws": true, "gcloud": true, "az": true, "gh": true, "glab": true, "systemctl": true,
	"apt": true, "apt-get": true, "dnf": true, "yum": true, "brew": true, "pip": true, "pip3": true, "uv": true, "poetry": true, "make": true,
	"mvn": true, "gradle": true, "svn": true, "hg": true, "jj": true, "flatpak": true, "snap": true, "vagrant": true, "ansible": true, "fly": true,
	"flyctl": true, "heroku": true, "vercel": true, "netlify": true, "firebase": true, "supabase": true, "wrangler": true, "launchctl": true,
}

// plainForms adds texts that deny rules alone match: the program without its
// folder, and subcommands without the options in front. Which of those options
// take a value is not known, so every reading is added.
func (s *scanner) plainForms(c *Command, argv []Word) {
	if len(argv) == 0 || argv[0].Known != Literal {
		return
	}
	name := strings.TrimSuffix(base(argv[0]), ".exe")
	if name != argv[0].Text {
		text := name
		if len(argv) > 1 {
			text += " " + join(argv[1:])
		}
		c.Forms = append(c.Forms, Form{Text: text})
	}
	if !subcommandPrograms[name] || len(argv) < 3 || argv[1].Known != Literal || !(len(argv[1].Text) > 1 && argv[1].Text[0] == '-' || argv[1].Text != "" && argv[1].Text[0] == '+') {
		return
	}
	added := 0
	for i := 2; i < len(argv) && added < 6; i++ {
		if argv[i].Text != "" && argv[i].Text[0] == '-' {
			continue
		}
		c.Forms = append(c.Forms, Form{Text: name + " " + join(argv[i:])})
		added++
		if argv[i-1].Text != "" && argv[i-1].Text[0] != '-' {
			break
		}
	}
}
