package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/sandbox/shell"
)

const (
	// firstBackOff and longestBackOff bound the pause before a container that
	// ended is started again (a kubelet: 10 s and 5 min).
	firstBackOff   = 500 * time.Millisecond
	longestBackOff = 10 * time.Second
	// forgetBackOffAfter is how long a container has to run for its next end to
	// count as the first one.
	forgetBackOffAfter = time.Minute
)

// instance is one run of a container.
type instance interface {
	Done() <-chan struct{}
	// ExitCode is valid once Done is closed.
	ExitCode() int
	Signal(syscall.Signal)
}

// container is one container of a pod, over all of its runs.
type container struct {
	worker *worker
	spec   *corev1.Container
	init   bool
	id     string

	mu       sync.Mutex
	state    corev1.ContainerState
	last     corev1.ContainerState
	restarts int32
	ready    bool
	started  bool
	crate    bool // the run is a CrateDB node
	env      environment
	mounts   []mount
	instance instance
	log      *logFile
	unwell   chan struct{} // closed by a failed liveness probe
}

func newContainer(w *worker, spec *corev1.Container, init bool) *container {
	return &container{
		worker: w, spec: spec, init: init, id: string(w.uid) + "-" + spec.Name,
		state: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: creating}},
	}
}

// creating and podInitializing are what containers wait for that nothing is wrong with.
const (
	creating        = "ContainerCreating"
	podInitializing = "PodInitializing"
)

// What containers wait for that cannot start.
const (
	crashLoop        = "CrashLoopBackOff"
	imagePullBackOff = "ImagePullBackOff"
)

func (c *container) status() corev1.ContainerStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	started := c.started
	s := corev1.ContainerStatus{
		Name: c.spec.Name, Image: c.spec.Image, State: *c.state.DeepCopy(), LastTerminationState: *c.last.DeepCopy(),
		RestartCount: c.restarts, Ready: c.ready, Started: &started,
	}
	if c.init && s.State.Terminated != nil {
		s.Ready = s.State.Terminated.ExitCode == 0
	}
	if s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil {
		s.ContainerID = fmt.Sprintf("stevedore-sandbox://%s-%d", c.id, c.restarts)
		s.ImageID = c.spec.Image
	}
	return s
}

func (c *container) wait(reason, message string) {
	c.mu.Lock()
	before := c.state.Waiting
	same := before != nil && before.Reason == reason && before.Message == message
	c.state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	c.ready, c.started = false, false
	c.mu.Unlock()
	if !same {
		c.sayWaiting(reason, message)
		c.worker.changed()
	}
}

// sayWaiting makes the event that a kubelet makes where a container cannot start.
func (c *container) sayWaiting(reason, message string) {
	switch reason {
	case creating, podInitializing:
	case crashLoop:
		c.worker.event(corev1.EventTypeWarning, "BackOff", fmt.Sprintf("Back-off restarting failed container %s in pod %s", c.spec.Name, c.worker.fullName()))
	case imagePullBackOff:
		c.worker.event(corev1.EventTypeWarning, "Failed", "Error: "+imagePullBackOff)
	default:
		c.worker.event(corev1.EventTypeWarning, "Failed", "Error: "+message)
	}
}

// runInit runs an init container to its success; false when the pod ends first,
// or failed for good.
func (c *container) runInit(life context.Context) bool {
	return c.runs(life, func(code int) bool {
		return code != 0 && c.worker.current().Spec.RestartPolicy != corev1.RestartPolicyNever
	}) == 0
}

// run runs a container until it ends for good or the pod does.
func (c *container) run(life context.Context) {
	c.runs(life, func(code int) bool {
		switch c.worker.current().Spec.RestartPolicy {
		case corev1.RestartPolicyNever:
			return false
		case corev1.RestartPolicyOnFailure:
			return code != 0
		}
		return true
	})
}

// runs runs the container again and again while again says so; it returns the
// last exit code, or -1 when the pod ended.
func (c *container) runs(life context.Context, again func(code int) bool) int {
	backOff := firstBackOff
	for life.Err() == nil {
		began := time.Now()
		if err := c.start(life); err != nil {
			var config configError
			if !errors.As(err, &config) {
				config = configError{reason: "RunContainerError", message: err.Error()}
			}
			c.wait(config.reason, config.message)
			pause(life, retryAfter)
			continue
		}
		code := c.await(life)
		if life.Err() != nil {
			return -1
		}
		if !again(code) {
			return code
		}
		if time.Since(began) > forgetBackOffAfter {
			backOff = firstBackOff
		}
		c.worker.changed()
		c.backOff(life, backOff)
		backOff = min(2*backOff, longestBackOff)
	}
	return -1
}

// backOff waits before the next run, which it counts.
func (c *container) backOff(life context.Context, duration time.Duration) {
	c.mu.Lock()
	c.last = c.state
	c.mu.Unlock()
	c.wait(crashLoop, fmt.Sprintf("back-off %s restarting failed container=%s pod=%s",
		duration, c.spec.Name, c.worker.fullName()))
	pause(life, duration)
	c.mu.Lock()
	c.restarts++
	c.mu.Unlock()
}

