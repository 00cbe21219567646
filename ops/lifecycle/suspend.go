package lifecycle

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/access"
	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/check"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/setting"
	"stevedore.dev/stevedore/ops/view"
)

// Resumed reports whether a resume has ended in this pass. The next one looks at what else is
// desired.
func Resumed(v *view.View) bool {
	return v.Suspending && len(v.Record.Suspended) == 0 && !aim.AsksToSuspend(v)
}

// suspended is what the annotation on a StatefulSet says, should the record be lost.
type suspended struct {
	Replicas  int    `json:"replicas"`
	ClusterID string `json:"clusterId"`
}

// SuspendedNote is the annotation that says what a set was suspended from; "" for none.
func SuspendedNote(v *view.View, set string) string {
	s := view.Recorded(v.Record.Suspended, set)
	if s == nil {
		return ""
	}
	text, _ := json.Marshal(suspended{Replicas: s.Replicas, ClusterID: v.Record.ClusterID}) // a number and a text
	return string(text)
}

// rebuildSuspended takes a suspension from the annotations when the record was
// lost. Without those, StatefulSets that all stand at 0 beside the volumes of a
// cluster are one too: what is known of it are its volumes.
func rebuildSuspended(t *pass.Pass) {
	said, still := false, len(t.Record.Sets) > 0
	before := make([]model.RecordedSet, len(t.Record.Sets))
	for i, s := range t.Record.Sets {
		still = still && s.Replicas == 0
		before[i] = s
		live := t.Live(s.Name)
		if live == nil || live.Suspended == "" {
			continue
		}
		var note suspended
		if json.Unmarshal([]byte(live.Suspended), &note) != nil || model.Countable([]model.RecordedSet{{Name: s.Name, Replicas: note.Replicas}}) != nil {
			continue
		}
		said = true
		before[i].Replicas = max(s.Replicas, note.Replicas)
		if t.Record.ClusterID == "" {
			t.Record.ClusterID = note.ClusterID
		}
	}
	if t.Record.ClusterID == "" || !said && !still {
		return
	}
	if !said {
		for c := range model.Each(t.Observed.Claims) {
			if s := view.Recorded(before, c.Set); s != nil && c.ClusterID == t.Record.ClusterID {
				s.Replicas = max(s.Replicas, c.Ordinal+1)
			}
		}
	}
	t.Record.Suspended = before
	// Its bootstrap has ended, or it could not have been suspended.
	t.Record.Bootstrap.Done = true
	t.Record.AllowedCIDRs = CIDRs(t.Desired.AllowedCIDRs)
	for i := range t.Observed.Claims {
		if v := t.Observed.Claims[i].Version; v != "" && (t.Record.Version == "" || gates.Compare(v, t.Record.Version) > 0) {
			t.Record.Version, t.Record.TLS = v, t.Desired.TLS
		}
	}
}

// YieldToSuspension ends an operation that a suspension takes over, where it may be left: a grow keeps
// the nodes that it has, and a restart that has stopped would stop for ever. A grow or a resume ends
// too where a pod does not come back before its StatefulSet is recreated: it would wait for that pod.
func YieldToSuspension(t *pass.Pass) {
	op := t.Record.Operation
	if op == nil || t.Record.Lock != nil {
		return
	}
	if grows := op.Kind == model.OperationGrow || op.Kind == model.OperationResume; grows && view.AnyBehindMissingDisk(&t.View) {
		t.Record.Operation = nil
		return
	}
	if !t.Suspending || !aim.AsksToSuspend(&t.View) {
		return
	}
	if op.Kind == model.OperationGrow || op.Kind == model.OperationRestart && op.Step == model.StepStopped {
		t.Record.Operation = nil
	}
}

