//go:build amd64 || arm64

package inner

import (
	"strings"
	"testing"
)

// TestBubblewrapOptions: whatever a plan says of namespaces and mounts is said to bubblewrap, in the same order.
func TestBubblewrapOptions(t *testing.T) {
	const every = "--unshare-pid --unshare-ipc --cap-drop ALL"
	const last = "--dev /dev --perms 1777 --size 536870912 --tmpfs /dev/shm --remount-ro /dev --proc /proc --remount-ro /proc --chdir /cwd"
	for _, c := range []struct {
		name string
		plan Plan
		root bool
		want string
	}{
		{"nothing", Plan{}, false, every + " --ro-bind / / " + last},
		{"user and network", Plan{UserNS: true, NetNS: true}, false, every + " --unshare-user --unshare-net --ro-bind / / " + last},
		{"root", Plan{}, true, every + " --cap-add CAP_CHOWN --cap-add CAP_DAC_OVERRIDE --cap-add CAP_FOWNER --cap-add CAP_FSETID --cap-add CAP_KILL" +
			" --cap-add CAP_SETGID --cap-add CAP_SETUID --cap-add CAP_NET_BIND_SERVICE --ro-bind / / " + last},
		{"everything writable", Plan{RootWrite: true}, false, every + " --bind / / " + last},
		{"the machine's /proc", Plan{HostProc: true}, false, every + " --ro-bind / / " +
			strings.Replace(last, "--proc /proc --remount-ro /proc", "--ro-bind /proc /proc", 1)},
		{"layers", Plan{Layers: []Layer{{Writable, "/w"}, {ReadOnly, "/w/r"}, {HideDir, "/h"}, {MakeDir, "/h/d"}, {MakeFile, "/h/d/f"},
			{ReadOnly, "/h/d/f"}, {HideFile, "/w/f"}, {CloseDir, "/h"}}}, false, every + " --ro-bind / / --bind /w /w --ro-bind /w/r /w/r" +
			" --perms 0111 --size 1048576 --tmpfs /h --perms 0711 --dir /h/d --ro-bind /h/d/f /h/d/f --ro-bind /dev/null /w/f --remount-ro /h " + last},
	} {
		if got := strings.Join(bubblewrapOptions(&c.plan, "/cwd", c.root), " "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}
