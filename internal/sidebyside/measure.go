package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// usage is what a process took, with all that it started and waited for.
type usage struct {
	Wall, CPU time.Duration
	// Peak is the most memory, in bytes, that one of the processes had at a time.
	Peak int64
	Code int
}

// measured runs a command and writes its usage to a file: a mode of this program.
// It is a process of its own because Linux carries a parent's memory over into the
// peak of a child that it starts, and the parent of all this holds a whole sandbox.
func measured(args []string) error {
	if len(args) < 2 {
		return errors.New("measured wants a file for the result, and a command")
	}
	command := exec.Command(args[1], args[2:]...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	began := time.Now()
	err := command.Run()
	took := usage{Wall: time.Since(began), Code: command.ProcessState.ExitCode()}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	var spent syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &spent); err != nil {
		return fmt.Errorf("asking what %s took: %w", args[1], err)
	}
	took.CPU = time.Duration(spent.Utime.Nano() + spent.Stime.Nano())
	took.Peak = spent.Maxrss << 10
	text, err := json.Marshal(took)
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], text, 0o600)
}

// child is a command to be measured.
type child struct {
	// dir gets the result and the output.
	dir string
	env []string
	// codes are the exit codes that are no failure; nil: 0.
	codes []int
}

// run measures a command; an exit code that is not expected is an error with the
// last lines that it wrote.
func (c child) run(ctx context.Context, argv ...string) (usage, error) {
	self, err := os.Executable()
	if err != nil {
		return usage{}, err
	}
	result, output := filepath.Join(c.dir, "usage.json"), filepath.Join(c.dir, "output")
	file, err := os.Create(output)
	if err != nil {
		return usage{}, err
	}
	defer func() { _ = file.Close() }()
	command := exec.CommandContext(ctx, self, append([]string{modeMeasured, result}, argv...)...)
	command.Stdout, command.Stderr = file, file
	command.Env = append(append(os.Environ(), "KUBERNETES_SERVICE_HOST="), c.env...)
	if err := command.Run(); err != nil {
		return usage{}, fmt.Errorf("measuring %s: %w: %s", argv[0], err, lastLines(output))
	}
	text, err := os.ReadFile(result)
	if err != nil {
		return usage{}, err
	}
	var took usage
	if err := json.Unmarshal(text, &took); err != nil {
		return usage{}, fmt.Errorf("reading what %s took: %w", argv[0], err)
	}
	for _, code := range append([]int{}, c.codes...) {
		if took.Code == code {
			return took, nil
		}
	}
	if took.Code != 0 || c.codes != nil {
		return took, fmt.Errorf("%s ended with exit code %d: %s", strings.Join(argv, " "), took.Code, lastLines(output))
	}
	return took, nil
}

func lastLines(file string) string {
	opened, err := os.Open(file)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = opened.Close() }()
	if info, err := opened.Stat(); err == nil && info.Size() > 2000 {
		_, _ = opened.Seek(-2000, io.SeekEnd)
	}
	text, err := io.ReadAll(opened)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// ticks a second of /proc/PID/stat, the same on every Linux that Go runs on.
const ticks = 100

// ofProcess is the usage of a process that runs: CPU in steps of 10 ms.
func ofProcess(pid int) (usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return usage{}, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return usage{}, err
	}
	var took usage
	// After the name in parentheses, which may hold anything.
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return usage{}, fmt.Errorf("reading /proc/%d/stat: it has %d fields", pid, len(fields))
	}
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return usage{}, fmt.Errorf("reading /proc/%d/stat: %w", pid, err)
		}
		took.CPU += time.Duration(n) * time.Second / ticks
	}
	if took.Peak, err = memory(string(status), "VmHWM:"); err != nil {
		return usage{}, fmt.Errorf("reading /proc/%d/status: %w", pid, err)
	}
	return took, nil
}

// forgetPeak lets the most memory that a process had begin anew.
func forgetPeak(pid int) error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		return fmt.Errorf("forgetting the peak memory of process %d: %w", pid, err)
	}
	return nil
}

// memory is a line such as "VmHWM:   12345 kB", in bytes.
func memory(text, name string) (int64, error) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == name {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("there is no line %s", name)
}

// resident is what a process that runs holds now, in bytes.
func resident(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return memory(string(status), "VmRSS:")
}
