package ops

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/render/definition"
)

// standsStill is true where no data group is to have a node: dedicated masters
// alone are no cluster that anybody wants.
func standsStill(sets []Set) bool {
	data := false
	for i := range sets {
		if sets[i].Data {
			data = true
			if sets[i].Replicas > 0 {
				return false
			}
		}
	}
	return data
}

func running(sets []RecordedSet) bool {
	for i := range sets {
		if sets[i].Replicas > 0 {
			return true
		}
	}
	return false
}

func (t *turn) standsStill() bool { return standsStill(t.d.Sets) }

// park says whether a suspension has begun or is to begin: consent is needed to
// begin one, not to stay suspended.
func (t *turn) park() {
	switch {
	case len(t.r.Suspended) > 0:
		t.parked = true
	case !t.standsStill(), t.upgrading(): // an upgrade that has begun ends first
	case !t.d.Operations.Has(definition.ConsentSuspend):
		t.refusal(gates.Suspend())
	case !t.r.Bootstrap.Done:
		t.refusal(gates.SuspendEarly())
	default:
		t.parked = true
	}
}

func (t *turn) suspending() bool {
	return t.r.Operation != nil && t.r.Operation.Kind == OperationSuspend
}

// down is true while the cluster is suspended or is being stopped: that nothing
// answers is then how it is to be.
func (t *turn) down() bool {
	return len(t.r.Suspended) > 0 && (t.r.Operation == nil || t.suspending())
}

// resumed is true in the turn that ended a resume: what else is wanted is looked
// at in the next.
func (t *turn) resumed() bool { return t.parked && len(t.r.Suspended) == 0 && !t.standsStill() }

// suspended is what the annotation on a StatefulSet says, for whoever has lost
// the record.
type suspended struct {
	Replicas  int    `json:"replicas"`
	ClusterID string `json:"clusterId"`
}

func (t *turn) suspendedNote(set string) string {
	s := recorded(t.r.Suspended, set)
	if s == nil {
		return ""
	}
	text, err := json.Marshal(suspended{Replicas: s.Replicas, ClusterID: t.r.ClusterID})
	if err != nil {
		return ""
	}
	return string(text)
}

// rebuildSuspended takes a suspension from the annotations when the record was
// lost. Without those, StatefulSets that all stand at 0 beside the volumes of a
// cluster are one too: what is known of it are its volumes.
func (t *turn) rebuildSuspended() {
	said, still := false, len(t.r.Sets) > 0
	before := make([]RecordedSet, len(t.r.Sets))
	for i, s := range t.r.Sets {
		still = still && s.Replicas == 0
		before[i] = s
		live := t.live(s.Name)
		if live == nil || live.Suspended == "" {
			continue
		}
		var note suspended
		if json.Unmarshal([]byte(live.Suspended), &note) != nil || countable([]RecordedSet{{Name: s.Name, Replicas: note.Replicas}}) != nil {
			continue
		}
		said = true
		before[i].Replicas = max(s.Replicas, note.Replicas)
		if t.r.ClusterID == "" {
			t.r.ClusterID = note.ClusterID
		}
	}
	if t.r.ClusterID == "" || !said && !still {
		return
	}
	if !said {
		for i := range t.o.Claims {
			c := &t.o.Claims[i]
			if s := recorded(before, c.Set); s != nil && c.ClusterID == t.r.ClusterID {
				s.Replicas = max(s.Replicas, c.Ordinal+1)
			}
		}
		if !running(before) {
			return
		}
	}
	t.r.Suspended = before
	// Its bootstrap has ended, or it could not have been suspended.
	t.r.Bootstrap.Done = true
	t.r.AllowedCIDRs = cidrs(t.d.AllowedCIDRs)
	for i := range t.o.Claims {
		if v := t.o.Claims[i].Version; v != "" && (t.r.Version == "" || gates.Compare(v, t.r.Version) > 0) {
			t.r.Version, t.r.TLS = v, t.d.TLS
		}
	}
}

// yield lets go of an operation that a suspension takes over, where it may be
// left: a grow keeps the nodes that it has, and a restart that has stopped would
// stop for ever.
func (t *turn) yield() {
	op := t.r.Operation
	if op == nil || !t.parked || !t.standsStill() || t.r.Hold != nil {
		return
	}
	if op.Kind == OperationGrow || op.Kind == OperationRestart && op.Step == StepStopped {
		t.r.Operation = nil
	}
}

