// Package untrusted renders what a stranger wrote, a pull request say, in a
// child process that could not do harm if kustomize, or a parser, wanted to. The
// child is this binary again, confined before it reads a byte; the parent keeps
// the tree and hands names and contents over pipes without looking into them.
// What is refused in the files stays refused in the child: this is the second
// wall, not the first.
package untrusted

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"stevedore.dev/stevedore/internal/confine"
	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/render/definition"
)

// Options of a Renderer.
type Options struct {
	Config render.Config
	// Memory that the child may have, in bytes; 0: 1 GiB.
	Memory int64
	// CPU time of the child, all threads together; 0: 2 minutes.
	CPU time.Duration
	// Deadline of each request; 0: 2 minutes.
	Deadline time.Duration
	// Command starts the child; the two numbers of Verb are added. Empty: this
	// binary with Verb.
	Command []string
}

func (o Options) withDefaults() Options {
	if o.Memory <= 0 {
		o.Memory = 1 << 30
	}
	if o.CPU <= 0 {
		o.CPU = 2 * time.Minute
	}
	if o.Deadline <= 0 {
		o.Deadline = 2 * time.Minute
	}
	if len(o.Command) == 0 {
		o.Command = []string{thisBinary(), Verb}
	}
	return o
}

// startedAs is the file of this binary by the name that it was started with; ""
// when there is none.
var startedAs = sync.OnceValue(func() string {
	path, err := exec.LookPath(os.Args[0])
	if err != nil {
		return ""
	}
	if path, err = filepath.Abs(path); err != nil {
		return ""
	}
	return path
})

// thisBinary is the running binary, also when its file was replaced meanwhile;
// where there is no /proc, as in an empty root, the file that was started.
func thisBinary() string {
	const running = "/proc/self/exe"
	if _, err := os.Lstat(running); err == nil || startedAs() == "" {
		return running
	}
	return startedAs()
}

// Renderer is a child process. Its methods are for one goroutine at a time.
type Renderer struct {
	options Options
	ctx     context.Context
	cancel  context.CancelFunc
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	said    head
	release chan struct{} // lets the owner of the process wait for its end
	ended   chan error
	late    atomic.Bool // the deadline has passed
	broken  error       // the first error of the pipes; nothing is asked after it
}

var _ render.Renderer = (*Renderer)(nil)

// Start starts the child and returns when it is confined. An error that wraps
// confine.ErrUnavailable says that this system cannot confine it. ctx, and the
// deadline of a request, end the child.
func Start(ctx context.Context, o Options) (*Renderer, error) {
	if err := confine.Available(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	r := &Renderer{options: o, release: make(chan struct{}), ended: make(chan error, 1)}
	r.ctx, r.cancel = context.WithCancel(ctx)
	args := append(o.Command[1:len(o.Command):len(o.Command)],
		strconv.FormatInt(o.Memory, 10), strconv.FormatInt(int64(o.CPU.Seconds()), 10))
	r.cmd = exec.CommandContext(r.ctx, o.Command[0], args...)
	r.cmd.Args[0] = "stevedore"
	r.cmd.Stderr = &r.said
	r.cmd.WaitDelay = 5 * time.Second
	defer r.hurry()()
	if err := r.start(); err != nil {
		r.cancel()
		return nil, fmt.Errorf("starting the confined process: %w", err)
	}
	k, payload, err := receive(r.out, maxResponse)
	switch {
	case err != nil:
		err = r.fail(err)
	case k == kindFailed:
		err = fmt.Errorf("%w: %s", confine.ErrUnavailable, payload)
	case k != kindReady:
		err = fmt.Errorf("the confined process began with a message of kind %q", k)
	default:
		return r, nil
	}
	_ = r.Close() // what it ends with adds nothing to the reason
	return nil, err
}

// start starts the process from a thread that stays for its life: the process
// is to die with its parent, and the kernel takes the thread for that.
func (r *Renderer) start() error {
	if err := confine.Prepare(r.cmd); err != nil {
		return err
	}
	in, err := r.cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	r.in, r.out = in, bufio.NewReaderSize(out, 64<<10)
	started := make(chan error, 1)
	release := r.release // Close takes it out of r
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := r.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		<-release
		r.ended <- r.cmd.Wait()
	}()
	return <-started
}

// Build is render.BuildFolder, in the child.
func (r *Renderer) Build(ctx context.Context, tree fs.FS, dir string) (*render.Build, error) {
	whole, root, entries, err := list(tree)
	if err != nil {
		return nil, err
	}
	request := buildRequest{Config: r.options.Config, Dir: dir, Root: root, Entries: entries}
	var build render.Build
	err = r.ask(ctx, kindBuild, request, kindBuilt, &build, func(q fileQuestion) (kind, []byte) {
		return answer(whole, entries, q)
	})
	if err != nil {
		return nil, err
	}
	return &build, nil
}

