package testbed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Daemon is a running `stevedore run`.
type Daemon struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
	log  *buffer
}

// DaemonOptions of a process.
type DaemonOptions struct {
	// Args after `run`.
	Args []string
	// Env besides the process's own.
	Env []string
	// Binary; empty: the testbed's.
	Binary string
	// Lease is the name of the Lease, which Testbed.Lease has allowed; empty:
	// the shipped one.
	Lease string
	// Out gets the log besides the buffer; nil: nothing.
	Out io.Writer
}

// Daemon starts `stevedore run` under the shipped rights only. Its Lease lasts longer than a
// busy machine keeps the API server from answering: who cannot renew it has to end.
func (b *Testbed) Daemon(o DaemonOptions) (*Daemon, error) {
	binary := o.Binary
	if binary == "" {
		binary = b.Options.Binary
	}
	args := append([]string{"run", "--kubeconfig", b.Kubeconfig, "--connect", "pod", "--listen", "127.0.0.1:0", "--lease-duration", "30s"}, o.Args...)
	if o.Lease != "" {
		args = append(args, "--lease-name", o.Lease)
	}
	cmd := exec.Command(binary, args...)
	// When its heap is collected is the daemon's own decision, as it is where people run it.
	cmd.Env = append(append(os.Environ(), "KUBERNETES_SERVICE_HOST=", "GOGC=", "GOMEMLIMIT="), o.Env...)
	return StartDaemon(cmd, o.Out)
}

// StartDaemon starts a command that is a `stevedore run`; out gets its log
// besides the buffer, nil: nothing.
func StartDaemon(cmd *exec.Cmd, out io.Writer) (*Daemon, error) {
	d := &Daemon{cmd: cmd, done: make(chan struct{}), log: &buffer{}}
	var to io.Writer = d.log
	if out != nil {
		to = io.MultiWriter(d.log, out)
	}
	d.cmd.Stdout, d.cmd.Stderr = to, to
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting stevedore: %w", err)
	}
	go func() {
		d.err = d.cmd.Wait()
		close(d.done)
	}()
	return d, nil
}

// Log is what it has written so far.
func (d *Daemon) Log() string { return d.log.String() }

// PID is the process id.
func (d *Daemon) PID() int { return d.cmd.Process.Pid }

// Done is closed when it has ended.
func (d *Daemon) Done() <-chan struct{} { return d.done }

// Running says whether it has not ended yet.
func (d *Daemon) Running() bool {
	select {
	case <-d.done:
		return false
	default:
		return true
	}
}

// Kill ends it as kill -9 does.
func (d *Daemon) Kill() {
	_ = d.cmd.Process.Kill()
	<-d.done
}

// Signal sends it a signal.
func (d *Daemon) Signal(s syscall.Signal) error { return d.cmd.Process.Signal(s) }

// stopsWithin is longer than what a stop waits for: a statement that is under way.
const stopsWithin = 3 * time.Minute

// Stop ends it as Kubernetes does and gives its exit code.
func (d *Daemon) Stop() (int, error) {
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.done:
	case <-time.After(stopsWithin):
		d.Kill()
		return -1, fmt.Errorf("stevedore did not stop within %s of SIGTERM", stopsWithin)
	}
	return d.cmd.ProcessState.ExitCode(), nil
}

// ExitCode after Done.
func (d *Daemon) ExitCode() int {
	<-d.done
	return d.cmd.ProcessState.ExitCode()
}

// Run runs another verb of the binary, as a person with the admin's rights.
func (b *Testbed) Run(ctx context.Context, args ...string) (stdout, stderr string, code int, err error) {
	cmd := exec.CommandContext(ctx, b.Options.Binary, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+b.Kubernetes.Kubeconfig(), "KUBERNETES_SERVICE_HOST=")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return out.String(), errs.String(), exit.ExitCode(), nil
	}
	return out.String(), errs.String(), 0, err
}

type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
