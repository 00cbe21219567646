package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/ops/model"
)

// What a process said last is repeated as far as it says why, and without a secret.
func TestTheLastWordsOfACrashAreRepeatedWithoutSecrets(t *testing.T) {
	crate := func(message string, code int32, reason string) corev1.ContainerStateTerminated {
		return corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}
	}
	for name, c := range map[string]struct {
		ended  corev1.ContainerStateTerminated
		says   string
		silent []string
	}{
		"a bootstrap check": {
			crate("[2026-01-02T03:04:05,678][ERROR][o.e.b.Bootstrap] bootstrap checks failed\nmax virtual memory areas vm.max_map_count [65530] is too low\n[2026-01-02T03:04:06,000][INFO ][o.e.n.Node] [data-hot-2] closing ...\n", 78, "Error"),
			"exit code 78, and with the words: [2026-01-02T03:04:05,678][ERROR][o.e.b.Bootstrap] bootstrap checks failed | max virtual memory areas vm.max_map_count [65530] is too low; its bootstrap checks have failed",
			[]string{"closing"},
		},
		"a stack trace": {
			crate("java.lang.IllegalStateException: no such path\n\tat org.x.A.b(A.java:1)\n\tat org.x.C.d(C.java:2)\n\t... 7 more", 1, "Error"),
			"exit code 1, and with the words: java.lang.IllegalStateException: no such path", []string{"A.java", "more"},
		},
		"nothing but its end":           {crate("[2026-01-02T03:04:06,000][INFO ][o.e.n.Node] closed", 1, "Error"), "closed", nil},
		"nothing":                       {crate("", 3, "Error"), "exit code 3", []string{"with the words", "(Error)"}},
		"memory":                        {crate("[WARN ] a password is wrong", 137, "OOMKilled"), "exit code 137 (OOMKilled); it took more memory than its limit: raise the memory of the group", []string{"killed from outside", "a password"}},
		"a kill":                        {crate("", 137, "Error"), "it was killed from outside (SIGKILL)", nil},
		"an end that was asked for":     {crate("[WARN ] a password is wrong", 143, "Error"), "exit code 143", []string{"a password"}},
		"the password of a Secret":      {crate("cannot open /data with hunter2-and-more!", 1, "Error"), "cannot open /data with ***!", []string{"hunter2"}},
		"a password that is called one": {crate(`keystore password=s3cr3t, token: "abc"; https://joe:pw99@host/x`, 1, "Error"), `password=***, token: "***"; https://***@host/x`, []string{"s3cr3t", "abc", "pw99"}},
		"a book":                        {crate(strings.Repeat("word ", 1000), 1, "Error"), "word …", nil},
		"colours":                       {crate("\x1b[31mred\x1b[0m\x00", 1, "Error"), "red", []string{"\x1b", "\x00"}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podWith(corev1.ContainerStatus{
				State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 10s"}},
				LastTerminationState: corev1.ContainerState{Terminated: &c.ended},
			})
			seen := observedPod(pod, nil)
			sayLastRun(&seen, pod, redaction{"hunter2-and-more", "hunter2"})
			assert.Contains(t, seen.Message, "back-off 10s; its last run ended with exit code ")
			assert.Contains(t, seen.Message, c.says)
			for _, words := range c.silent {
				assert.NotContains(t, seen.Message, words)
			}
			assert.Less(t, len(seen.Message), 2*textMost)
			// One that is back says the same of how it had ended.
			c.ended.FinishedAt = began
			sayLastEnd(&seen, pod, redaction{"hunter2-and-more", "hunter2"})
			assert.Equal(t, began.Time, seen.LastEnd.At)
			assert.Contains(t, seen.LastEnd.Why, c.says)
			for _, words := range c.silent {
				assert.NotContains(t, seen.LastEnd.Why, words)
			}
			pod.Status.Reason, pod.Status.Message = "Evicted", "the node was low on ephemeral-storage"
			sayLastEnd(&seen, pod, nil)
			assert.Equal(t, "Evicted: the node was low on ephemeral-storage", seen.LastEnd.Why)
		})
	}
}

// A pod whose kubelet is silent is told from one that says itself why it is not ready.
func TestAPodSaysWhetherItsMachineReports(t *testing.T) {
	seconds := func(n int64) *int64 { return &n }
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus, reason, message string) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: began}
	}
	silent := []corev1.PodCondition{condition(corev1.PodReady, corev1.ConditionFalse, "", ""), condition(corev1.ContainersReady, corev1.ConditionTrue, "", "")}
	for name, c := range map[string]struct {
		conditions  []corev1.PodCondition
		tolerations []corev1.Toleration
		want        model.Lost
	}{
		"a kubelet that is silent": {silent, []corev1.Toleration{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: seconds(300)}}, model.Lost{Unheard: began.Time, Patience: 5 * time.Minute}},
		"a pod that stays":         {silent, []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, model.Lost{Unheard: began.Time, Patience: -1}},
		"a pod that goes at once":  {silent, []corev1.Toleration{{Key: "cratedb", Effect: corev1.TaintEffectNoSchedule}}, model.Lost{Unheard: began.Time, Patience: 1}},
		"a probe that fails": {[]corev1.PodCondition{
			condition(corev1.PodReady, corev1.ConditionFalse, "ContainersNotReady", "containers with unready status: [crate]"), condition(corev1.ContainersReady, corev1.ConditionFalse, "ContainersNotReady", "x"),
		}, nil, model.Lost{Patience: 1}},
		"one whose reason stayed": {[]corev1.PodCondition{
			condition(corev1.PodReady, corev1.ConditionFalse, "ContainersNotReady", "x"), condition(corev1.ContainersReady, corev1.ConditionTrue, "", ""),
		}, nil, model.Lost{Unheard: began.Time, Patience: 1}},
		"a readiness gate": {[]corev1.PodCondition{
			condition(corev1.PodReady, corev1.ConditionFalse, "ReadinessGatesNotReady", "x"), condition(corev1.ContainersReady, corev1.ConditionTrue, "", ""),
		}, nil, model.Lost{Patience: 1}},
		"one that is evicted for it": {append([]corev1.PodCondition{condition(corev1.DisruptionTarget, corev1.ConditionTrue, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")}, silent...), nil, model.Lost{Unheard: began.Time, Deleted: true, Patience: 1}},
		"one that is drained":        {[]corev1.PodCondition{condition(corev1.DisruptionTarget, corev1.ConditionTrue, "EvictionByEvictionAPI", "")}, nil, model.Lost{Patience: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podWith(corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}})
			pod.Status.Conditions, pod.Spec.Tolerations = c.conditions, c.tolerations
			assert.Equal(t, c.want, observedPod(pod, nil).Lost)
		})
	}
}
