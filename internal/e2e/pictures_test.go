package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// picturedPod is the pod of the one node that each pictured cluster has.
const picturedPod = "crate-data-hot-orders-0"

// picture is a situation of a pod, and the moment in which it is looked at.
type picture struct {
	// edits of the definition, which may make what they name.
	edits func(*situation) []edit
	// then is done once the cluster is made.
	then func(*situation)
	// ready is true in that moment; pod is nil while there is none.
	ready func(s *situation, pod *corev1.Pod) bool
	// events are the reasons of the warnings that belong to it, and are waited for.
	events []string
	// asks adds what is learned by asking.
	asks func(*situation) []string
}

// sandboxFault lets the sandbox's agent do what the definition does on a real node.
func sandboxFault(of string) edit {
	return with("spec.nodes.data.0.annotations", map[string]any{"sandbox.stevedore.dev/fault": of})
}

func patched(operations string) edit {
	return with("spec.patches", []any{map[string]any{"patch": operations, "target": map[string]any{"kind": "StatefulSet"}}})
}

func waitsFor(container, reason string) func(*situation, *corev1.Pod) bool {
	return func(_ *situation, pod *corev1.Pod) bool {
		return pod != nil && slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), func(c corev1.ContainerStatus) bool {
			return c.Name == container && c.State.Waiting != nil && c.State.Waiting.Reason == reason
		})
	}
}

func unschedulable(_ *situation, pod *corev1.Pod) bool {
	return pod != nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable && !beforeItsClaims(c.Message)
	})
}

// beforeItsClaims reports whether the scheduler has seen a pod a moment before the claims that were made with it. It tries
// again at once, here as on real nodes.
func beforeItsClaims(message string) bool {
	return strings.Contains(message, `persistentvolumeclaim "`) && strings.Contains(message, "not found")
}