// startSuspend stops all nodes where all groups are wanted at 0; it says whether
// that is due.
func (t *turn) startSuspend() bool {
	if !t.parked || !t.standsStill() {
		return false
	}
	if len(t.r.Suspended) > 0 && !running(t.r.Sets) {
		return true // it is suspended, and nothing else begins
	}
	if t.aborted() {
		t.refusal(gates.SuspendAborted())
		return true
	}
	if !t.partly() && t.suspendWaits() {
		return true
	}
	t.beginSuspend()
	return true
}

// partly is true when some of the nodes were stopped already: then the gates
// were looked at, and there may be nobody left who answers.
func (t *turn) partly() bool {
	for _, before := range t.r.Suspended {
		if s := recorded(t.r.Sets, before.Name); s != nil && s.Replicas < before.Replicas {
			return true
		}
	}
	return false
}

// suspendWaits are the gates before all nodes go. One reading over all groups
// decides, and a yellow may go: its primaries are all there, and some yellows
// never end. A missing node is none of the gates either.
func (t *turn) suspendWaits() bool {
	for _, s := range t.r.Sets {
		if t.wanted(s.Name) == nil {
			t.wait(gates.SuspendedGroup(s.Group))
			return true
		}
	}
	db := &t.o.Database
	reason, waits := gates.Contact(t.contact(), db.Error)
	if !waits {
		reason, waits = gates.FreshReading(t.elapsed(db.At), first(t.p.ReadingAge, DefaultReadingAge))
	}
	if !waits {
		c := t.nodes(t.r.Sets)
		reason, waits = gates.Recovered(db.Recovered == Yes && db.MasterNode != "", c.joined, c.wanted)
	}
	if !waits {
		reason, waits = gates.DetailKnown(db.TablesKnown, db.tablesWhy())
	}
	if !waits {
		reason, waits = t.snapshotWaits()
	}
	if !waits {
		reason, waits = gates.ShardsMoving(db.Relocating, db.Initializing)
	}
	if h := &db.Health; !waits {
		reason, waits = gates.HealthGreen(h.Colour.String(), true, h.Missing, h.Underreplicated, h.Tables, t.missingWhy())
	}
	if !waits {
		reason, waits = gates.DisruptedClusters(t.o.Disrupted, max(t.p.MaxDisruptedClusters, 1))
	}
	if waits {
		t.wait(reason)
	}
	// What a restart held is given back first.
	return waits || t.r.Hold != nil
}

func (t *turn) beginSuspend() {
	if len(t.r.Suspended) == 0 {
		before := make([]RecordedSet, len(t.r.Sets))
		for i, s := range t.r.Sets {
			s.Replicas = t.replicas(s)
			before[i] = s
		}
		t.r.Suspended = before
	}
	t.r.Operation = &Operation{Kind: OperationSuspend, Started: t.now, Revision: t.d.Revision, From: t.r.Sets}
	t.report(suspendReport("SuspendStarted", StatusInProgress, "the cluster is being suspended: "+countWords(t.r.Suspended)+" stop, and the volumes stay"))
}

// suspend takes a suspension or its end a step further.
func (t *turn) suspend() {
	op := t.r.Operation
	switch {
	case op == nil:
		t.suspendedWaits()
	case op.Kind == OperationSuspend && (!t.standsStill() || t.aborted()):
		t.beginResume()
		t.resume()
	case op.Kind == OperationSuspend:
		t.lower()
	case op.Kind == OperationResume && t.standsStill() && !t.aborted():
		// While it was never whole again, nobody has used it since.
		if op.Step == StepRecover && t.suspendWaits() {
			t.resume()
			return
		}
		t.beginSuspend()
		t.lower()
	case op.Kind == OperationResume:
		t.resume()
	}
}

