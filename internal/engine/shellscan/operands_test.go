package shellscan

import "testing"

// TestOperandsThatAreFiles holds small tools whose operands are files, so that
// reading one elsewhere can be told from reading one here.
func TestOperandsThatAreFiles(t *testing.T) {
	for _, line := range []string{"look x /etc/shadow", "ul /etc/shadow", "tsort /etc/shadow", "spell /etc/shadow"} {
		s := Scan(line, Options{Cwd: "/w", Home: "/h"})
		if len(s.Commands) != 1 || len(s.Commands[0].Reads) != 1 || s.Commands[0].Reads[0].Text != "/etc/shadow" {
			t.Errorf("%s: the file that it reads is not told: %+v", line, s.Commands)
		}
	}
	for _, line := range []string{"helm show values ../chart", "aspell list x"} {
		if quiet, _ := Scan(line, Options{Cwd: "/w", Home: "/h"}).ReadOnly(); quiet {
			t.Errorf("%s is taken for read-only", line)
		}
	}
}
