//go:build linux

package realnodes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// roleVariable says what a process of the same program is to be.
	roleVariable = "STEVEDORE_REAL_NODES_ROLE"
	// dirVariable is the world's folder, proxyVariable where the API server is
	// reached from outside of the world.
	dirVariable   = "STEVEDORE_REAL_NODES_DIR"
	proxyVariable = "STEVEDORE_REAL_NODES_PROXY"

	roleWorld  = "world"
	roleNode   = "node"
	roleInside = "inside"
)

// pidFile has the number of the world's first process, as it is outside.
const pidFile = "pid"

// proxySocket is where the world answers for its API server.
const proxySocket = "apiserver.sock"

// worldNamespaces are those of a world and, of its own again, of a node.
const worldNamespaces = syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS

// Isolate returns in a process of this program that has a world of its own, in
// which Start may be called. In the process that was started it never returns: it
// starts that other one with the same arguments, waits for it, puts the machine
// back as it was, says what could not be, and exits with the other's exit code.
// It must be called before anything else is done.
func Isolate() {
	role := os.Getenv(roleVariable)
	// Programs that are started inside are no part of this.
	_ = os.Unsetenv(roleVariable)
	switch role {
	case roleInside:
		return
	case roleWorld:
		os.Exit(worldInit())
	case roleNode:
		os.Exit(nodeInit())
	}
	code, err := outside()
	if err != nil {
		fmt.Fprintf(os.Stderr, "real nodes: %v\n", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// outside is the program that was started.
func outside() (code int, err error) {
	if err := Missing(); err != nil {
		return 1, err
	}
	// The kernel ties the world's life to the thread that starts it.
	runtime.LockOSThread()
	machine, err := claimMachine()
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, machine.giveBack()) }()

	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1, fmt.Errorf("listening for clients of the API server: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() {
		defer close(served)
		forward(ctx, proxy, "unix", filepath.Join(machine.Dir, proxySocket))
	}()
	defer func() { cancel(); _ = proxy.Close(); <-served }()

	self, err := os.Executable()
	if err != nil {
		return 1, fmt.Errorf("finding this program: %w", err)
	}
	// What the program inside leaves in temporary folders goes with the run's own.
	temporary := filepath.Join(machine.Dir, "tmp")
	if err := os.Mkdir(temporary, 0o1777); err != nil {
		return 1, fmt.Errorf("making a folder for temporary files: %w", err)
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	world, err := os.StartProcess(self, os.Args, &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Env: append(os.Environ(), roleVariable+"="+roleWorld, dirVariable+"="+machine.Dir,
			proxyVariable+"="+proxy.Addr().String(), "TMPDIR="+temporary),
		Sys: &syscall.SysProcAttr{Cloneflags: worldNamespaces, Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return 1, fmt.Errorf("starting a world of its own: %w", err)
	}
	// Inside the world its first process has another number.
	if err := os.WriteFile(filepath.Join(machine.Dir, pidFile), []byte(strconv.Itoa(world.Pid)), 0o600); err != nil {
		_ = world.Kill()
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var state *os.ProcessState
		if state, err = world.Wait(); err == nil {
			code = exitCode(state.Sys().(syscall.WaitStatus))
		}
	}()
	for asked := 0; ; {
		select {
		case <-ended:
			return code, err
		case <-signals:
			// The second one does not wait.
			if asked++; asked == 1 {
				_ = world.Signal(syscall.SIGTERM)
			} else {
				_ = world.Kill()
			}
		}
	}
}

func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// graceOfWorld is how long the program inside may take to end once it was asked.
const graceOfWorld = 20 * time.Second

// worldInit is the first process of a world: it starts the program once more and
// ends with it, and all others with them.
func worldInit() int {
	if err := enterWorld(); err != nil {
		fmt.Fprintf(os.Stderr, "real nodes: making a world of its own: %v\n", err)
		return 1
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintf(os.Stderr, "real nodes: finding this program: %v\n", err)
		return 1
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM)
	child, err := syscall.ForkExec(self, os.Args, &syscall.ProcAttr{
		Files: []uintptr{0, 1, 2}, Env: append(os.Environ(), roleVariable+"="+roleInside),
	})
	if err != nil {
		fmt.Fprintf(os.Stderr, "real nodes: starting the program inside: %v\n", err)
		return 1
	}
	ended := make(chan int, 1)
	go func() { ended <- reapUntil(child) }()
	select {
	case code := <-ended:
		return code
	case <-signals:
		_ = syscall.Kill(child, syscall.SIGTERM)
	}
	select {
	case code := <-ended:
		return code
	case <-time.After(graceOfWorld):
		return 128 + int(syscall.SIGKILL)
	}
}

// reapUntil buries every child of a first process until one has ended, and gives
// that one's exit code; of child 0 it never returns.
func reapUntil(child int) int {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.ECHILD && child == 0:
			// No children now; there may be later.
			time.Sleep(time.Second)
		case err == nil && pid == child && child != 0:
			return exitCode(status)
		case err != nil && err != syscall.EINTR && child != 0:
			return 1
		}
	}
}

// enterWorld makes the namespaces of a process what they are to be.
func enterWorld() error {
	// Nothing that is mounted in here is seen outside.
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making the mounts private: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	if err := run("ip", "link", "set", "lo", "up"); err != nil {
		return err
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil {
		return fmt.Errorf("letting the network namespace route: %w", err)
	}
	return nil
}

// worldDir is the folder of the world that this process is in; an error in any
// other process.
func worldDir() (string, error) {
	dir := os.Getenv(dirVariable)
	if dir == "" {
		return "", errors.New("real nodes are started in a world of their own only: the program must call realnodes.Isolate first")
	}
	return dir, nil
}

// insideOf are the arguments of a command that runs in a process's namespaces.
func insideOf(pid int, command ...string) []string {
	return append(strings.Fields(fmt.Sprintf("nsenter --target %d --mount --net --pid --uts --", pid)), command...)
}
