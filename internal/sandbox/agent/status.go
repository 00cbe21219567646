package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// sendStatus sends the pod's status whenever it changed.
func (w *worker) sendStatus(ctx context.Context) {
	var sent *corev1.PodStatus
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.dirty:
		}
		w.awake(ctx)
		if w.overwritten.Swap(false) {
			sent = nil
		}
		status := w.status()
		if reflect.DeepEqual(sent, status) || w.isGone() {
			continue
		}
		attempt, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := w.patch(attempt, status)
		cancel()
		switch {
		case err == nil:
			sent = status
		case apierrors.IsNotFound(err), apierrors.IsConflict(err):
			// Gone, or another pod of that name: the watch will say so.
		default:
			w.agent.o.Log.Debug("sending a pod's status", "pod", w.name, "error", err)
			pause(ctx, retryAfter)
			w.changed()
		}
	}
}

func (w *worker) patchStatus(ctx context.Context) error { return w.patch(ctx, w.status()) }

// patch sends a strategic merge patch: conditions of others (the scheduler's, the
// eviction's) stay. The UID keeps it from a successor of the same name.
func (w *worker) patch(ctx context.Context, status *corev1.PodStatus) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	if err != nil {
		return fmt.Errorf("encoding the status of the pod %s: %w", w.name, err)
	}
	conditions, _ := fields["conditions"].([]any)
	for _, each := range conditions {
		// What is left out of a patch stays: a pod that is ready would keep why it was not.
		condition := each.(map[string]any)
		for _, field := range []string{"reason", "message"} {
			if condition[field] == nil {
				condition[field] = nil
			}
		}
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodResizePending, corev1.PodResizeInProgress} {
		if !slices.ContainsFunc(status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind }) {
			conditions = append(conditions, map[string]any{"type": string(kind), "$patch": "delete"})
		}
	}
	fields["conditions"] = conditions
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": w.uid},
		"status":   fields,
	})
	if err != nil {
		return fmt.Errorf("encoding the status of the pod %s: %w", w.name, err)
	}
	_, err = w.agent.o.Client.CoreV1().Pods(w.namespace).Patch(
		ctx, w.name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
	return err
}

// status is what a kubelet would report now.
func (w *worker) status() *corev1.PodStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	started := metav1.NewTime(w.started.Truncate(time.Second))
	status := &corev1.PodStatus{
		StartTime: &started,
		HostIP:    w.node.Address.String(),
		HostIPs:   []corev1.HostIP{{IP: w.node.Address.String()}},
		QOSClass:  w.pod.Status.QOSClass,

		ObservedGeneration: w.pod.Generation,
	}
	resize := w.resize()
	if w.address.IsValid() {
		status.PodIP = w.address.String()
		status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	}
	initialized := true
	initFailed := false
	var incomplete []string
	for _, c := range w.inits {
		s := c.status()
		if s.State.Waiting != nil && s.State.Waiting.Reason == creating {
			s.State.Waiting.Reason = podInitializing
		}
		status.InitContainerStatuses = append(status.InitContainerStatuses, s)
		ended := s.State.Terminated
		if ended == nil || ended.ExitCode != 0 {
			initialized, incomplete = false, append(incomplete, s.Name)
		}
		initFailed = initFailed || ended != nil && ended.ExitCode != 0 && w.pod.Spec.RestartPolicy == corev1.RestartPolicyNever
	}
	ready := initialized
	everStarted, running, failed := true, false, false
	var unready []string
	for _, c := range w.containers {
		s := c.status()
		if !initialized && s.State.Waiting != nil {
			s.State.Waiting.Reason = podInitializing
		}
		if has, ok := w.actual[s.Name]; ok && s.State.Running != nil {
			s.Resources, s.AllocatedResources = has.DeepCopy(), has.DeepCopy().Requests
		}
		status.ContainerStatuses = append(status.ContainerStatuses, s)
		if !s.Ready {
			ready = false
			unready = append(unready, s.Name)
		}
		everStarted = everStarted && (s.State.Running != nil || s.State.Terminated != nil || s.RestartCount > 0 || s.LastTerminationState.Terminated != nil)
		running = running || s.State.Running != nil || s.State.Waiting != nil
		failed = failed || s.State.Terminated != nil && s.State.Terminated.ExitCode != 0
	}
	switch {
	case initFailed:
		status.Phase = corev1.PodFailed
	case !initialized || !everStarted:
		status.Phase = corev1.PodPending
		if w.deleted && !running {
			status.Phase = corev1.PodFailed
		}
	case running:
		status.Phase = corev1.PodRunning
	case failed:
		status.Phase = corev1.PodFailed
	default:
		status.Phase = corev1.PodSucceeded
	}
	why, message := "", ""
	if !ready {
		why, message = "ContainersNotReady", fmt.Sprintf("containers with unready status: %v", unready)
	}
	begun, what := "", ""
	if !initialized {
		begun, what = "ContainersNotInitialized", fmt.Sprintf("containers with incomplete status: %v", incomplete)
	}
	// Why it is not, only the pod's events say.
	w.condition(status, corev1.PodReadyToStartContainers, w.address.IsValid(), "", "")
	w.condition(status, corev1.PodInitialized, initialized, begun, what)
	w.condition(status, corev1.ContainersReady, ready, why, message)
	w.condition(status, corev1.PodReady, ready, why, message)
	if resize != nil {
		w.condition(status, resize.Type, true, resize.Reason, resize.Message)
	}
	for i := range status.Conditions {
		status.Conditions[i].ObservedGeneration = w.pod.Generation
	}
	return status
}

// condition adds a condition whose transition time is that of its last change.
func (w *worker) condition(status *corev1.PodStatus, kind corev1.PodConditionType, holds bool, reason, message string) {
	value := corev1.ConditionFalse
	if holds {
		value = corev1.ConditionTrue
	}
	made := corev1.PodCondition{Type: kind, Status: value, Reason: reason, Message: message}
	before := w.transitions[kind]
	made.LastTransitionTime = before.LastTransitionTime
	if before.Status != value {
		made.LastTransitionTime = metav1.NewTime(time.Now().Truncate(time.Second))
	}
	w.transitions[kind] = made
	status.Conditions = append(status.Conditions, made)
}
