package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// Whoever looks reads in Kubernetes' own words why a pod is missing or stuck, and no
// decision is another for it.
func TestWhyAPodIsMissingOrStuckIsSaidAndDecidesNothing(t *testing.T) {
	pod := hot + "-1"
	at := time.Date(2026, 1, 2, 7, 3, 4, 0, time.UTC)
	gone := func(s *situation) {
		for i := range s.o.Pods {
			if s.o.Pods[i].Name == pod {
				s.o.Pods = append(s.o.Pods[:i:i], s.o.Pods[i+1:]...)
				return
			}
		}
	}
	waits := func(reason, message string) func(*situation) {
		return func(s *situation) {
			p := s.podOf(pod)
			p.Ready, p.Waiting, p.Message, p.Phase, p.Started = false, reason, message, "Pending", time.Time{}
		}
	}
	unheard := func(s *situation) {
		p := s.podOf(pod)
		p.Ready, p.KubernetesNode, p.Phase = false, "node-3", "Running"
		p.Lost = model.Lost{Unheard: at, Patience: 5 * time.Minute}
	}
	refused := func(of, message string) model.Explained {
		return model.Explained{Events: []model.KubernetesEvent{{Pod: of, Kind: "StatefulSet", Name: hot, Reason: "FailedCreate", Message: message, Last: at}}}
	}
	of := func(kind, name, reason, message string) model.Explained {
		return model.Explained{Events: []model.KubernetesEvent{{Pod: pod, Kind: kind, Name: name, Reason: reason, Message: message, Last: at}}}
	}
	claim := func(class string) func(*situation) {
		return func(s *situation) {
			waits("Unschedulable", "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims")(s)
			s.o.Claims = append(s.o.Claims, model.Claim{Name: "data0-" + pod, Set: hot, Ordinal: 1, Phase: "Pending", Class: class})
		}
	}
	unread := model.Explained{EventsUnread: "the daemon may not read events: apply deploy/namespace again"}
	for _, c := range []struct {
		name      string
		happens   func(*situation)
		explained model.Explained
		says      []string
		silent    []string
	}{
		{"nothing is known", gone, model.Explained{}, []string{"there is no such pod yet"}, []string{"could not make"}},
		{"Pod Security", gone,
			refused(pod, `create Pod `+pod+` in StatefulSet `+hot+` failed error: pods "`+pod+`" is forbidden: violates PodSecurity "baseline:latest": privileged (container "init-sysctl" must not set securityContext.privileged=true)`),
			[]string{"StatefulSet " + hot + " could not make pod " + pod + ", the Pod Security of the namespace refuses it: ", `violates PodSecurity "baseline:latest": privileged`, "07:03:04 UTC", "tried again by itself"}, nil},
		{"a quota", gone, refused(pod, `create Pod `+pod+` in StatefulSet `+hot+` failed error: pods "`+pod+`" is forbidden: exceeded quota: small, requested: memory=4Gi, used: memory=8Gi, limited: memory=10Gi`),
			[]string{"ResourceQuota small refuses it: ", "limited: memory=10Gi"}, nil},
		{"a quota that wants limits", gone, refused(pod, `create Pod `+pod+` in StatefulSet `+hot+` failed error: pods "`+pod+`" is forbidden: failed quota: small: must specify limits.cpu for: init-sysctl`),
			[]string{"ResourceQuota small refuses it: "}, nil},
		{"a LimitRange", gone, refused(pod, `create Pod `+pod+` in StatefulSet `+hot+` failed error: pods "`+pod+`" is forbidden: maximum memory usage per Container is 1Gi, but limit is 4Gi`),
			[]string{"a LimitRange refuses it: ", "maximum memory usage per Container is 1Gi"}, nil},
		{"a webhook", gone, refused(pod, `create Pod `+pod+` in StatefulSet `+hot+` failed error: admission webhook "pods.example.org" denied the request: no cost centre`),
			[]string{"the admission webhook pods.example.org refuses it: ", "no cost centre"}, nil},
		{"a policy", gone, refused(pod, `create Pod `+pod+` in StatefulSet `+hot+` failed error: pods "`+pod+`" is forbidden: ValidatingAdmissionPolicy 'no-root' with binding 'all' denied request: no`),
			[]string{"the ValidatingAdmissionPolicy no-root refuses it: "}, nil},
		{"something else", gone, refused(pod, `create Pod `+pod+` in StatefulSet `+hot+` failed error: Internal error occurred`),
			[]string{"could not make pod " + pod + ": Internal error occurred"}, []string{"refuses"}},
		{"its claim", gone, refused(pod, `create Claim data0-`+pod+` Pod `+pod+` in StatefulSet `+hot+` failed error: persistentvolumeclaims "data0-`+pod+`" is forbidden: exceeded quota: disks, requested: x`),
			[]string{"could not make volume claim data0-" + pod + " of pod " + pod + ", ResourceQuota disks refuses it: "}, nil},
		{"the pod before it", gone, refused(hot+"-0", `create Pod `+hot+`-0 in StatefulSet `+hot+` failed error: admission webhook "w" denied the request: no`),
			[]string{pod, "could not make pod " + hot + "-0"}, nil},
		{"events may not be read", gone, unread, []string{"there is no such pod yet; why is not known: the daemon may not read events: apply deploy/namespace again"}, nil},
		{"a Secret that is not there", waits("PodInitializing", ""), of("Pod", pod, "FailedMount", `MountVolume.SetUp failed for volume "keystore" : secret "tls" not found`),
			[]string{`PodInitializing; FailedMount: MountVolume.SetUp failed for volume "keystore" : secret "tls" not found (last at 07:03:04 UTC)`}, nil},
		{"a disk on another machine", waits("PodInitializing", ""), of("Pod", pod, "FailedAttachVolume", `Multi-Attach error for volume "pvc-1" Volume is already exclusively attached to one node`),
			[]string{"FailedAttachVolume: Multi-Attach error"}, nil},
		{"no network", waits("ContainerCreating", ""), of("Pod", pod, "FailedCreatePodSandBox", "no addresses are left"),
			[]string{"FailedCreatePodSandBox: no addresses are left"}, nil},
		{"the only sign in the pod", func(s *situation) { waits("PodInitializing", "")(s); s.podOf(pod).NoSandbox = true }, unread,
			[]string{"PodInitializing; its network or a volume is missing (PodReadyToStartContainers is False); why is not known: the daemon may not read events"}, nil},
		{"its status says more than its events", waits("ImagePullBackOff", "no such image"), of("Pod", pod, "FailedMount", "once"), []string{"ImagePullBackOff: no such image; push a version and an imageRegistry that can be pulled"}, []string{"FailedMount"}},
		{"no Node has room", waits("Unschedulable", "0/3 nodes are available: 3 Insufficient cpu."), model.Explained{},
			[]string{"3 Insufficient cpu.; no Node takes it: make room on one or add one, or push what fits (limits, labels, tolerations)"}, []string{"taint"}},
		{"a taint that the scheduler does not name", waits("Unschedulable", "0/4 nodes are available: 1 node(s) had untolerated taint(s)"), model.Explained{},
			[]string{"had untolerated taint(s); no Node takes it", "`kubectl describe nodes` names the taints"}, nil},
		{"no Node is chosen before its volumes are", waits("Unschedulable", "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims"), model.Explained{},
			nil, []string{"make room"}},
		{"what its container wants is not there", waits("CreateContainerConfigError", `secret "extra" not found`), model.Explained{},
			[]string{`secret "extra" not found; create what it names, or push a definition without it`}, nil},
		{"a class that is not there", claim("nvme"), of("PersistentVolumeClaim", "data0-"+pod, "ProvisioningFailed", `storageclass.storage.k8s.io "nvme" not found`),
			[]string{"Unschedulable: 0/3 nodes are available", "volume claim data0-" + pod + ` of storage class nvme is Pending: storageclass.storage.k8s.io "nvme" not found (last at 07:03:04 UTC)`}, nil},
		{"a claim without an event", claim("nvme"), model.Explained{}, []string{"volume claim data0-" + pod + " of storage class nvme is Pending"}, nil},
		{"a claim without a class", claim(""), model.Explained{}, []string{"volume claim data0-" + pod + " is Pending"}, nil},
		{"a machine that does not report, by the pod's own word", unheard, model.Explained{},
			[]string{"its machine node-3 does not report, not ready since 07:03:04 UTC", "Kubernetes deletes the pod 5m0s later", "stays Terminating until the machine is back", "only if it is off for certain, `kubectl taint node node-3 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute` or `kubectl delete node node-3`"}, []string{"readiness probe"}},
		{"a machine that does not report, by its Node", unheard, model.Explained{Machines: []model.Machine{{Name: "node-3", Since: at.Add(time.Second), Unreachable: at.Add(2 * time.Second)}}},
			[]string{"not ready since 07:03:05 UTC (NotReady, unreachable): Kubernetes deletes the pod at 07:08:06 UTC"}, nil},
		{"a machine that reports that it is not ready", unheard, model.Explained{Machines: []model.Machine{{Name: "node-3", Ready: model.No, Since: at}}}, []string{"since 07:03:04 UTC (NotReady): "}, []string{"unreachable"}},
		{"a machine that is well", unheard, model.Explained{Machines: []model.Machine{{Name: "node-3", Ready: model.Yes}}}, []string{pod}, []string{"machine"}},
		{"another machine", unheard, model.Explained{Machines: []model.Machine{{Name: "node-4", Gone: true}}}, []string{"node-3 does not report"}, []string{"no Node"}},
		{"a machine that is gone", unheard, model.Explained{Machines: []model.Machine{{Name: "node-3", Gone: true}}}, []string{"its machine node-3 is no Node of Kubernetes any more"}, []string{"taint"}},
		{"a machine that somebody has called dead", unheard, model.Explained{Machines: []model.Machine{{Name: "node-3", OutOfService: true}}}, []string{"tainted out-of-service, and Kubernetes removes its pods by itself"}, []string{"kubectl"}},
		{"a pod that stays for ever", func(s *situation) { unheard(s); s.podOf(pod).Lost.Patience = -1 }, model.Explained{}, []string{"Kubernetes leaves the pod until the machine is back"}, nil},
		{"a pod that Kubernetes has deleted", func(s *situation) {
			unheard(s)
			p := s.podOf(pod)
			p.Terminating, p.Lost.Deleted = true, true
		}, model.Explained{}, []string{"terminating; its machine node-3 does not report", "Kubernetes has deleted the pod, which stays Terminating until the machine is back"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			c.happens(s)
			s.o.Database.At = s.o.At
			without := s.inSync()
			s.o.Explained = c.explained
			with := s.inSync()
			said := ""
			for _, wait := range with.Waits {
				said += wait.Message + "\n"
			}
			require.Contains(t, said, pod)
			for _, words := range c.says {
				assert.Contains(t, said, words)
			}
			for _, words := range c.silent {
				assert.NotContains(t, said, words)
			}
			assert.Equal(t, reasons(without.Waits), reasons(with.Waits))
			assert.Equal(t, without.Disruptive, with.Disruptive)
			assert.Equal(t, without.Harmless, with.Harmless)
			assert.Equal(t, without.Record, with.Record)
		})
	}
}

// "is being restarted" hid for half an hour that the pod could not start.
func TestAPodThatCannotStartAfterItsRestartIsSaidToBeStuck(t *testing.T) {
	for reason, words := range map[string]string{
		"ErrImagePull":      "pod " + hot + "-1 went for its restart and cannot start: ErrImagePull: why; push a version and an imageRegistry that can be pulled",
		"Unschedulable":     "pod " + hot + "-1 went for its restart and cannot start: Unschedulable: why; no Node takes it",
		"ContainerCreating": "pod " + hot + "-1 is being restarted: ContainerCreating: why",
	} {
		s := made(t)
		p := s.podOf(hot + "-1")
		p.Ready, p.Phase, p.Waiting, p.Message, p.Started = false, "Pending", reason, "why", s.o.At
		s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepDown, Started: s.o.At, Revision: s.d.Revision,
			Restart: &model.Restart{Set: hot, Pod: hot + "-1", PodUID: "before", Since: s.o.At}}
		d := s.inSync()
		i := slices.Index(reasons(d.Waits), "pod-returns")
		if assert.GreaterOrEqual(t, i, 0, reason) {
			assert.Contains(t, d.Waits[i].Message, words)
		}
	}
}
