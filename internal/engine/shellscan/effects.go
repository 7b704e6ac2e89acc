package shellscan

// effects fills in what the innermost command does, and gives the directories after it.
func (s *scanner) effects(c *Command, u *unwrapped) flow {
	return same(u.st.dirs)
}