// StartSuspend stops all nodes where no group is to have one, and says whether that is due.
func StartSuspend(t *pass.Pass) bool {
	if !t.Suspending || !aim.AsksToSuspend(&t.View) {
		return false
	}
	if len(t.Record.Suspended) > 0 && view.Total(t.Record.Sets, nil) == 0 {
		return true // it is suspended, and nothing else begins
	}
	if aim.Aborted(&t.View) {
		t.Refuse(gates.SuspendAborted())
		return true
	}
	if !view.PartlyStopped(&t.View) && (aim.RefuseExtra(t) || suspendWaits(t)) {
		return true // a pod that has a disk in addition would come back without what is on it
	}
	beginSuspend(t)
	return true
}

// BeforeSuspend is asked before all nodes go. One reading over all groups decides, and a yellow may
// go: its primaries are all there, and some yellows never end. A missing node is none of the gates either.
var BeforeSuspend = []check.Check{
	check.Contact, check.FreshReading, check.GatewayRecovered, check.TablesKnown, check.NoSnapshot, check.ShardsMoving, check.HealthGreen,
}

// suspendWaits asks BeforeSuspend, and looks at groups that are to go and at claims.
func suspendWaits(t *pass.Pass) bool {
	for _, s := range t.Record.Sets {
		if t.DesiredSet(s.Name) == nil {
			t.Wait(gates.SuspendedGroup(s.Group))
			return true
		}
	}
	m := check.Move{Nodes: t.Nodes(t.Record.Sets), SettledYellow: true}
	if claimStops(t, "") || m.Stop(t, BeforeSuspend) {
		return true
	}
	// The lock of a restart is given back first.
	return t.Record.Lock != nil
}

// claimStops: a pod of the set, or any with "", would lose its volume: its claim is being deleted.
func claimStops(t *pass.Pass, set string) bool {
	for p, c := range view.DeletedClaims(&t.View) {
		if !p.Terminating && (set == "" || p.Set == set) {
			t.Wait(gates.ClaimBeingDeleted(c.Name, p.Name, gates.AllStop))
			return true
		}
	}
	return false
}

func beginSuspend(t *pass.Pass) {
	if len(t.Record.Suspended) == 0 {
		t.Record.Suspended = aim.Present(&t.View)
	}
	t.Record.Operation = &model.Operation{Kind: model.OperationSuspend, Started: t.Now, Revision: t.Desired.Revision, From: t.Record.Sets}
	t.Report(suspendReport("SuspendStarted", model.StatusInProgress, "the cluster is being suspended: "+countWords(t.Record.Suspended)+" stop, and the volumes stay"))
}

// Suspend takes a suspension or its end a step further.
func Suspend(t *pass.Pass) {
	op := t.Record.Operation
	switch {
	case op == nil:
		suspendedWaits(t)
	case op.Kind == model.OperationSuspend && (!aim.AsksToSuspend(&t.View) || aim.Aborted(&t.View)):
		beginResume(t)
		resume(t)
	case op.Kind == model.OperationSuspend:
		stopSets(t)
	case op.Kind == model.OperationResume && aim.AsksToSuspend(&t.View) && !aim.Aborted(&t.View):
		// While it was never whole again, nobody has used it since.
		if op.Step == StepRecover && (suspendWaits(t) || t.Waits(view.DisruptedWait(&t.View))) {
			resume(t)
			return
		}
		beginSuspend(t)
		stopSets(t)
	case op.Kind == model.OperationResume:
		resume(t)
	}
}

