package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
	"stevedore.dev/stevedore/render/definition"
)

// Defaults of Policy for the deletion of clusters.
const (
	// DefaultRemovalDelay counts from when the definition was first seen to be gone,
	// also across a restart of the daemon.
	DefaultRemovalDelay = 5 * time.Minute
	// DefaultMaxRemoved is how many clusters of a source may be gone at the same time.
	DefaultMaxRemoved = 3
)

// Consent notes that what is in effect allows the deletion of the cluster, should its definition
// vanish, or of volumes, to be replaced: the definition that says so has to have been applied.
func Consent(t *pass.Pass) {
	if !aim.Applied(&t.View) || len(t.Decision.Refusals) > 0 {
		return
	}
	if Consents(&t.Desired) {
		t.Record.DeleteConsent = t.Record.Revision
	}
	// While the cluster is suspended nobody refuses other volumes yet.
	replaces := func(s model.RecordedSet) bool { return len(aim.OtherVolumes(&t.View, s.Name)) > 0 }
	if t.Desired.Operations.Has(definition.ConsentDeleteVolumes) && !slices.ContainsFunc(t.Record.Sets, replaces) {
		t.Record.VolumesConsent = true
	}
}

// Consents reports whether the definition allows the deletion, and is neither paused nor released.
func Consents(d *model.Desired) bool {
	return d.Operations.Has(definition.ConsentDeleteCluster) && !d.Paused && !d.Released
}

// Withdraw takes consents back as soon as a definition does not say so, though nothing else of it may
// be applied; and ends a removal whose definition is back.
func Withdraw(t *pass.Pass) {
	if t.Desired.Removed {
		return
	}
	if !Consents(&t.Desired) {
		t.Record.DeleteConsent = ""
	}
	t.Record.VolumesConsent = t.Record.VolumesConsent && t.Desired.Operations.Has(definition.ConsentDeleteVolumes)
	if t.Record.Removal != nil {
		t.Record.Removal = nil
		t.Record.Stage = model.StageRendered
	}
}

// deleting takes the deletion of a cluster whose definition is gone a step further;
// false where nobody consented to it.
func deleting(t *pass.Pass) bool {
	if t.Record.DeleteConsent == "" || t.Commanded.Paused == "true" {
		return false
	}
	if t.Record.Stage == model.StageRemoved {
		return true
	}
	t.Record.Stage = model.StageRemovalPending
	next := model.Removal{Since: t.Now}
	if t.Record.Removal != nil {
		next = *t.Record.Removal
	}
	t.Record.Removal = &next
	if next.Since.After(t.Now) {
		next.Since = t.Now // the clock has jumped: it waits the whole time again
	}
	if next.Began.IsZero() {
		giveAllBack(t)
		if mayNotRemove(t, &next) {
			return true
		}
		next.Began = t.Now
		reportRemoval(t, &next, "removing", model.StatusInProgress, "RemovalStarted", "the cluster is being deleted, as the definition that is gone had consented to; its volumes and Secrets stay")
		return true
	}
	dismantle(t, &next)
	return true
}

// mayNotRemove waits, or refuses, before the first thing is removed.
func mayNotRemove(t *pass.Pass, r *model.Removal) bool {
	v := &t.Observed.Vanished
	r.Most = max(r.Most, len(v.Clusters))
	r.Emptied = r.Emptied || v.Known && v.Left == 0 && len(v.Clusters) > 1
	if reason, refused := gates.MassRemoval(r.Most, cmp.Or(t.Policy.MaxRemoved, DefaultMaxRemoved), r.Emptied, v.Clusters); refused {
		t.Refuse(reason)
		returnBudgets(t)
		reportRemoval(t, r, reason.Name, model.StatusFailure, "MassRemoval", reason.Message, reason.Name)
		return true
	}
	delay := model.First(t.Policy.RemovalDelay, DefaultRemovalDelay)
	if reason, waits := gates.RemovalPending(delay-t.Elapsed(r.Since), t.Now); waits {
		t.Wait(reason)
		reportRemoval(t, r, reason.Name, model.StatusInProgress, "RemovalPending", reason.Message, reason.Name)
		return true
	}
	if t.Waits(gates.RemovalKnown(v.Known)) {
		return true
	}
	if t.Contact() && t.Observed.Database.SnapshotsKnown && t.Waits(view.SnapshotWaits(&t.View)) {
		return true
	}
	// The volumes stay, and with them what is held in the database: it goes back first,
	// and giveAllBack has said what that waits for.
	return t.Record.Lock != nil || t.Record.Exclusions != nil
}

// dismantle removes one thing after the other: nodes with data, masters, their
// StatefulSets, then what else the definition had made. Claims and Secrets stay.
func dismantle(t *pass.Pass, r *model.Removal) {
	for _, masters := range []bool{false, true} {
		left, pod, state := 0, "", ""
		for live := range model.Each(t.Observed.Sets) {
			if !live.Ours || (live.Group == names.MasterGroup) != masters {
				continue
			}
			if live.Replicas > 0 {
				disrupt(t, model.Action{Kind: model.ActionStopSet, Set: live.Name, SetUID: live.UID, SetVersion: live.ResourceVersion, From: live.Replicas})
				return
			}
			n := 0
			for p := range view.PodsOf(&t.View, live.Name) {
				if n++; left == 0 && n == 1 {
					pod, state = p.Name, view.PodState(&t.View, p.Name, p)
				}
			}
			left += n
			if n == 0 && live.Current == 0 && live.ObservedGeneration == live.Generation {
				disrupt(t, model.Action{Kind: model.ActionDeleteSet, Set: live.Name, SetUID: live.UID, SetVersion: live.ResourceVersion})
				return
			}
			if n == 0 {
				left, pod, state = left+1, live.Name, "its controller has not counted yet"
			}
		}
		if t.Waits(gates.PodsGone(left, pod, state)) {
			return
		}
	}
	going := false
	for l := range model.Each(t.Observed.Leftovers) {
		switch {
		case l.Data:
		case l.Terminating:
			going = true
		default:
			t.Harmless(l.Delete())
			going = true
		}
	}
	if going {
		return
	}
	t.Record.Stage = model.StageRemoved
	reportRemoval(t, r, "removed", model.StatusSuccess, "ClusterRemoved", fmt.Sprintf(
		"the cluster was deleted; %d volume claim(s) and its Secrets stay, and a definition of the same name starts on them again", len(t.Observed.Claims)))
}

func disrupt(t *pass.Pass, a model.Action) { t.Decision.Disruptive = &a }

func reportRemoval(t *pass.Pass, r *model.Removal, what string, status model.Status, reason, message string, gates ...string) {
	if r.Reported == what {
		return
	}
	r.Reported = what
	t.Report(model.Report{
		Event: model.EventFeedback, Status: status, Operation: "delete", Action: "delete", Reason: reason,
		Warning: status != model.StatusSuccess, Message: message, Names: slices.Clone(gates),
	})
}
