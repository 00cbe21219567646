package ops

import (
	"slices"
	"strconv"
	"time"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/gates"
)

// turn is one decision in the making. It holds values, not pointers, and no
// method keeps a pointer to it: so all of it stays on the stack.
type turn struct {
	d   Desired
	o   Observed
	r   Record // the next record; slices are copied before they are changed
	p   Policy
	now time.Time

	d2 Decision
	// blocked is true when a refusal keeps the StatefulSets as they are.
	blocked bool
	// parked is true while the cluster is suspended, or on its way there or back:
	// its templates stay as they were.
	parked bool
	// turns is the set whose turn in a restart begins now.
	turns string
	// undo is a set whose new template no pod is on yet, or that hangs on it, and for
	// which others come first: it goes back to what it had.
	undo string
	// commanded is true when a command wins over the definition.
	commanded Commands
	// ends is when the first wait ends by itself; 0: none is known to.
	ends time.Duration
	// atLeast is the least until the next look without an event; 0: poll's own.
	atLeast time.Duration
	// system is the name of the Secret of `system`, once it was asked for.
	system string
}

// wait adds a reason, once.
func (t *turn) wait(r Reason) {
	for i := range t.d2.Waits {
		if t.d2.Waits[i] == r {
			return
		}
	}
	t.d2.Waits = append(t.d2.Waits, r)
}

func (t *turn) refusal(r Reason)  { t.d2.Refusals = append(t.d2.Refusals, r) }
func (t *turn) harmless(a Action) { t.d2.Harmless = append(t.d2.Harmless, a) }

// elapsed bounds a stored time: one in the future, after a clock has jumped,
// counts as now.
func (t *turn) elapsed(since time.Time) time.Duration {
	return max(0, t.now.Sub(since))
}

func (t *turn) live(set string) *ObservedSet {
	for i := range t.o.Sets {
		if t.o.Sets[i].Name == set {
			return &t.o.Sets[i]
		}
	}
	return nil
}

// liveTemplate is the hash of a set's template; "" where there is no such set.
func (t *turn) liveTemplate(set string) string {
	if live := t.live(set); live != nil {
		return live.Template
	}
	return ""
}

func (t *turn) wanted(set string) *Set {
	for i := range t.d.Sets {
		if t.d.Sets[i].Name == set {
			return &t.d.Sets[i]
		}
	}
	return nil
}

func recorded(sets []RecordedSet, name string) *RecordedSet {
	for i := range sets {
		if sets[i].Name == name {
			return &sets[i]
		}
	}
	return nil
}

func (t *turn) pod(set string, ordinal int) *Pod {
	for i := range t.o.Pods {
		if p := &t.o.Pods[i]; p.Ordinal == ordinal && p.Set == set {
			return p
		}
	}
	return nil
}

// anyPod says whether one of the pods is so. They are large, and are looked at in place.
func (t *turn) anyPod(is func(*Pod) bool) bool {
	for i := range t.o.Pods {
		if is(&t.o.Pods[i]) {
			return true
		}
	}
	return false
}

func (t *turn) answer(pod string) *PodAnswer {
	for i := range t.o.Database.Pods {
		if t.o.Database.Pods[i].Pod == pod {
			return &t.o.Database.Pods[i]
		}
	}
	return nil
}

func (t *turn) member(nodeName string) bool {
	for i := range t.o.Database.Nodes {
		if t.o.Database.Nodes[i].Name == nodeName {
			return true
		}
	}
	return false
}

func (t *turn) secret(name string) Secret {
	for i := range t.o.Secrets {
		if t.o.Secrets[i].Name == name {
			return t.o.Secrets[i]
		}
	}
	return Secret{Name: name}
}

func (s *Secret) has(key string) bool { return s.Exists && slices.Contains(s.Keys, key) }

// expectedID is the cluster's id: the recorded one, or while there is none the
// one that the reading's node is in.
func (t *turn) expectedID() string {
	if t.r.ClusterID != "" {
		return t.r.ClusterID
	}
	return t.o.Database.ClusterID
}

