//go:build linux

package realnodes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// hierarchies are the folders of control groups: the root of version 2, or one for
// each controller of version 1 and, where it stands beside those, version 2.
func hierarchies() ([]string, bool, error) {
	if _, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers")); err == nil {
		return []string{cgroupRoot}, true, nil
	}
	entries, err := os.ReadDir(cgroupRoot)
	if err != nil {
		return nil, false, fmt.Errorf("looking for control groups: %w", err)
	}
	var all []string
	seen := map[string]bool{}
	for _, entry := range entries {
		dir := filepath.Join(cgroupRoot, entry.Name())
		resolved, err := filepath.EvalSymlinks(dir)
		if err != nil || seen[resolved] {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err == nil {
			seen[resolved] = true
			all = append(all, resolved)
		}
	}
	if len(all) == 0 {
		return nil, false, fmt.Errorf("there are no control groups in %s: nodes need them", cgroupRoot)
	}
	return all, false, nil
}

// makeCgroup makes a control group with all that a kubelet may use, in each
// hierarchy.
func makeCgroup(path string) error {
	dirs, unified, err := hierarchies()
	if err != nil {
		return err
	}
	for _, hierarchy := range dirs {
		at := hierarchy
		for _, part := range strings.Split(path, "/") {
			if unified {
				if err := delegateAll(at); err != nil {
					return err
				}
			}
			parent := at
			at = filepath.Join(at, part)
			if err := os.Mkdir(at, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("making the control group %s: %w", at, err)
			}
			// Of version 1 a new set of processors is empty, and takes no process.
			for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
				if content, err := os.ReadFile(filepath.Join(parent, file)); err == nil && !unified {
					if err := os.WriteFile(filepath.Join(at, file), content, 0o644); err != nil {
						return fmt.Errorf("giving %s its %s: %w", at, file, err)
					}
				}
			}
		}
	}
	return nil
}

// weigh gives a control group the processor time of so many processes: all in it
// together would else get that of one.
func weigh(path string, processes int) error {
	dirs, unified, err := hierarchies()
	if err != nil {
		return err
	}
	for _, hierarchy := range dirs {
		file, weight := "cpu.shares", 1024*processes
		if unified {
			file, weight = "cpu.weight", min(100*processes, 10000)
		}
		file = filepath.Join(hierarchy, path, file)
		if _, err := os.Stat(file); err != nil {
			continue
		}
		if err := os.WriteFile(file, []byte(strconv.Itoa(weight)), 0o644); err != nil {
			return fmt.Errorf("weighing the control group %s: %w", path, err)
		}
	}
	return nil
}

// delegateAll lets the children of a control group of version 2 use every
// controller that it has.
func delegateAll(at string) error {
	content, err := os.ReadFile(filepath.Join(at, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("reading the controllers of %s: %w", at, err)
	}
	for _, controller := range strings.Fields(string(content)) {
		if err := os.WriteFile(filepath.Join(at, "cgroup.subtree_control"), []byte("+"+controller), 0o644); err != nil {
			return fmt.Errorf("delegating %s in %s: %w", controller, at, err)
		}
	}
	return nil
}

// removeCgroup removes a control group and those in it, once the kernel has
// ended the last process there.
func removeCgroup(path string) error {
	dirs, _, err := hierarchies()
	if err != nil {
		return err
	}
	return within(goneWithin, func() error {
		var failed error
		for _, hierarchy := range dirs {
			var all []string
			_ = filepath.WalkDir(filepath.Join(hierarchy, path), func(at string, entry fs.DirEntry, err error) error {
				if err == nil && entry.IsDir() {
					all = append(all, at)
				}
				return nil
			})
			for _, at := range slices.Backward(all) {
				if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
					failed = errors.Join(failed, fmt.Errorf("removing the control group %s: %w", at, err))
				}
			}
		}
		return failed
	})
}