var pictures = map[string]picture{
	"ready": {
		ready: func(s *situation, _ *corev1.Pod) bool { return isDone(s.record("orders")) },
		asks: func(s *situation) []string {
			var all []string
			for _, command := range [][]string{{"no-such-tool"}, {"crash", "--no-such-flag"}} {
				_, err := bed.Exec(s.ctx, s.ns, picturedPod, command...)
				require.Error(s, err)
				all = append(all, fmt.Sprintf("exec %s: %s", command[0], strings.TrimSpace(strings.SplitN(err.Error(), "\n", 2)[0])))
			}
			return all
		},
	},
	"image-missing": {
		edits: func(*situation) []edit {
			return []edit{with("spec.cluster.imageRegistry", "broken.example/nothing")}
		},
		ready: waitsFor("mkdir-heapdump", "ImagePullBackOff"),
	},
	"exits": {
		edits: func(*situation) []edit {
			return []edit{with("spec.cluster.imageRegistry", "broken.example/crate"), sandboxFault("exit=broken.example/crate:6.4.3")}
		},
		ready:  waitsFor("crate", "CrashLoopBackOff"),
		events: []string{"BackOff"},
	},
	"never-ready": {
		edits: func(*situation) []edit {
			return []edit{patched(`[{"op": "replace", "path": "/spec/template/spec/containers/0/readinessProbe", "value": {"exec": {"command": ["false"]}, "failureThreshold": 1, "periodSeconds": 1}}]`)}
		},
		ready: func(_ *situation, pod *corev1.Pod) bool {
			return pod != nil && len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].State.Running != nil
		},
		events: []string{"Unhealthy"},
	},
	"volume-of-a-secret-missing": {
		edits: func(*situation) []edit {
			return []edit{patched(`[{"op": "add", "path": "/spec/template/spec/volumes", "value": [{"name": "extra", "secret": {"secretName": "nothing"}}]},
				{"op": "add", "path": "/spec/template/spec/containers/0/volumeMounts/-", "value": {"name": "extra", "mountPath": "/extra"}}]`)}
		},
		ready: waitsFor("crate", "PodInitializing"), events: []string{"FailedMount"},
	},
	"variable-of-a-secret-missing": {
		edits: func(*situation) []edit {
			return []edit{patched(`[{"op": "add", "path": "/spec/template/spec/containers/0/env/-", "value": {"name": "EXTRA", "valueFrom": {"secretKeyRef": {"name": "nothing", "key": "a"}}}}]`)}
		},
		ready: waitsFor("crate", "CreateContainerConfigError"), events: []string{"Failed"},
	},
	"key-of-a-secret-missing": {
		edits: func(s *situation) []edit {
			require.NoError(s, bed.Secret(s.ctx, s.ns, "something", map[string]string{"a": "b"}))
			return []edit{patched(`[{"op": "add", "path": "/spec/template/spec/containers/0/env/-", "value": {"name": "EXTRA", "valueFrom": {"secretKeyRef": {"name": "something", "key": "b"}}}}]`)}
		},
		ready: waitsFor("crate", "CreateContainerConfigError"), events: []string{"Failed"},
	},
	"sidecar-image-missing": {
		edits: func(*situation) []edit {
			return []edit{patched(`[{"op": "add", "path": "/spec/template/spec/containers/-", "value": {"name": "proxy", "image": "broken.example/proxy:1"}}]`), sandboxFault("missing=broken.example/proxy:1")}
		},
		ready: waitsFor("proxy", "ImagePullBackOff"),
	},
	"no-room": {
		edits: func(*situation) []edit {
			return []edit{with("spec.nodes.data.0.resources.limits.memory", "4000Gi")}
		},
		ready: unschedulable, events: []string{"FailedScheduling"},
	},
	"claims-that-nobody-makes": {
		edits: func(s *situation) []edit {
			_, err := bed.Admin.StorageV1().StorageClasses().Create(s.ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: s.ns}, Provisioner: "disks.example.org"}, metav1.CreateOptions{})
			require.NoError(s, err)
			return []edit{with("spec.nodes.data.0.resources.disk.storageClass", s.ns)}
		},
		ready: unschedulable, events: []string{"FailedScheduling"},
	},
	"refused-by-pod-security": {
		edits: func(s *situation) []edit {
			s.podSecurity("baseline")
			return nil
		},
		ready: func(_ *situation, pod *corev1.Pod) bool { return pod == nil }, events: []string{"FailedCreate"},
	},
	"refused-by-a-quota": {
		edits: func(s *situation) []edit {
			s.noPodsByQuota()
			return nil
		},
		ready: func(_ *situation, pod *corev1.Pod) bool { return pod == nil }, events: []string{"FailedCreate"},
	},
	"its-machine-is-lost": {
		then: func(s *situation) { loseMachine(s, s.nodeOf(picturedPod)) },
		ready: func(_ *situation, pod *corev1.Pod) bool {
			return pod != nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse
			})
		},
		asks: func(s *situation) (all []string) {
			node, err := bed.Admin.CoreV1().Nodes().Get(s.ctx, s.nodeOf(picturedPod), metav1.GetOptions{})
			require.NoError(s, err)
			for _, c := range node.Status.Conditions {
				if c.Type == corev1.NodeReady {
					all = append(all, fmt.Sprintf("node %s=%s %s %q", c.Type, c.Status, c.Reason, c.Message))
				}
			}
			return all
		},
	},
}