// contact is an answer to SQL as `system`, in a cluster that has a name.
func (t *turn) contact() bool {
	id := t.o.Database.ClusterID
	return t.o.Database.Contact == Yes && id != "" && id != gates.NoCluster
}

// sqlPod is a pod that answers as a member of this cluster, one that is ready before
// others; "" if none does.
func (t *turn) sqlPod() string {
	id, unready := t.expectedID(), ""
	for i := range t.o.Pods {
		p := &t.o.Pods[i]
		if a := t.answer(p.Name); p.Terminating || a == nil || a.ClusterID != id || id == "" {
			continue
		}
		if p.Ready {
			return p.Name
		}
		if unready == "" && t.unready(p) {
			unready = p.Name
		}
	}
	return unready
}

// count is how many pods of the given sets are there, and the first that is
// not, with the reason if it is known.
type count struct {
	ready, joined, wanted   int
	notReady, notReadyWhy   string
	notJoined, notJoinedWhy string
}

// nodes counts over sets. Joined means: ready, in sys.nodes of the reading's
// node, and answering with the cluster's own id.
func (t *turn) nodes(sets []RecordedSet) count {
	return t.nodesBut(sets, nil, nil)
}

// nodesWith counts as ready what also says, too.
func (t *turn) nodesWith(sets []RecordedSet, also func(*Pod) bool) count {
	return t.nodesBut(sets, also, nil)
}

// nodesBeside counts as ready what a pod that is about to go has no need to wait for.
func (t *turn) nodesBeside(going *Pod, sets []RecordedSet) count {
	return t.nodesWith(sets, func(p *Pod) bool { return t.besides(going, p) })
}

// nodesBut leaves some pods out of the count, and counts others as ready too; nil: none.
func (t *turn) nodesBut(sets []RecordedSet, also func(*Pod) bool, but func(set string, ordinal int) bool) count {
	var c count
	id := t.expectedID()
	for _, s := range sets {
		for ordinal := range s.Replicas {
			if but != nil && but(s.Name, ordinal) {
				continue
			}
			c.wanted++
			p := t.pod(s.Name, ordinal)
			if live := t.live(s.Name); live != nil && ordinal >= live.Replicas {
				p = nil // it is on its way out, whatever a watch of pods shows that is behind
			}
			ready := p != nil && !p.Terminating && (p.Ready || also != nil && also(p))
			joined, refused := false, false
			if ready {
				c.ready++
				a := t.answer(p.Name)
				joined = id != "" && a != nil && a.ClusterID == id && t.member(p.NodeName)
				refused = a != nil && a.LoginRefused
			}
			if joined {
				c.joined++
			}
			if !ready && c.notReady == "" {
				c.notReady, c.notReadyWhy = podName(s.Name, ordinal), t.state(podName(s.Name, ordinal), p)
			}
			if !joined && c.notJoined == "" {
				c.notJoined, c.notJoinedWhy = podName(s.Name, ordinal), t.state(podName(s.Name, ordinal), p)
				switch {
				case ready && !refused && t.nodesUnread():
					c.notJoinedWhy = t.o.Database.Why(PartNodes)
				case refused:
					c.notJoinedWhy = "it refuses the login of system, which other pods accept: it may run on a volume of another cluster"
				}
			}
		}
	}
	return c
}

func podName(set string, ordinal int) string { return set + "-" + strconv.Itoa(ordinal) }

func (t *turn) systemSecret() string {
	if t.system != "" {
		return t.system
	}
	for i := range t.o.Secrets {
		if names.IsSystemSecret(t.o.Secrets[i].Name, t.d.Name) {
			t.system = t.o.Secrets[i].Name
			return t.system
		}
	}
	t.system = names.SystemSecret(t.d.Name)
	return t.system
}

// allNodes is the number of wanted nodes, masters counted.
func (t *turn) allNodes() int {
	n := 0
	for _, s := range t.d.Sets {
		n += s.Replicas
	}
	return n
}