// Render is render.Render, in the child: a cluster's own patches go through
// kustomize too.
func (r *Renderer) Render(ctx context.Context, cluster render.Cluster, pins render.Pins) (*render.Rendered, []definition.Problem, error) {
	var response rendered
	err := r.ask(ctx, kindRender, renderRequest{Config: r.options.Config, Cluster: cluster, Pins: pins}, kindRendered, &response, nil)
	if err != nil {
		return nil, nil, err
	}
	return response.Rendered, response.Problems, nil
}

// ask sends a request and answers the child's questions until its result comes.
func (r *Renderer) ask(ctx context.Context, request kind, value any, result kind, into any, file func(fileQuestion) (kind, []byte)) error {
	if r.broken != nil {
		return r.broken
	}
	// Reading from a pipe knows no context: the end of the child is the end of it.
	stop := context.AfterFunc(ctx, r.cancel)
	defer stop()
	defer r.hurry()()
	payload, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("asking the confined process: %w", err)
	}
	if err := send(r.in, request, payload, maxRequest); err != nil {
		if errors.Is(err, errTooLong) {
			return fmt.Errorf("asking the confined process: %w", err)
		}
		return r.fail(err)
	}
	for {
		k, payload, err := receive(r.out, maxResponse)
		if err != nil {
			return r.fail(err)
		}
		switch {
		case k == kindFile && file != nil:
			q, err := parseQuestion(payload)
			if err != nil {
				return r.fail(err)
			}
			k, data := file(q)
			if err := send(r.in, k, data, maxRequest); err != nil {
				return r.fail(err)
			}
		case k == kindFailed:
			return errors.New(string(payload))
		case k == result:
			if err := json.Unmarshal(payload, into); err != nil {
				return r.fail(fmt.Errorf("reading the result: %w", err))
			}
			return nil
		default:
			return r.fail(fmt.Errorf("a message of kind %q is not expected", k))
		}
	}
}

// hurry ends the child when the deadline passes before the result is called.
func (r *Renderer) hurry() (done func() bool) {
	return time.AfterFunc(r.options.Deadline, func() { r.late.Store(true); r.cancel() }).Stop
}

// fail ends the child after an error of the pipes, and says why it went wrong.
func (r *Renderer) fail(err error) error {
	cause := r.ctx.Err()
	gone := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE)
	if !gone {
		r.cancel() // it talks nonsense: it need not end by itself
	}
	end := r.wait()
	if !gone && cause == nil {
		r.broken = fmt.Errorf("talking to the confined process: %w", err)
	} else {
		r.broken = r.explain(err, cause, end)
	}
	return r.broken
}

// Close ends the child and waits for it.
func (r *Renderer) Close() error {
	r.wait()
	return nil
}

// wait ends the process's input, kills it if that is not enough, and waits. It
// may be called again.
func (r *Renderer) wait() error {
	if r.release == nil {
		return nil
	}
	_ = r.in.Close() // it may be gone already
	kill := time.AfterFunc(time.Second, r.cancel)
	defer kill.Stop()
	close(r.release)
	r.release = nil
	err := <-r.ended
	r.cancel()
	return err
}

// explain says in a person's words how the child ended.
func (r *Renderer) explain(err, cause, end error) error {
	said := r.said.String()
	mentions := func(words ...string) bool {
		for _, w := range words {
			if bytes.Contains([]byte(said), []byte(w)) {
				return true
			}
		}
		return false
	}
	const advice = "a definition takes a small part of that: look for what multiplies itself"
	state := r.cmd.ProcessState
	switch {
	case r.late.Load():
		return fmt.Errorf("rendering what is not trusted took longer than %s and was ended: %s", r.options.Deadline, advice)
	case cause != nil:
		return cause
	case mentions("out of memory", "cannot allocate memory", "newosproc"):
		return fmt.Errorf("rendering what is not trusted took more than %d MiB of memory and was ended: %s", r.options.Memory>>20, advice)
	case mentions("stack exceeds", "stack overflow"):
		return errors.New("rendering what is not trusted went too deep and was ended: something in it is nested without measure")
	case state != nil && state.UserTime()+state.SystemTime() >= r.options.CPU-time.Second:
		return fmt.Errorf("rendering what is not trusted took more than %s of processor time and was ended: %s", r.options.CPU, advice)
	case end != nil:
		return fmt.Errorf("the confined process ended (%w)%s", end, firstLine(said))
	default:
		return fmt.Errorf("talking to the confined process: %w", err)
	}
}

// firstLine is what the Go runtime says first when it gives up, and nothing of a
// panic's value, which may quote a file.
func firstLine(said string) string {
	line, _, _ := bytes.Cut([]byte(said), []byte("\n"))
	if bytes.HasPrefix(line, []byte("fatal error: ")) && len(line) < 200 {
		return ": " + strconv.QuoteToASCII(string(line))
	}
	return ""
}

// head keeps the beginning of what is written to it.
type head struct {
	mu   sync.Mutex
	text []byte
}

const maxHead = 16 << 10

func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, p[:min(len(p), maxHead-len(h.text))]...)
	return len(p), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.text)
}
