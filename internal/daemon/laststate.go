package daemon

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// sayLastRun adds to what is said of a pod how the container in question ended when it last
// ran: the one that waits, or CrateDB's where the pod is not ready.
func sayLastRun(out *model.Pod, pod *corev1.Pod, hide redaction) {
	if out.Ready {
		return
	}
	statuses := append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...)
	for i := range statuses {
		status := &statuses[i]
		crate, waiting := status.Name == manifest.CrateContainer, status.State.Waiting
		ended := cmp.Or(status.State.Terminated, status.LastTerminationState.Terminated)
		switch {
		case ended == nil:
		case waiting != nil && waiting.Reason == out.Waiting && (crate || strings.HasPrefix(out.Message, "container "+status.Name+": ")):
			out.Message += lastRun(ended, crate, hide)
		case crate && waiting == nil && out.NotReady != "":
			out.NotReady += lastRun(ended, crate, hide)
		}
	}
}

// sayLastEnd adds how CrateDB's process in the pod last ended.
func sayLastEnd(out *model.Pod, pod *corev1.Pod, hide redaction) {
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		if status.Name != manifest.CrateContainer {
			continue
		}
		if ended := cmp.Or(status.State.Terminated, status.LastTerminationState.Terminated); ended != nil {
			out.LastEnd = model.Ended{At: ended.FinishedAt.Time, Why: endWords(ended, true, hide)}
			// A pod has a reason where the kubelet ended the whole pod: Evicted, NodeShutdown, …
			if reason := pod.Status.Reason; reason != "" {
				out.LastEnd.Why = reason + ": " + hide.line(pod.Status.Message)
			}
		}
	}
}

// lastRun are the words for how a container has ended, and for what to do where that says it.
func lastRun(ended *corev1.ContainerStateTerminated, crate bool, hide redaction) string {
	return "; its last run ended with " + endWords(ended, crate, hide)
}

// endWords are the exit code of a container, its last log lines, and what to do.
func endWords(ended *corev1.ContainerStateTerminated, crate bool, hide redaction) string {
	words := "exit code " + strconv.Itoa(int(ended.ExitCode))
	if ended.Reason != "" && ended.Reason != "Error" {
		words += " (" + ended.Reason + ")"
	}
	// A process that a signal ends does not log why: its last lines are about something else.
	if said := lastLines(ended.Message); said != "" && ended.ExitCode != 0 && ended.ExitCode != killed && ended.ExitCode != terminated {
		words += ", and with the words: " + hide.line(said)
	}
	if crate {
		words += whatToDo(ended)
	}
	return words
}

// bootstrapCheckFailed is CrateDB's exit code where a bootstrap check of it fails.
const bootstrapCheckFailed = 78

// Exit codes of a process that SIGKILL or SIGTERM has ended.
const (
	killed     = 137
	terminated = 143
)

func whatToDo(ended *corev1.ContainerStateTerminated) string {
	switch {
	case ended.Reason == "OOMKilled":
		return "; it took more memory than its limit: raise the memory of the group (resources.limits.memory), or lower its heapRatio"
	case ended.ExitCode == killed:
		return "; it was killed from outside (SIGKILL): its machine ran out of memory, or it did not end in time"
	case ended.ExitCode == bootstrapCheckFailed:
		return "; its bootstrap checks have failed, mostly the machine's limit of open files or vm.max_map_count: the log of the container names the check"
	}
	return ""
}

// linesMost is how many lines of what a process has said last are repeated.
const linesMost = 3

// lastLines are the last lines of a termination message that say why: CrateDB logs its end,
// and a stack trace, after the reason.
func lastLines(message string) string {
	all := strings.Split(strings.TrimSpace(message), "\n")
	lines := slices.DeleteFunc(slices.Clone(all), func(line string) bool {
		line = strings.TrimSpace(line)
		return strings.HasPrefix(line, "at ") || strings.HasPrefix(line, "... ") || strings.Contains(line, "][INFO ]") || strings.Contains(line, "][DEBUG]")
	})
	if len(lines) == 0 {
		lines = all
	}
	if len(lines) > linesMost {
		lines = lines[len(lines)-linesMost:]
	}
	return strings.Join(lines, " | ")
}

// classOf is a claim's storage class; "" where it asks for none.
func classOf(claim *corev1.PersistentVolumeClaim) string {
	if claim.Spec.StorageClassName == nil {
		return ""
	}
	return *claim.Spec.StorageClassName
}

// readinessGates is the reason of a kubelet for a pod whose containers are ready and which
// is not.
const readinessGates = "ReadinessGatesNotReady"

// lostOf says what a pod's own status knows of a machine that does not report. Where all
// containers are ready a kubelet calls the pod ready too, but for its readiness gates: where
// it is not called so, somebody else has taken the readiness away.
func lostOf(pod *corev1.Pod) model.Lost {
	var lost model.Lost
	var ready, containers *corev1.PodCondition
	for i := range pod.Status.Conditions {
		condition := &pod.Status.Conditions[i]
		switch condition.Type {
		case corev1.PodReady:
			ready = condition
		case corev1.ContainersReady:
			containers = condition
		case corev1.DisruptionTarget:
			lost.Deleted = condition.Status == corev1.ConditionTrue && condition.Reason == "DeletionByTaintManager"
		}
	}
	if ready != nil && ready.Status == corev1.ConditionFalse && ready.Reason != readinessGates &&
		containers != nil && containers.Status == corev1.ConditionTrue {
		lost.Unheard = ready.LastTransitionTime.Time
	}
	// Without a toleration it is deleted at once.
	lost.Patience = 1
	for _, toleration := range pod.Spec.Tolerations {
		all := toleration.Key == "" && toleration.Operator == corev1.TolerationOpExists
		if (all || toleration.Key == corev1.TaintNodeUnreachable) && (toleration.Effect == "" || toleration.Effect == corev1.TaintEffectNoExecute) {
			if toleration.TolerationSeconds == nil {
				lost.Patience = -1
				return lost
			}
			lost.Patience = max(time.Duration(*toleration.TolerationSeconds)*time.Second, 1)
		}
	}
	return lost
}
