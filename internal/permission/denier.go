package permission

import "github.com/sevengate/sevengate/tool"

// Denier gives the rules that are in force now as a test of whole tools, for
// whoever goes through many: true for those that a deny rule takes away.
func (p *Policy) Denier() func(f *tool.Facts) bool {
	deny := p.rulesNow().deny
	if len(deny.bare) == 0 && len(deny.globs) == 0 {
		return func(*tool.Facts) bool { return false }
	}
	return func(f *tool.Facts) bool {
		n := namesOf(f.Name, f)
		return deny.tool(&n) != nil
	}
}
