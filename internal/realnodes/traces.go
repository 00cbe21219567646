//go:build linux

package realnodes

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// traces are what a run could leave behind on a machine: by kind, what there is.
type traces map[string][]string

// changing are sysctls that change by themselves.
var changing = []string{
	"kernel/random/", "kernel/ns_last_pid", "kernel/pty/nr", "fs/dentry-state", "fs/file-nr", "fs/inode-nr",
	"fs/inode-state", "fs/aio-nr", "fs/quota/", "kernel/sched_domain/", "net/netfilter/nf_conntrack_count", "vm/stat_refresh",
	"kernel/perf_event_max_sample_rate", "kernel/perf_cpu_time_max_percent",
}

// tracesNow looks for namespaces, mounts, network links, iptables rules, control
// groups, disks and the values of sysctls.
func tracesNow() traces {
	t := traces{}
	processes, _ := filepath.Glob("/proc/[0-9]*/ns/*")
	for _, file := range processes {
		if to, err := os.Readlink(file); err == nil && !slices.Contains(t["namespace"], to) {
			t["namespace"] = append(t["namespace"], to)
		}
	}
	if mounts, err := os.ReadFile("/proc/self/mounts"); err == nil {
		t["mount"] = strings.Split(strings.TrimSpace(string(mounts)), "\n")
	}
	if links, err := net.Interfaces(); err == nil {
		for _, link := range links {
			t["network link"] = append(t["network link"], link.Name)
		}
	}
	for _, file := range []string{"ip_tables_names", "ip6_tables_names"} {
		tables, _ := os.ReadFile(filepath.Join("/proc/self/net", file))
		for _, table := range strings.Fields(string(tables)) {
			t["iptables table"] = append(t["iptables table"], file+" "+table)
		}
	}
	if dirs, _, err := hierarchies(); err == nil {
		for _, hierarchy := range dirs {
			_ = filepath.WalkDir(filepath.Join(hierarchy, cgroupName), func(at string, entry fs.DirEntry, err error) error {
				if err == nil && entry.IsDir() {
					t["control group"] = append(t["control group"], at)
				}
				return nil
			})
		}
	}
	backing, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, file := range backing {
		content, _ := os.ReadFile(file)
		t["disk"] = append(t["disk"], strings.TrimSpace(string(content)))
	}
	_ = filepath.WalkDir("/proc/sys", func(at string, entry fs.DirEntry, err error) error {
		name := strings.TrimPrefix(at, "/proc/sys/")
		if err != nil || entry.IsDir() || slices.ContainsFunc(changing, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			return nil
		}
		if content, err := os.ReadFile(at); err == nil {
			t["sysctl"] = append(t["sysctl"], strings.ReplaceAll(name, "/", ".")+"="+strings.Join(strings.Fields(string(content)), " "))
		}
		return nil
	})
	return t
}

// stays says what there is that was not there before. What the kernel removes in
// its own time is given that time.
func (before traces) stays() error {
	return within(goneWithin, func() error {
		var failed error
		for kind, all := range tracesNow() {
			for _, one := range all {
				if !slices.Contains(before[kind], one) {
					failed = errors.Join(failed, fmt.Errorf("left behind, or come meanwhile: %s %s", kind, one))
				}
			}
		}
		return failed
	})
}
