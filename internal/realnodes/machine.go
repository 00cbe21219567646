//go:build linux

package realnodes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// stateDir says what a run has to put back, for the next run where this one is
	// killed. It is root's and does not outlive the machine, and neither does what
	// is to be put back.
	stateDir = "/run/stevedore-real-nodes"
	// cgroupName is the control group of all nodes, in each hierarchy.
	cgroupName = "stevedore-real-nodes"
	cgroupRoot = "/sys/fs/cgroup"
)

// goneWithin is how long the kernel may take to end what a world had.
var goneWithin = 20 * time.Second

// machineSysctls are those that kubelets and CrateDB's init containers set for the
// whole machine; all others that they set belong to a namespace.
var machineSysctls = []string{
	"vm.max_map_count", "vm.overcommit_memory", "vm.panic_on_oom",
	"kernel.panic", "kernel.panic_on_oops", "kernel.keys.root_maxbytes", "kernel.keys.root_maxkeys",
}

// machine is what a run takes of this machine and puts back.
type machine struct {
	// Dir is the run's folder.
	Dir string
	// Sysctls are their values before.
	Sysctls map[string]string
	lock    *os.File
	before  traces
}

// claimMachine takes the machine for one run, and puts back what a run that was
// killed has left.
func claimMachine() (*machine, error) {
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the run's state: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(stateDir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the machine: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := os.ReadFile(lock.Name())
		_ = lock.Close()
		return nil, fmt.Errorf("real nodes run on this machine already, of process %s: stop that one first "+
			"(its sysctls are the whole machine's)", strings.TrimSpace(string(holder)))
	}
	if err := errors.Join(lock.Truncate(0), writeAt(lock, strconv.Itoa(os.Getpid()))); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("locking the machine: %w", err)
	}
	if err := putBackAbandoned(); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("putting back what a killed run has left: %w", err)
	}
	m := &machine{lock: lock, Sysctls: map[string]string{}}
	for _, name := range machineSysctls {
		if value, err := os.ReadFile(sysctlFile(name)); err == nil {
			m.Sysctls[name] = strings.TrimSpace(string(value))
		}
	}
	m.before = tracesNow()
	if m.Dir, err = os.MkdirTemp("", "stevedore-real-nodes-"); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("making the run's folder: %w", err)
	}
	content, err := json.Marshal(m)
	if err == nil {
		err = os.WriteFile(filepath.Join(stateDir, "before.json"), content, 0o600)
	}
	if err == nil {
		err = makeCgroup(cgroupName)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("claiming the machine: %w", err), m.giveBack())
	}
	return m, nil
}

func writeAt(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

// giveBack puts the machine back as it was, and names what it could not.
func (m *machine) giveBack() error {
	err := m.putBack()
	if err == nil {
		err = os.Remove(filepath.Join(stateDir, "before.json"))
	}
	if err == nil {
		err = m.before.stays()
	}
	_ = os.Remove(m.lock.Name())
	_ = os.Remove(stateDir)
	_ = m.lock.Close()
	return err
}

func putBackAbandoned() error {
	content, err := os.ReadFile(filepath.Join(stateDir, "before.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var m machine
	if err == nil {
		err = json.Unmarshal(content, &m)
	}
	if err == nil {
		err = m.putBack()
	}
	if err == nil {
		err = os.Remove(filepath.Join(stateDir, "before.json"))
	}
	return err
}

// putBack removes what no namespace holds: control groups, sysctls, and the folder
// with the disks of the nodes.
func (m *machine) putBack() error {
	var failed error
	for name, value := range m.Sysctls {
		if now, err := os.ReadFile(sysctlFile(name)); err != nil || strings.TrimSpace(string(now)) != value {
			if err := os.WriteFile(sysctlFile(name), []byte(value), 0o644); err != nil {
				failed = errors.Join(failed, fmt.Errorf("putting back the sysctl %s=%s: %w", name, value, err))
			}
		}
	}
	return errors.Join(failed, removeCgroup(cgroupName), disksFree(m.Dir), os.RemoveAll(m.Dir))
}

func sysctlFile(name string) string {
	return filepath.Join("/proc/sys", strings.ReplaceAll(name, ".", "/"))
}

// disksFree waits until no disk of a run is in use: the kernel lets go of them a
// moment after the last process of the node that had mounted them.
func disksFree(dir string) error {
	return within(goneWithin, func() error {
		backing, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
		for _, file := range backing {
			content, err := os.ReadFile(file)
			if err == nil && strings.HasPrefix(string(content), dir+"/") {
				return fmt.Errorf("the disk %s is still in use", strings.TrimSpace(string(content)))
			}
		}
		return nil
	})
}

// within asks again and again until there is no error, and gives the last one.
func within(span time.Duration, ask func() error) error {
	deadline := time.Now().Add(span)
	for {
		err := ask()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}
