//go:build linux

package realnodes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// packages are Debian's, each with a command that it brings.
var packages = []struct{ name, command string }{
	{"containerd", "containerd"}, {"containerd", "ctr"}, {"runc", "runc"},
	{"iptables", "iptables"}, {"conntrack", "conntrack"}, {"iproute2", "ip"}, {"util-linux", "nsenter"},
	{"mount", "mount"}, {"e2fsprogs", "mkfs.ext4"}, {"containernetworking-plugins", pluginDir + "/bridge"},
}

// pluginDir is where Debian has the plugins of container networks.
const pluginDir = "/usr/lib/cni"

// Missing says by name what this machine lacks to run real nodes; nil: nothing.
// Files of the run, such as images, are looked for by Start.
func Missing() error {
	var failed error
	if os.Getuid() != 0 {
		failed = errors.New("root is needed, for namespaces, mounts and control groups: use sudo")
	}
	var wanting []string
	for _, p := range packages {
		if _, err := exec.LookPath(p.command); err != nil && !slices.Contains(wanting, p.name) {
			wanting = append(wanting, p.name)
		}
	}
	if len(wanting) > 0 {
		failed = errors.Join(failed, fmt.Errorf("packages of Debian are missing: apt-get install --no-install-recommends %s", strings.Join(wanting, " ")))
	}
	return failed
}
