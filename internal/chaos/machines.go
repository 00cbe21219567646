package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Machine is a real node, to which what happens to machines can be done.
type Machine interface {
	// CutPower ends all on it at once; PowerOn is the cure.
	CutPower()
	PowerOn(ctx context.Context) error
	// CutNetwork pulls its cable; JoinNetwork is the cure.
	CutNetwork() error
	JoinNetwork() error
	// KillKubelet kills its kubelet, which comes back by itself.
	KillKubelet()
	// FillDisk leaves so many bytes free; EmptyDisk is the cure.
	FillDisk(left int64) error
	EmptyDisk() error
}

// What befalls a machine while an operation is under way.
const (
	PowerCut      Fault = "power cut"
	CableCut      Fault = "cable cut"
	KubeletKilled Fault = "kubelet killed"
	DiskFilled    Fault = "disk filled"
)

// takesNodes is true of faults that take a node away: what the application is told
// meanwhile is reported, and not judged.
func (f Fault) takesNodes() bool {
	switch f {
	case NodeKilled, PowerCut, CableCut, KubeletKilled, DiskFilled:
		return true
	}
	return false
}

// machineLostFor is longer than the 40 s after which Kubernetes calls a machine not ready.
const machineLostFor = 75 * time.Second

const (
	// diskLeft is below what the kubelet of a real node wants to be free.
	diskLeft = 300 << 20
	// evictedWithin bounds the wait for a kubelet that evicts a pod, diskFullFor is how long
	// the disk stays full after that.
	evictedWithin = 2 * time.Minute
	diskFullFor   = 20 * time.Second
)

// OnMachines is a voyage through all operations in which something befalls a machine, or
// the daemon, in each: which, the seed says.
func OnMachines(name string, seed uint64) Voyage {
	random := rand.New(rand.NewPCG(seed, 0))
	faults := []Fault{PowerCut, CableCut, KubeletKilled, DiskFilled, DaemonKilled}
	random.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	v := Voyage{Name: name, Version: versionBefore}
	for i, operation := range []Operation{Restart, Grow, Upgrade, Shrink, Restart} {
		v.Steps = append(v.Steps, Step{operation, faults[i]})
	}
	return v
}

// harmMachine does something to the machine of any pod, and returns when it is undone.
func (v *voyage) harmMachine(ctx context.Context, fault Fault) error {
	pods, err := v.nodes.pods(ctx)
	if err != nil {
		return err
	}
	v.random.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	for i := range pods {
		if name := pods[i].Spec.NodeName; name != "" {
			v.say("%s of %s, where %s is", fault, name, pods[i].Name)
			return v.befall(ctx, v.Machine(name), fault, &pods[i])
		}
	}
	return errors.New("no pod has a machine")
}

func (v *voyage) befall(ctx context.Context, m Machine, fault Fault, pod *corev1.Pod) error {
	began := time.Now()
	var cure func(context.Context) error
	var err error
	switch fault {
	case KubeletKilled:
		m.KillKubelet()
		return nil
	case PowerCut:
		m.CutPower()
		cure = m.PowerOn
	case CableCut:
		err, cure = m.CutNetwork(), func(context.Context) error { return m.JoinNetwork() }
	case DiskFilled:
		err, cure = m.FillDisk(diskLeft), func(context.Context) error { return m.EmptyDisk() }
	default:
		return fmt.Errorf("%q befalls no machine", fault)
	}
	if err == nil && fault == DiskFilled {
		v.evicted(ctx, pod)
		pause(ctx, diskFullFor)
	} else if err == nil {
		pause(ctx, machineLostFor)
	}
	curing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	err = errors.Join(err, cure(curing))
	v.say("%s is over after %s", fault, time.Since(began).Round(time.Second))
	return err
}

// evicted waits until the pod was evicted, or time is up: CrateDB may have moved by itself.
func (v *voyage) evicted(ctx context.Context, pod *corev1.Pod) {
	ctx, cancel := context.WithTimeout(ctx, evictedWithin)
	defer cancel()
	for ctx.Err() == nil {
		now, err := v.Bed.Admin.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err == nil && (now.UID != pod.UID || now.Status.Phase == corev1.PodFailed) {
			v.say("%s was evicted", pod.Name)
			return
		}
		pause(ctx, time.Second)
	}
}

func pause(ctx context.Context, span time.Duration) {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
