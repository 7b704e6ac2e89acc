package inner

import (
	"reflect"
	"strings"
	"testing"
)

func TestPlanRoundTrip(t *testing.T) {
	plans := []Plan{
		{Check: true},
		{Namespaces: true, NetNS: true, HostProc: true, RootWrite: true, Landlock: 7, Roots: []string{"/a=b", "/c\nd"}, Seccomp: true, NoInet: true,
			UnixOK: true, Register: "/run/x y", Port: 17, Env: []string{"A=b=c", "B="}, Unset: []string{"C"}, Pass: []int{3, 198}, OpenFiles: 1024,
			Layers: []Layer{{Writable, "/w"}, {HideDir, "/h"}, {MakeDir, "/h/d"}, {CloseDir, "/h"}}},
		{Namespaces: true, Bubblewrap: "/usr/bin/b w", UserNS: true, Seccomp: true},
		{Within: true, Connection: 212, Port: 5, Default: []int{1, 15}, Link: &link{Stdio: [3]int{213, 214, 215}, Tell: 216, Life: 217}},
	}
	for _, want := range plans {
		args := append(want.Args(), "/bin/sh", "-c", "")
		got, command, err := parse(args[1:])
		if err != nil || !reflect.DeepEqual(got, want) || strings.Join(command, "|") != "/bin/sh|-c|" {
			t.Errorf("%+v %q %v", got, command, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("1\x00layer=w/x\x00/bin/sh")
	f.Add("2\x00namespaces\x00port=99999\x00/bin/sh")
	f.Fuzz(func(t *testing.T, s string) {
		p, command, err := parse(strings.Split(s, "\x00"))
		if err != nil {
			return
		}
		if len(command) == 0 && !p.Check || len(p.Layers) > 0 && !p.Namespaces {
			t.Errorf("%q accepted", s)
		}
		again, _, err := parse(append(p.Args()[1:], command...))
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("%q: %+v, then %+v, %v", s, p, again, err)
		}
	})
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{"", "x", "5|a", "1|unknown|/bin/sh", "1|layer=zz|/bin/sh", "1|layer=w/x|/bin/sh", "1|netns|/bin/sh", "1|pass=2|/bin/sh",
		"1|pass=900|/bin/sh", "2|pass=5|pass=4|/bin/sh", "0", "-1|x", "1|register=/x|/bin/sh", "1|check=1|x", "1|seccomp=no|x",
		"2|namespaces|within|x", "1|connection=300|x", "3|within|connection=4|port=1|x", "2|within|connection=300|x", "1|link=300,301,302,303,304,|x",
		"2|within|link=300,301,302,303,|x", "2|within|link=300,301,302,303,304,305|x", "2|within|link=1,2,3,4,5,|x", "1|bubblewrap=/x|x",
		"2|namespaces|bubblewrap=x|x", "1|userns|x", "2|within|default=99|x", "1|landlock=-1|x"} {
		if _, _, err := parse(strings.Split(s, "|")); err == nil {
			t.Errorf("%q: no error", s)
		}
	}
}
