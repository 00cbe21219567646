package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/model"
)

// defaultPatience is how long Kubernetes leaves a pod on an unreachable node by default.
const defaultPatience = 5 * time.Minute

// readySoon is how long after its start a pod may well become ready by itself.
const readySoon = 2 * time.Minute

// State says why a pod is not ready, for the person who is to make it ready; "" of one that is.
func State(v *View, name string, p *model.Pod) string {
	words := PodState(v, name, p)
	if p == nil || !JoinedNotReady(v, p) {
		return words
	}
	words = "its node has joined, and the pod is not ready yet: " + words
	// If its machine does not report, PodState says so, and no probe has failed.
	if p.Lost.Unheard.IsZero() && (p.Waiting != "" || v.Elapsed(p.Started) > readySoon) {
		words += "; its readiness probe or a container beside CrateDB's fails, and a corrected definition restarts it before all others"
	}
	return words
}

// PodState says why a pod is not ready; "" of one that is. p is nil for one that is not there.
func PodState(v *View, name string, p *model.Pod) string {
	switch {
	case p == nil:
		return "there is no such pod yet" + whyMissing(v, name)
	case p.Terminating:
		return "terminating" + whyLost(v, p)
	case p.Waiting != "" && p.Message != "":
		return p.Waiting + ": " + p.Message + whyStuck(v, p) + whyLost(v, p) + whyLeft(v, p)
	case p.Waiting != "":
		return p.Waiting + whyStuck(v, p) + whyLost(v, p) + whyLeft(v, p)
	case !p.Ready && p.NotReady != "":
		return p.Phase + ", " + p.NotReady + whyLost(v, p) + whyLeft(v, p)
	case !p.Ready:
		return p.Phase + ", not ready" + whyLost(v, p) + whyLeft(v, p)
	}
	return ""
}

// whyLeft says of a pod that does not run, and whose group has left the definition, what brings it another template.
func whyLeft(v *View, p *model.Pod) string {
	if v.Desired.Removed || Recorded(v.Record.Sets, p.Set) == nil || v.DesiredSet(p.Set) != nil || !StuckSinceStart(v, p) {
		return ""
	}
	return "; its group has left the definition, and nothing else changes its template: if it is to come up, push the group back with one on which it runs"
}

// whyMissing says why the StatefulSet could not make the pod or one of its claims. Where several
// are missing, its controller stops at the first that is refused, and says nothing of the others.
func whyMissing(v *View, name string) string {
	set := name[:strings.LastIndexByte(name, '-')]
	its := func(e *model.KubernetesEvent) bool { return e.Kind == "StatefulSet" && e.Name == set }
	events := v.Observed.Explained.Events
	if e := cmp.Or(model.Find(events, func(e *model.KubernetesEvent) bool { return its(e) && e.Pod == name }), model.Find(events, its)); e != nil {
		return refusedWords(e)
	}
	return unreadWords(v)
}

// refusedWords are those of an event FailedCreate.
func refusedWords(e *model.KubernetesEvent) string {
	what, why, _ := strings.Cut(e.Message, " failed error: ")
	why = cmp.Or(why, e.Message)
	made := "pod " + e.Pod
	if rest, ok := strings.CutPrefix(what, "create Claim "); ok {
		claim, _, _ := strings.Cut(rest, " ")
		made = "volume claim " + claim + " of pod " + e.Pod
	}
	by := ""
	if rule := refusingRule(why); rule != "" {
		by = ", " + rule + " refuses it"
	}
	return fmt.Sprintf("; StatefulSet %s could not make %s%s: %s%s; it is tried again by itself, at longer and longer intervals", e.Name, made, by, why, lastSeen(e))
}

// refusingRule names the part of Kubernetes' admission that refuses, by its own words; "" where
// they do not say it.
func refusingRule(message string) string {
	for _, by := range []struct{ says, rule, until string }{
		{"violates PodSecurity", "the Pod Security of the namespace", ""},
		{"exceeded quota: ", "ResourceQuota ", ","}, {"failed quota: ", "ResourceQuota ", ":"},
		{`admission webhook "`, "the admission webhook ", `"`}, {"ValidatingAdmissionPolicy '", "the ValidatingAdmissionPolicy ", "'"},
		{"usage per Container is", "a LimitRange", ""}, {"usage per Pod is", "a LimitRange", ""},
		{"usage per PersistentVolumeClaim is", "a LimitRange", ""}, {"limit to request ratio per", "a LimitRange", ""},
	} {
		if _, rest, is := strings.Cut(message, by.says); is {
			name, _, _ := strings.Cut(rest, by.until) // nothing where no name follows
			return by.rule + name
		}
	}
	return ""
}

func lastSeen(e *model.KubernetesEvent) string {
	if e.Last.IsZero() {
		return ""
	}
	return " (last at " + clock(e.Last) + ")"
}