// lower stops one StatefulSet a turn, those with data before the dedicated
// masters, after each says what it was suspended from.
func (t *turn) lower() {
	t.remembersRaised()
	for _, s := range t.r.Sets {
		live := t.live(s.Name)
		if live == nil || live.Replicas > 0 && live.Suspended != t.suspendedNote(s.Name) {
			return // it is being applied
		}
	}
	for _, masters := range []bool{false, true} {
		left := 0
		pod, state := "", ""
		for i, s := range t.r.Sets {
			if (s.Group == names.MasterGroup) != masters {
				continue
			}
			live := t.live(s.Name)
			if live.Replicas > 0 {
				t.lowerSet(i, live)
				return
			}
			for j := range t.o.Pods {
				if p := &t.o.Pods[j]; p.Set == s.Name {
					if left++; left == 1 {
						pod, state = p.Name, t.podState(p.Name, p)
					}
				}
			}
			if live.ObservedGeneration != live.Generation && left == 0 {
				return // its controller has not seen it yet
			}
		}
		if reason, waits := gates.PodsGone(left, pod, state); waits {
			t.wait(reason)
			t.suspendTimeout("SuspendTimedOut")
			return
		}
	}
	t.r.Operation = nil
	t.outcome(OperationSuspend, StatusSuccess, "", suspendReport("SuspendSucceeded", StatusSuccess,
		"the cluster is suspended: "+countWords(t.r.Suspended)+" have stopped; the volumes stay, and a resume starts the same nodes again"))
}

// remembersRaised: nodes that somebody has added since the suspension began may hold
// shards by now, and come back with the others.
func (t *turn) remembersRaised() {
	for i, before := range t.r.Suspended {
		if live := t.live(before.Name); live != nil && live.Ours && live.Replicas > before.Replicas {
			t.r.Suspended = slices.Clone(t.r.Suspended)
			t.r.Suspended[i].Replicas = live.Replicas
		}
	}
}

func (t *turn) lowerSet(i int, live *ObservedSet) {
	sets := append([]RecordedSet(nil), t.r.Sets...)
	sets[i].Replicas = 0
	t.r.Sets = sets
	t.d2.Disruptive = &Action{
		Kind: ActionSuspendSet, Set: live.Name, SetUID: live.UID, SetVersion: live.ResourceVersion, From: live.Replicas,
	}
}

// suspendedWaits names what is wanted of a suspended cluster and comes after its
// resume.
func (t *turn) suspendedWaits() {
	if !t.down() {
		return
	}
	var waiting []string
	for i := range t.d.Changes {
		switch c := &t.d.Changes[i]; c.Class {
		case ChangeInPlace, ChangeReplicas:
		default:
			waiting = append(waiting, c.Set+": "+c.Path)
		}
	}
	for _, u := range t.d.Users {
		r, s := t.user(u.Name), t.secret(u.Secret.Name)
		if r == nil || s.has(u.Secret.Key) && r.Secret != s.Version {
			waiting = append(waiting, "user "+u.Name)
		}
	}
	if s := t.secret(t.systemSecret()); s.Exists && t.r.Bootstrap.System != (SecretVersion{}) && s.Version != t.r.Bootstrap.System {
		waiting = append(waiting, "user "+names.SystemUser)
	}
	if t.licenceDue() {
		waiting = append(waiting, "the licence")
	}
	if len(waiting) > 0 {
		t.wait(gates.Suspended(waiting))
	}
}

// suspendTimeout reports once that it takes too long; work goes on.
func (t *turn) suspendTimeout(reason string) {
	op := t.r.Operation
	limit := first(t.d.Operations.ScaleTimeout, t.p.ScaleTimeout, DefaultScaleTimeout)
	if op == nil || op.TimedOut || t.elapsed(op.Started) <= limit {
		return
	}
	next := *op
	next.TimedOut = true
	t.r.Operation = &next
	r := suspendReport(reason, StatusFailure, fmt.Sprintf("the %s has taken more than %s and is still being tried; it waits for: %s", op.Kind, limit, t.words()))
	r.Warning = true
	t.outcome(op.Kind, StatusFailure, string(op.Kind)+"-timeout", r)
}

// suspendReport uses crate-operator's one word for both directions.
func suspendReport(reason string, status Status, message string) Report {
	return Report{Event: EventFeedback, Operation: "update", Action: "suspend", Reason: reason, Status: status, Message: message}
}

// numberOf is "1 node" or "3 nodes".
func numberOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func countWords(sets []RecordedSet) string {
	var groups []string
	for _, s := range sets {
		groups = append(groups, fmt.Sprintf("%s of group %s", numberOf(s.Replicas, "node"), s.Group))
	}
	return strings.Join(groups, ", ")
}
