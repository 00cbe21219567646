package ops

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/gates"
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

// Removal is the deletion of a cluster whose definition is gone, by the consent
// that an earlier revision of it had recorded.
type Removal struct {
	// Since is when the definition was first seen to be gone, Began when the first
	// thing was removed; zero before.
	Since time.Time `json:"since"`
	Began time.Time `json:"began"`
	// Most is how many were gone at the same time, this one included: those that
	// come back one after the other do not let the rest be deleted. Emptied is true
	// once their source named no cluster at all.
	Most    int  `json:"most,omitempty"`
	Emptied bool `json:"emptied,omitempty"`
	// Told is the reason that was reported last.
	Told string `json:"told,omitempty"`
}

func (r *Removal) equal(o *Removal) bool {
	if r == nil || o == nil {
		return r == o
	}
	return r.Since.Equal(o.Since) && r.Began.Equal(o.Began) && r.Most == o.Most && r.Emptied == o.Emptied && r.Told == o.Told
}

// Vanished is what is known of the clusters of a source whose definitions are gone.
type Vanished struct {
	// Known is true once every source was read and every namespace looked at.
	Known bool
	// Clusters are those that are due to be deleted or are being, "namespace/name",
	// this one included. Left is how many the source still names.
	Clusters []string
	Left     int
}

// consent notes that what is in effect allows the deletion of the cluster, should
// its definition vanish: the definition that says so has to have been applied.
func (t *turn) consent() {
	if t.d.Operations.Has(definition.ConsentDeleteCluster) && !t.d.Paused && !t.d.Released && t.applied() && len(t.d2.Refusals) == 0 {
		t.r.DeleteConsent = t.r.Revision
	}
}

// withdraw takes the consent back as soon as a definition does not say so, though
// nothing else of it may be applied; and ends a removal whose definition is back.
func (t *turn) withdraw() {
	if t.d.Removed {
		return
	}
	if !t.d.Operations.Has(definition.ConsentDeleteCluster) || t.d.Paused || t.d.Released {
		t.r.DeleteConsent = ""
	}
	if t.r.Removal != nil {
		t.r.Removal = nil
		t.r.Stage = StageRendered
	}
}

// deleting takes the deletion of a cluster whose definition is gone a step further;
// false where nobody consented to it.
func (t *turn) deleting() bool {
	if t.r.DeleteConsent == "" || t.commanded.Paused == "true" {
		return false
	}
	if t.r.Stage == StageRemoved {
		return true
	}
	t.r.Stage = StageRemovalPending
	next := Removal{Since: t.now}
	if t.r.Removal != nil {
		next = *t.r.Removal
	}
	t.r.Removal = &next
	if next.Since.After(t.now) {
		next.Since = t.now // the clock has jumped: it waits the whole time again
	}
	if next.Began.IsZero() {
		t.letGo()
		if t.mayNotRemove(&next) {
			return true
		}
		next.Began = t.now
		t.tellRemoval(&next, "removing", StatusInProgress, "RemovalStarted", "the cluster is being deleted, as the definition that is gone had consented to; its volumes and Secrets stay")
		return true
	}
	t.dismantle(&next)
	return true
}

// mayNotRemove waits, or refuses, before the first thing is removed.
func (t *turn) mayNotRemove(r *Removal) bool {
	v := &t.o.Vanished
	r.Most = max(r.Most, len(v.Clusters))
	r.Emptied = r.Emptied || v.Known && v.Left == 0 && len(v.Clusters) > 1
	if reason, refused := gates.MassRemoval(r.Most, cmp.Or(t.p.MaxRemoved, DefaultMaxRemoved), r.Emptied, v.Clusters); refused {
		t.refusal(reason)
		t.returnBudgets()
		t.tellRemoval(r, reason.Name, StatusFailure, "MassRemoval", reason.Message, reason.Name)
		return true
	}
	delay := first(t.p.RemovalDelay, DefaultRemovalDelay)
	reason, waits := gates.RemovalPending(delay-t.elapsed(r.Since), t.now)
	if waits {
		t.wait(reason)
		t.tellRemoval(r, reason.Name, StatusInProgress, "RemovalPending", reason.Message, reason.Name)
		return true
	}
	if reason, waits = gates.RemovalKnown(v.Known); waits {
		t.wait(reason)
		return true
	}
	if db := &t.o.Database; t.contact() && db.SnapshotsKnown {
		if reason, waits = t.snapshotWaits(); waits {
			t.wait(reason)
			return true
		}
	}
	// The volumes stay, and with them what is held in the database: it goes back
	// first, and letGo says what that waits for.
	return t.r.Hold != nil || t.r.Exclusions != nil
}

// dismantle removes one thing after the other: nodes with data, masters, their
// StatefulSets, then what else the definition had made. Claims and Secrets stay.
func (t *turn) dismantle(r *Removal) {
	for _, masters := range []bool{false, true} {
		left, pod, state := 0, "", ""
		for i := range t.o.Sets {
			live := &t.o.Sets[i]
			if !live.Ours || (live.Group == names.MasterGroup) != masters {
				continue
			}
			if live.Replicas > 0 {
				t.disrupt(Action{Kind: ActionStopSet, Set: live.Name, SetUID: live.UID, SetVersion: live.ResourceVersion, From: live.Replicas})
				return
			}
			n := 0
			for j := range t.o.Pods {
				if p := &t.o.Pods[j]; p.Set == live.Name {
					if n++; left == 0 && n == 1 {
						pod, state = p.Name, t.podState(p.Name, p)
					}
				}
			}
			left += n
			if n == 0 && live.ObservedGeneration == live.Generation {
				t.disrupt(Action{Kind: ActionDeleteSet, Set: live.Name, SetUID: live.UID, SetVersion: live.ResourceVersion})
				return
			}
			if n == 0 {
				left, pod, state = left+1, live.Name, "its controller has not counted yet"
			}
		}
		if reason, waits := gates.PodsGone(left, pod, state); waits {
			t.wait(reason)
			return
		}
	}
	going := false
	for i := range t.o.Leftovers {
		l := &t.o.Leftovers[i]
		switch {
		case l.Data:
		case l.Terminating:
			going = true
		default:
			t.harmless(l.delete())
			going = true
		}
	}
	if going {
		return
	}
	t.r.Stage = StageRemoved
	t.tellRemoval(r, "removed", StatusSuccess, "ClusterRemoved", fmt.Sprintf(
		"the cluster was deleted; %d volume claim(s) and its Secrets stay, and a definition of the same name starts on them again", len(t.o.Claims)))
}

func (t *turn) disrupt(a Action) { t.d2.Disruptive = &a }

// tellRemoval reports a transition of a removal once.
func (t *turn) tellRemoval(r *Removal, what string, status Status, reason, message string, gates ...string) {
	if r.Told == what {
		return
	}
	r.Told = what
	t.report(Report{
		Event: EventFeedback, Status: status, Operation: "delete", Action: "delete", Reason: reason,
		Warning: status != StatusSuccess, Message: message, Names: slices.Clone(gates),
	})
}