// start starts one run.
func (c *container) start(life context.Context) error {
	if err := c.checkImage(); err != nil {
		return err
	}
	env, err := c.worker.environment(life, c.spec)
	if err != nil {
		return err
	}
	mounts, err := c.worker.containerMounts(c.spec, env)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.rootFolder(), 0o711); err != nil {
		return fmt.Errorf("making the container's folder: %w", err)
	}
	log, err := createLog(c.logPath(c.restartCount()))
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.env, c.mounts, c.log, c.crate = env, mounts, log, false
	c.unwell = make(chan struct{})
	c.mu.Unlock()
	run, err := c.launch(life, log)
	if err != nil {
		_ = log.Close()
		return err
	}
	c.mu.Lock()
	c.instance = run
	c.state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{
		StartedAt: metav1.NewTime(time.Now().Truncate(time.Second)),
	}}
	c.started = c.spec.StartupProbe == nil
	c.ready = !c.init && c.started && c.spec.ReadinessProbe == nil
	c.mu.Unlock()
	c.worker.event(corev1.EventTypeNormal, "Started", "Started container "+c.spec.Name)
	c.worker.changed()
	return nil
}

// await watches over a run until it has ended, and ends it when the pod's life
// does or its liveness probe fails. It returns the exit code.
func (c *container) await(life context.Context) int {
	c.mu.Lock()
	run, log, unwell := c.instance, c.log, c.unwell
	c.mu.Unlock()
	probing, stopProbing := context.WithCancel(life)
	var probes sync.WaitGroup
	if !c.init {
		probes.Add(1)
		go func() {
			defer probes.Done()
			c.probe(probing)
		}()
		c.hook(life, "postStart", c.lifecycle().PostStart)
	}
	reason := ""
	select {
	case <-run.Done():
	case <-unwell:
		reason = "liveness probe failed"
		c.terminate(run, func() bool { return false })
	case <-life.Done():
		c.worker.awake(c.worker.agent.ctx)
		c.terminate(run, c.worker.mustKill)
	}
	stopProbing()
	probes.Wait()
	_ = log.Close()
	code := run.ExitCode()
	c.ended(code, reason)
	return code
}

func (c *container) ended(code int, reason string) {
	terminated := &corev1.ContainerStateTerminated{
		ExitCode: int32(code), Reason: "Completed", Message: reason,
		FinishedAt:  metav1.NewTime(time.Now().Truncate(time.Second)),
		ContainerID: fmt.Sprintf("stevedore-sandbox://%s-%d", c.id, c.restartCount()),
	}
	if code != 0 {
		terminated.Reason = "Error"
		if terminated.Message == "" && c.spec.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
			terminated.Message = c.lastWords()
		}
	}
	if code > 128 {
		terminated.Signal = int32(code - 128)
	}
	c.mu.Lock()
	if c.state.Running != nil {
		terminated.StartedAt = c.state.Running.StartedAt
	}
	c.state = corev1.ContainerState{Terminated: terminated}
	c.ready, c.started, c.instance = false, false, nil
	c.mu.Unlock()
	c.worker.changed()
}

// terminate runs the preStop hook, sends SIGTERM, and SIGKILL once mustKill says
// so or the grace of the pod's specification is over.
func (c *container) terminate(run instance, mustKill func() bool) {
	grace := 30 * time.Second
	if given := c.worker.current().Spec.TerminationGracePeriodSeconds; given != nil {
		grace = time.Duration(*given) * time.Second
	}
	deadline := time.Now().Add(grace)
	if !mustKill() {
		hook, cancel := context.WithDeadline(c.worker.agent.ctx, deadline)
		c.hook(hook, "preStop", c.lifecycle().PreStop)
		cancel()
	}
	run.Signal(syscall.SIGTERM)
	ticker := time.NewTicker(25 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-run.Done():
			return
		case <-ticker.C:
			if mustKill() || time.Now().After(deadline) {
				run.Signal(syscall.SIGKILL)
				<-run.Done()
				return
			}
		}
	}
}

func (c *container) lifecycle() corev1.Lifecycle {
	if c.spec.Lifecycle == nil {
		return corev1.Lifecycle{}
	}
	return *c.spec.Lifecycle
}

// hook runs a lifecycle hook; its failure is an event, as on any cluster.
func (c *container) hook(ctx context.Context, name string, handler *corev1.LifecycleHandler) {
	switch {
	case handler == nil:
	case handler.Exec != nil:
		var out strings.Builder
		if code := c.execute(ctx, handler.Exec.Command, shell.Streams{Out: &out, Err: &out}); code != 0 {
			c.worker.event(corev1.EventTypeWarning, "Failed"+strings.ToUpper(name[:1])+name[1:]+"Hook",
				fmt.Sprintf("%s: exit code %d: %s", c.spec.Name, code, strings.TrimSpace(out.String())))
		}
	case handler.Sleep != nil:
		pause(ctx, time.Duration(handler.Sleep.Seconds)*time.Second)
	}
}

func (c *container) restartCount() int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.restarts
}

func (c *container) runningInstance() instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.instance
}

// variables are those of the current run; they do not change within one.
func (c *container) variables() *environment {
	c.mu.Lock()
	defer c.mu.Unlock()
	env := c.env
	return &env
}

func (c *container) mountList() []mount {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mounts
}

func (c *container) rootFolder() string { return filepath.Join(c.worker.dir, "root", c.spec.Name) }

func (c *container) logPath(restart int32) string {
	return filepath.Join(c.worker.dir, "logs", c.spec.Name, fmt.Sprintf("%d.log", restart))
}

// A kubelet takes so much of the log for a termination message.
const wordsMost, linesMost = 2048, 80

// lastWords are the last lines of the log of this run, for the status of a
// container that failed.
func (c *container) lastWords() string {
	content, err := os.ReadFile(c.logPath(c.restartCount()))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	if len(lines) > linesMost {
		lines = lines[len(lines)-linesMost:]
	}
	for i, line := range lines {
		_, lines[i], _ = strings.Cut(line, " ")
	}
	words := strings.Join(lines, "\n")
	if len(words) > wordsMost {
		words = words[len(words)-wordsMost:]
	}
	return strings.ToValidUTF8(words, "")
}
