package shellscan

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
	outer := true
	for _, w := range u.st.wrappers {
		outer = outer && w.Harmless
	}
	c.Forms = append(c.Forms, Form{Text: text, Allow: harmless})
	for _, l := range u.levels {
		c.Forms = append(c.Forms, Form{Text: join(l.argv), Allow: harmless && l.allow})
	}
	_ = outer
}
