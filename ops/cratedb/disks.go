package cratedb

import (
	"encoding/json"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// disks are the file systems of a node's data paths, each once; nil where they are not known.
// fs['disks'] has an entry for each path, in the order of path.data, also for two paths on one
// file system; fs['total'] counts such a one twice (FsInfo.total; run on 6.4.3 and 6.3.7).
func disks(devs, sizes, used string) []model.Disk {
	names, size, taken := texts(devs), numbers(sizes), numbers(used)
	if len(names) != len(size) || len(names) != len(taken) {
		return nil
	}
	var out []model.Disk
	var of []string
	for i, name := range names {
		if name == "" || size[i] <= 0 || taken[i] < 0 {
			return nil
		}
		same := -1
		for j := range out {
			if sameDisk(of[j], name, out[j], model.Disk{Size: size[i], Used: taken[i]}) {
				same = j
			}
		}
		if same < 0 {
			out, of = append(out, model.Disk{Size: size[i], Used: taken[i]}), append(of, name)
		} else {
			out[same].Used = max(out[same].Used, taken[i])
		}
	}
	return out
}

// sameDisk reports whether two entries are one file system. CrateDB names it by its mount point
// and its device: "/data/data0 (/dev/sdb)". One device that is mounted at two places is one
// file system. "tmpfs" is the name of several, and quotas divide one into several: their
// sizes differ, or what is used of them does.
func sameDisk(a, b string, x, y model.Disk) bool {
	if a == b {
		return true
	}
	device := deviceOf(a)
	beside := max(x.Used, y.Used) - min(x.Used, y.Used)
	return strings.HasPrefix(device, "/") && device == deviceOf(b) && x.Size == y.Size && beside <= x.Size/100
}

// deviceOf is "/dev/sdb" of "/data/data0 (/dev/sdb)"; "" where there is none.
func deviceOf(name string) string {
	i := strings.LastIndex(name, " (")
	if i < 0 {
		return ""
	}
	return strings.TrimSuffix(name[i+2:], ")")
}

func numbers(printed string) []int64 {
	var out []int64
	if json.Unmarshal([]byte(printed), &out) != nil {
		return nil
	}
	return out
}