func clock(at time.Time) string { return at.UTC().Format("15:04:05") + " UTC" }

// whyStuck is what events say of a pod that is being made, and of its claims.
func whyStuck(v *View, p *model.Pod) string {
	words := ""
	for e := range model.Each(v.Observed.Explained.Events) {
		if e.Pod == p.Name && e.Kind == "Pod" && beingCreated(p) {
			words += "; " + e.Reason + ": " + e.Message + lastSeen(e)
		}
	}
	claims := pendingClaims(v, p)
	if words == "" && claims == "" && (beingCreated(p) || waitsForVolumes(p)) {
		if words = unreadWords(v); words != "" && p.NoSandbox {
			words = "; its network or a volume is missing (PodReadyToStartContainers is False)" + words
		}
	}
	return words + claims + whatHelps(p)
}

// whatHelps is what a person can do for a pod that cannot start, where its reason says it.
func whatHelps(p *model.Pod) string {
	switch p.Waiting {
	case "Unschedulable":
		if waitsForVolumes(p) {
			return ""
		}
		do := "; no Node takes it: make room on one or add one, or push what fits (limits, labels, tolerations)"
		// A scheduler of 1.36 counts the taints and does not name them.
		if strings.Contains(p.Message, "untolerated taint") {
			do += "; `kubectl describe nodes` names the taints: the kubelet removes node.kubernetes.io/disk-pressure once its disk has room"
		}
		return do
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
		return "; push a version and an imageRegistry that can be pulled"
	case "CreateContainerConfigError":
		return "; create what it names, or push a definition without it"
	}
	return ""
}

// pendingClaims are named where the pod waits for its volumes, or an event warns of one.
func pendingClaims(v *View, p *model.Pod) string {
	words := ""
	for c := range ClaimsOf(v, p.Set, p.Ordinal) {
		if c.Phase != "Pending" {
			continue
		}
		said := ""
		for e := range model.Each(v.Observed.Explained.Events) {
			if e.Kind == "PersistentVolumeClaim" && e.Name == c.Name {
				said = ": " + e.Message + lastSeen(e)
			}
		}
		if said == "" && !waitsForVolumes(p) {
			continue
		}
		words += "; volume claim " + c.Name
		if c.Class != "" {
			words += " of storage class " + c.Class
		}
		words += " is Pending" + said
	}
	return words
}

func unreadWords(v *View) string {
	if v.Observed.Explained.EventsUnread == "" {
		return ""
	}
	return "; why is not known: " + v.Observed.Explained.EventsUnread
}

// whyLost says that the pod's machine does not report. The daemon never deletes such a pod by
// force: its process may still run and write, and two nodes would have one volume.
func whyLost(v *View, p *model.Pod) string {
	if p.KubernetesNode == "" || p.Ready {
		return ""
	}
	m := machine(v, p.KubernetesNode)
	switch {
	case m != nil && m.Gone:
		return "; its machine " + p.KubernetesNode + " is no Node of Kubernetes any more: Kubernetes removes the pod by itself"
	case m != nil && m.Ready == model.Yes, m == nil && p.Lost.Unheard.IsZero() && !p.Lost.Deleted:
		return ""
	}
	words := "; its machine " + p.KubernetesNode + " does not report"
	since, how := p.Lost.Unheard, ""
	if m != nil && !m.Since.IsZero() {
		since = m.Since
		if how = " (NotReady)"; m.Ready == model.Unknown {
			how = " (NotReady, unreachable)"
		}
	}
	if !since.IsZero() {
		words += ", not ready since " + clock(since) + how
	}
	switch {
	case m != nil && m.OutOfService:
		return words + ": it is tainted out-of-service, and Kubernetes removes its pods by itself"
	case p.Terminating || p.Lost.Deleted:
		words += ": Kubernetes has deleted the pod, which stays Terminating until the machine is back"
	case p.Lost.Patience < 0:
		words += ": Kubernetes leaves the pod until the machine is back"
	case m != nil && !m.Unreachable.IsZero() && p.Lost.Patience > 0:
		words += ": Kubernetes deletes the pod at " + clock(m.Unreachable.Add(p.Lost.Patience)) + ", which then stays Terminating until the machine is back"
	default:
		words += fmt.Sprintf(": Kubernetes deletes the pod %s later, which then stays Terminating until the machine is back", model.First(p.Lost.Patience, defaultPatience))
	}
	return words + fmt.Sprintf(". Bring it back; only if it is off for certain, `kubectl taint node %[1]s node.kubernetes.io/out-of-service=nodeshutdown:NoExecute` or `kubectl delete node %[1]s`", p.KubernetesNode)
}

func machine(v *View, name string) *model.Machine {
	return model.Find(v.Observed.Explained.Machines, func(m *model.Machine) bool { return m.Name == name })
}