// stopSets stops one StatefulSet in a pass, those with data before the dedicated masters, after
// each says what it was suspended from, and which settings are about to be set while all nodes run.
func stopSets(t *pass.Pass) {
	remembersRaised(t)
	settings := !view.PartlyStopped(&t.View) && setting.Unsaid(&t.View)
	for _, s := range t.Record.Sets {
		live := t.Live(s.Name)
		if live == nil && s.Replicas == 0 {
			continue // nothing of its group was ever made, or its nodes have stopped
		}
		if live == nil || live.Replicas > 0 && (settings || live.Suspended != SuspendedNote(&t.View, s.Name)) {
			return // it is being applied
		}
	}
	for _, masters := range []bool{false, true} {
		left := 0
		pod, state := "", ""
		for _, s := range t.Record.Sets {
			if (s.Group == names.MasterGroup) != masters {
				continue
			}
			live := cmp.Or(t.Live(s.Name), &model.ObservedSet{})
			if live.Replicas > 0 {
				if claimStops(t, s.Name) {
					suspendTimeout(t, "SuspendTimedOut")
					return
				}
				aim.SetReplicas(t, s.Name, 0)
				disrupt(t, model.Action{Kind: model.ActionSuspendSet, Set: live.Name, SetUID: live.UID, SetVersion: live.ResourceVersion, From: live.Replicas})
				return
			}
			for p := range view.PodsOf(&t.View, s.Name) {
				if left++; left == 1 {
					pod, state = p.Name, view.PodState(&t.View, p.Name, p)
				}
			}
			if left == 0 && t.Waits(gates.ControllerBehind(live.Name, live.Generation, live.ObservedGeneration)) {
				suspendTimeout(t, "SuspendTimedOut")
				return
			}
		}
		if t.Waits(gates.PodsGone(left, pod, state)) {
			suspendTimeout(t, "SuspendTimedOut")
			return
		}
	}
	t.Record.Operation = nil
	aim.Outcome(t, model.OperationSuspend, model.StatusSuccess, "", suspendReport("SuspendSucceeded", model.StatusSuccess,
		"the cluster is suspended: "+countWords(t.Record.Suspended)+" have stopped; the volumes stay, and a resume starts the same nodes again"))
}

// remembersRaised notes nodes that somebody has added since the suspension began: they may hold
// shards by now, and come back with the others.
func remembersRaised(t *pass.Pass) {
	for i, before := range t.Record.Suspended {
		if live := t.Live(before.Name); live != nil && live.Ours && live.Replicas > before.Replicas {
			t.Record.Suspended = slices.Clone(t.Record.Suspended)
			t.Record.Suspended[i].Replicas = live.Replicas
		}
	}
}

// RestsSuspended reports whether a change is none of a cluster that its definition suspends: it has no
// nodes, whatever the number of dedicated masters, and its templates count those that come back.
func RestsSuspended(c *model.Change) bool {
	return c.Class == model.ChangeReplicas || c.Class == model.ChangeInPlace && manifest.CountsForGateway(c.Path)
}

// suspendedWaits names what is desired of a suspended cluster and comes after its resume.
func suspendedWaits(t *pass.Pass) {
	if !access.Down(&t.View) {
		return
	}
	var waiting []string
	for c := range model.Each(t.Desired.Changes) {
		if !RestsSuspended(c) {
			waiting = append(waiting, c.Set+": "+c.Path)
		}
	}
	for _, u := range t.Desired.Users {
		r, s := access.User(&t.View, u.Name), t.Secret(u.Secret.Name)
		if r == nil || s.Has(u.Secret.Key) && r.Secret != s.Version {
			waiting = append(waiting, "user "+u.Name)
		}
	}
	if s := t.Secret(t.SystemSecret()); s.Exists && t.Record.Bootstrap.System != (model.SecretVersion{}) && s.Version != t.Record.Bootstrap.System {
		waiting = append(waiting, "user "+names.SystemUser)
	}
	if access.LicenceDue(&t.View) {
		waiting = append(waiting, "the licence")
	}
	if len(waiting) > 0 {
		t.Wait(gates.Suspended(waiting))
	}
}

// suspendTimeout reports once that it takes too long; work goes on.
func suspendTimeout(t *pass.Pass, reason string) {
	kind := string(t.Record.Operation.Kind)
	aim.Timeout(t, view.ScaleLimit(&t.View), kind+"-timeout", suspendReport(reason, model.StatusFailure, "the "+kind))
}

// suspendReport uses crate-operator's one word for both directions.
func suspendReport(reason string, status model.Status, message string) model.Report {
	return model.Report{Event: model.EventFeedback, Operation: "update", Action: "suspend", Reason: reason, Status: status, Message: message}
}

func countWords(sets []model.RecordedSet) string {
	return strings.Join(model.Texts(sets, func(s *model.RecordedSet) string {
		return aim.NumberOf(s.Replicas, "node") + " of group " + s.Group
	}), ", ")
}