// What real nodes have shown of each situation is in testdata/nodes, and is compared field by
// field with what is seen here: on the sandbox, and on real nodes again. There
// STEVEDORE_RECORD=1 writes it anew.
func TestNodesShowOfAPodWhatRealOnesHaveShown(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(pictures)) {
		t.Run(name, func(t *testing.T) {
			if name != "its-machine-is-lost" {
				t.Parallel()
			}
			c := pictures[name]
			s := begin(t, "seen-"+strings.ReplaceAll(name, "of-a-", ""))
			s.appSecret("app-password")
			var edits []edit
			if c.edits != nil {
				edits = c.edits(s)
			}
			s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", edits...)})
			s.run("--look-interval", "1s", "--lease-duration", "30s")
			if c.then != nil {
				s.done("orders")
				c.then(s)
			}
			see := func() (lines []string) {
				s.eventually("the moment of the picture", restartPatience, func() bool {
					pod, err := bed.Admin.CoreV1().Pods(s.ns).Get(s.ctx, picturedPod, metav1.GetOptions{})
					if err != nil {
						pod = nil
					}
					events := s.warnings(c.events)
					lines = drawn(pod, events)
					return c.ready(s, pod) && !slices.ContainsFunc(c.events, func(reason string) bool {
						return !slices.ContainsFunc(events, func(e corev1.Event) bool { return e.Reason == reason })
					})
				})
				if c.asks != nil {
					lines = append(lines, c.asks(s)...)
				}
				for i := range lines {
					lines[i] = leavingOutChance(lines[i], s.ns)
				}
				return slices.Compact(lines)
			}
			file := filepath.Join("testdata", "nodes", name+".txt")
			if os.Getenv("STEVEDORE_RECORD") != "" && realNodes != nil {
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				require.NoError(t, os.WriteFile(file, []byte(strings.Join(see(), "\n")+"\n"), 0o644))
				return
			}
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			real := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
			// The parts of a status come one after the other: it is looked at until they are all there.
			var here, differ []string
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("what differs:\n%s\n\nall that is seen here:\n%s", strings.Join(differ, "\n"), strings.Join(here, "\n"))
				}
			})
			s.eventually("what a real node has shown is seen here, and nothing else", restartPatience, func() bool {
				here = see()
				differ = differences(t, name, real, here)
				return len(differ) == 0
			})
		})
	}
}

// warnings of the namespace that have one of these reasons.
func (s *situation) warnings(reasons []string) []corev1.Event {
	if len(reasons) == 0 {
		return nil
	}
	list, err := bed.Admin.CoreV1().Events(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	return slices.DeleteFunc(list.Items, func(e corev1.Event) bool {
		return e.Type != corev1.EventTypeWarning || !slices.Contains(reasons, e.Reason) || beforeItsClaims(e.Message)
	})
}

// drawn is a pod's status, a line for each field that says something.
func drawn(pod *corev1.Pod, events []corev1.Event) (lines []string) {
	add := func(format string, of ...any) {
		lines = append(lines, strings.TrimRight(fmt.Sprintf(format, of...), " "))
	}
	if pod == nil {
		add("no pod")
	} else {
		add("pod %s %s %s", pod.Status.Phase, pod.Status.QOSClass, pod.Status.Reason)
		var volumes []string
		for _, volume := range pod.Spec.Volumes {
			volumes = append(volumes, volume.Name)
		}
		slices.Sort(volumes) // a StatefulSet's controller takes them in any order
		add("volumes %v", volumes)
		conditions := slices.Clone(pod.Status.Conditions)
		slices.SortFunc(conditions, func(a, b corev1.PodCondition) int { return strings.Compare(string(a.Type), string(b.Type)) })
		for _, c := range conditions {
			add("condition %s=%s %s %s", c.Type, c.Status, c.Reason, c.Message)
		}
		for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			started := c.Started != nil && *c.Started
			add("container %s ready=%v started=%v", c.Name, c.Ready, started)
			add("container %s is %s", c.Name, stateWords(c.State))
			if c.LastTerminationState.Terminated != nil {
				add("container %s was %s", c.Name, stateWords(c.LastTerminationState))
			}
		}
	}
	var said []string
	for _, e := range events {
		said = append(said, strings.TrimSpace(fmt.Sprintf("event of %s %s %s", e.InvolvedObject.Kind, e.Reason, e.Message)))
	}
	slices.Sort(said)
	return append(lines, said...)
}

