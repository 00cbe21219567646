// Package process starts child processes that cannot outlive this one.
package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Starter starts processes that the kernel kills when this process ends, even
// by SIGKILL. The kernel ties that promise to the *thread* that forked
// (prctl(2), PR_SET_PDEATHSIG), and Go ends threads when it likes: so one
// goroutine, locked to its thread until Close, does all the forking.
type Starter struct {
	requests chan request
	closed   chan struct{}
	once     sync.Once
	running  sync.WaitGroup
}

type request struct {
	command *exec.Cmd
	started chan error
}

// Identity is the user and group that a process runs as; nil: ours.
type Identity struct{ User, Group uint32 }

// NewStarter begins the goroutine that Close ends.
func NewStarter() *Starter {
	s := &Starter{requests: make(chan request), closed: make(chan struct{})}
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		// Never unlocked: the thread ends with the goroutine.
		runtime.LockOSThread()
		for {
			select {
			case r := <-s.requests:
				r.started <- r.command.Start()
			case <-s.closed:
				return
			}
		}
	}()
	return s
}

// Start starts command in a process group of its own, so that a Ctrl-C at the
// terminal reaches only this process, which then stops the others in order. Of the
// attributes that command has, only its namespaces are kept.
func (s *Starter) Start(command *exec.Cmd, as *Identity) (*Process, error) {
	command.SysProcAttr = attributes(as, command.SysProcAttr)
	// A grandchild that kept our pipes open must not keep Wait from returning.
	command.WaitDelay = 2 * time.Second
	r := request{command, make(chan error, 1)}
	select {
	case s.requests <- r:
	case <-s.closed:
		return nil, errors.New("starting a process: the sandbox has been stopped")
	}
	if err := <-r.started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", command.Path, err)
	}
	p := &Process{command: command, done: make(chan struct{})}
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		_ = command.Wait() // its outcome is ProcessState, read by ExitCode
		close(p.done)
	}()
	return p, nil
}

// Close waits for every process to end (stop them before) and ends the thread.
func (s *Starter) Close() {
	s.once.Do(func() { close(s.closed) })
	s.running.Wait()
}

// Process is one child.
type Process struct {
	command *exec.Cmd
	done    chan struct{}
}

// Done is closed once the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// ID is the process id.
func (p *Process) ID() int { return p.command.Process.Pid }

// ExitCode is the exit code, 128 + the signal's number as a shell counts it,
// or -1 while the process runs.
func (p *Process) ExitCode() int {
	select {
	case <-p.done:
	default:
		return -1
	}
	state := p.command.ProcessState
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// Signal sends a signal to the process and all of its descendants. A process
// that has ended is no error.
func (p *Process) Signal(signal syscall.Signal) {
	select {
	case <-p.done:
		return
	default:
	}
	if err := syscall.Kill(-p.ID(), signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		_ = p.command.Process.Signal(signal)
	}
}

// Stop sends SIGTERM, after grace SIGKILL, and waits for the end.
func (p *Process) Stop(grace time.Duration) {
	p.Signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return
	case <-timer.C:
	}
	p.Signal(syscall.SIGKILL)
	<-p.done
}
