package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// retryAfter is the pause before something that failed is tried again: a volume
// that is not bound, a Secret that is missing, a request that got no answer.
const retryAfter = 250 * time.Millisecond

// worker runs one pod from its binding to its end.
type worker struct {
	agent           *Agent
	namespace, name string
	uid             types.UID
	node            Node
	dir             string
	started         time.Time

	// life ends when the pod has to: it was deleted, is gone, or the agent stops.
	life    context.Context
	endLife context.CancelFunc

	dirty       chan struct{} // the status has to be sent
	overwritten atomic.Bool   // somebody else has changed it since it was
	transitions map[corev1.PodConditionType]corev1.PodCondition

	mu         sync.Mutex
	pod        *corev1.Pod
	actual     map[string]corev1.ResourceRequirements // what the containers have
	admitted   int64                                  // the generation whose resize is carried out
	address    netip.Addr
	volumes    map[string]string // volume name: folder on this machine
	inits      []*container
	containers []*container
	problem    string // why the pod does not go on
	killAt     time.Time
	deleted    bool // the object has a deletion timestamp
	vanished   bool // the object is gone
	seedFile   string
	seedQuery  string
}

func newWorker(a *Agent, pod *corev1.Pod, node Node) *worker {
	w := &worker{
		agent: a, namespace: pod.Namespace, name: pod.Name, uid: pod.UID, node: node, pod: pod,
		dir:         filepath.Join(a.o.Dir, "pods", string(pod.UID)),
		started:     time.Now(),
		dirty:       make(chan struct{}, 1),
		transitions: map[corev1.PodConditionType]corev1.PodCondition{},
		volumes:     map[string]string{},
		actual:      actualOf(pod),
	}
	w.life, w.endLife = context.WithCancel(a.ctx)
	for i := range pod.Spec.InitContainers {
		w.inits = append(w.inits, newContainer(w, &pod.Spec.InitContainers[i], true))
	}
	for i := range pod.Spec.Containers {
		w.containers = append(w.containers, newContainer(w, &pod.Spec.Containers[i], false))
	}
	w.update(pod)
	return w
}

// update takes in a change of the pod object.
func (w *worker) update(pod *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pod.Generation != pod.Generation {
		defer w.changed()
	}
	w.pod = pod
	if pod.DeletionTimestamp == nil {
		return
	}
	grace := int64(30)
	if pod.DeletionGracePeriodSeconds != nil {
		grace = *pod.DeletionGracePeriodSeconds
	}
	if deadline := time.Now().Add(time.Duration(grace) * time.Second); !w.deleted || deadline.Before(w.killAt) {
		w.killAt = deadline
	}
	w.deleted = true
	w.endLife()
}

// gone says that the object is no longer there: by force, or by us.
func (w *worker) gone() {
	w.mu.Lock()
	w.vanished = true
	w.killAt = time.Now()
	w.mu.Unlock()
	w.endLife()
}

func (w *worker) killBy(deadline time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.killAt.IsZero() || deadline.Before(w.killAt) {
		w.killAt = deadline
	}
}

// mustKill says whether the time to end in peace is over. A pod whose agent
// stops has two seconds.
func (w *worker) mustKill() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.killAt.IsZero() && !time.Now().Before(w.killAt)
}

func (w *worker) current() *corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pod
}

func (w *worker) podAddress() netip.Addr {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.address
}

// changed asks for the status to be sent.
func (w *worker) changed() {
	select {
	case w.dirty <- struct{}{}:
	default:
	}
}

// sayProblem tells why the pod does not go on as a kubelet does: by an event, and nowhere in
// the pod's status.
func (w *worker) sayProblem(reason, message string) {
	w.mu.Lock()
	same := w.problem == message
	w.problem = message
	w.mu.Unlock()
	if !same {
		w.event(corev1.EventTypeWarning, reason, message)
	}
}

// fullName is how a kubelet writes a pod in what it says.
func (w *worker) fullName() string { return fmt.Sprintf("%s_%s(%s)", w.name, w.namespace, w.uid) }

func (w *worker) event(kind, reason, message string) {
	w.agent.events.Event(w.current(), kind, reason, message)
}

// pause waits; it is false when ctx ended first.
func pause(ctx context.Context, duration time.Duration) bool {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (w *worker) run() {
	sender, stopSender := context.WithCancel(w.agent.ctx)
	var sending sync.WaitGroup
	sending.Add(1)
	go func() {
		defer sending.Done()
		w.sendStatus(sender)
	}()
	w.live()
	stopSender()
	sending.Wait()
	w.end()
}

// live runs the pod until its containers have ended.
func (w *worker) live() {
	// A pod whose containers have all ended stays until it is deleted.
	defer func() { <-w.life.Done() }()
	w.awake(w.life)
	if !w.setUp() {
		return
	}
	for _, c := range w.inits {
		if !c.runInit(w.life) {
			return
		}
	}
	var running sync.WaitGroup
	for _, c := range w.containers {
		running.Add(1)
		go func() {
			defer running.Done()
			c.run(w.life)
		}()
	}
	running.Wait()
}

// setUp gives the pod its volumes and then its address.
func (w *worker) setUp() bool {
	w.changed()
	for w.life.Err() == nil {
		err := w.mountVolumes(w.life)
		if err == nil {
			break
		}
		w.sayProblem("FailedMount", err.Error())
		pause(w.life, retryAfter)
	}
	for w.life.Err() == nil {
		address, err := w.takeAddress()
		if err == nil {
			w.mu.Lock()
			w.address = address
			w.mu.Unlock()
			w.agent.reseed(w.namespace)
			w.changed()
			return true
		}
		w.sayProblem("FailedCreatePodSandBox", "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox: "+err.Error())
		pause(w.life, retryAfter)
	}
	return false
}

func (w *worker) takeAddress() (netip.Addr, error) {
	if w.fault("no-sandbox", "") {
		return netip.Addr{}, errors.New("the fault no-sandbox is set")
	}
	return w.agent.o.TakePodAddress()
}

// end clears up what the pod had on this machine, and finishes the deletion of
// its object.
func (w *worker) end() {
	w.endLife()
	if address := w.podAddress(); address.IsValid() {
		w.agent.o.ReleasePodAddress(address)
	}
	defer w.agent.forget(w)
	w.awake(w.agent.ctx)
	if w.agent.ctx.Err() == nil && !w.isGone() {
		w.finishDeletion()
	}
	if err := os.RemoveAll(w.dir); err != nil {
		w.agent.o.Log.Warn("removing a pod's folder", "pod", w.name, "error", err)
	}
}

func (w *worker) isGone() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.vanished
}

// finishDeletion reports the containers' ends and removes the object, which its
// finalizers may still keep.
func (w *worker) finishDeletion() {
	now := int64(0)
	for w.agent.ctx.Err() == nil && !w.isGone() {
		ctx, cancel := context.WithTimeout(w.agent.ctx, 10*time.Second)
		err := w.patchStatus(ctx)
		if err == nil {
			err = w.agent.o.Client.CoreV1().Pods(w.namespace).Delete(ctx, w.name, metav1.DeleteOptions{
				GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &w.uid},
			})
		}
		cancel()
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return
		}
		w.agent.o.Log.Debug("finishing the deletion of a pod", "pod", w.name, "error", err)
		pause(w.agent.ctx, retryAfter)
	}
}

// configError is a mistake in the pod that keeps one container from being made.
type configError struct{ reason, message string }

func (e configError) Error() string { return e.message }

func badConfig(format string, args ...any) error {
	return configError{reason: "CreateContainerConfigError", message: fmt.Sprintf(format, args...)}
}