func stateWords(state corev1.ContainerState) string {
	switch {
	case state.Waiting != nil:
		return strings.TrimSpace("waiting " + state.Waiting.Reason + " " + state.Waiting.Message)
	case state.Running != nil:
		return "running"
	case state.Terminated != nil:
		return strings.TrimSpace(fmt.Sprintf("terminated %s %d %s", state.Terminated.Reason, state.Terminated.ExitCode, strings.TrimSpace(state.Terminated.Message)))
	}
	return "nothing"
}

var chance = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+(:\d+)?\b`), "ADDRESS"},
	{regexp.MustCompile(`[0-9a-f]{64}`), "ID"},
	{regexp.MustCompile(`back-off \d\w+ `), "back-off TIME "},
	{regexp.MustCompile(`\b\d+/\d+ nodes\b`), "0/N nodes"},
	{regexp.MustCompile(`\b\d+ (Insufficient|node\(s\)|Preemption)`), "N $1"},
}

// leavingOutChance leaves out what is another each time.
func leavingOutChance(line, namespace string) string {
	for _, c := range chance {
		line = c.pattern.ReplaceAllString(line, c.by)
	}
	return strings.ReplaceAll(strings.ReplaceAll(line, namespace, "NAMESPACE"), "\n", " | ")
}

// kindness is a line in which the sandbox differs from real nodes, and why it stays so.
type kindness struct {
	situation string
	// real and here are the lines, each "" where there is none. A star stands for anything.
	real, here string
	// why is a sentence of docs/sandbox.md.
	why string
}

var kindnesses = []kindness{
	{
		"ready", "exec no-such-tool: *executable file not found in $PATH: unknown:",
		"exec no-such-tool: *executable file not found in $PATH: unknown: no-such-tool: not found: *", "other commands are not there, and exec fails as in an image without them",
	},
	{"ready", "exec crash: *exit code 2: usage: crash [-h]*", "exec crash: *exit code 2: usage: crash [-c*", "`crash` and `curl` are answered by the agent"},
	{
		"image-missing", `container mkdir-heapdump is waiting ImagePullBackOff Back-off pulling image "broken.example/nothing:6.4.3": ErrImagePull: *`,
		`container mkdir-heapdump is waiting ImagePullBackOff Back-off pulling image "broken.example/nothing:6.4.3": ErrImagePull: *`, "nothing is pulled",
	},
	{
		"sidecar-image-missing", `container proxy is waiting ImagePullBackOff Back-off pulling image "broken.example/proxy:1": ErrImagePull: *`,
		`container proxy is waiting ImagePullBackOff Back-off pulling image "broken.example/proxy:1": ErrImagePull: *`, "nothing is pulled",
	},
}

func differences(t *testing.T, name string, real, here []string) (all []string) {
	t.Helper()
	missing := slices.DeleteFunc(slices.Clone(real), func(line string) bool { return slices.Contains(here, line) })
	extra := slices.DeleteFunc(slices.Clone(here), func(line string) bool { return slices.Contains(real, line) })
	if realNodes == nil {
		docs, err := os.ReadFile("../../docs/sandbox.md")
		require.NoError(t, err)
		words := strings.Join(strings.Fields(string(docs)), " ")
		take := func(from []string, line string) ([]string, bool) {
			at := slices.IndexFunc(from, func(l string) bool { return like(line, l) })
			if at < 0 {
				return from, line == ""
			}
			return slices.Delete(from, at, at+1), true
		}
		for _, k := range kindnesses {
			if k.situation != name {
				continue
			}
			require.Contains(t, words, k.why, "why the sandbox differs")
			var real, here bool
			missing, real = take(missing, k.real)
			extra, here = take(extra, k.here)
			if !real || !here {
				all = append(all, fmt.Sprintf("the sandbox does not differ there: %+v", k))
			}
		}
	}
	for _, line := range missing {
		all = append(all, "a real node has shown, and it is not seen here: "+line)
	}
	for _, line := range extra {
		all = append(all, "it is seen here, and a real node has not shown: "+line)
	}
	return all
}

// like: a star in the pattern stands for anything.
func like(pattern, line string) bool {
	if pattern == "" {
		return false
	}
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(line)
}
