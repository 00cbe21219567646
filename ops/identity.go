package ops

import (
	"cmp"
	"slices"

	"stevedore.dev/stevedore/ops/gates"
)

// rebuild takes from what is live what a lost or new record does not say.
func (t *turn) rebuild() {
	t.r.SchemaVersion = RecordVersion
	t.uncreated()
	switch {
	case t.d.Removed:
		return
	case len(t.r.Sets) > 0:
		t.rebuildUnwanted()
		return
	}
	ours, creating := false, true
	for i := range t.o.Sets {
		ours = ours || t.o.Sets[i].Ours
		creating = creating && (t.o.Sets[i].InitialMasters || !t.o.Sets[i].Ours)
	}
	if t.r.ClusterID == "" {
		t.r.ClusterID = t.claimedID(ours)
	}
	if !ours {
		return
	}
	t.rebuildBootstrap()
	if t.r.Seq == 0 {
		// Counting from 1 again would give ids that have been delivered, and a
		// new transition would be taken for an old one.
		t.r.Seq = t.now.Unix()
	}
	for i := range t.o.Claims {
		creating = creating && t.o.Claims[i].ClusterID == ""
	}
	for _, want := range t.d.Sets {
		if live := t.live(want.Name); live != nil && live.Ours {
			t.r.Sets = append(t.r.Sets, RecordedSet{Name: want.Name, Group: want.Group, Replicas: live.Replicas})
		} else if creating {
			// Not every set had been made yet when the record was lost.
			t.r.Sets = append(t.r.Sets, RecordedSet{Name: want.Name, Group: want.Group, Replicas: want.Replicas})
		}
	}
	t.rebuildHold()
	t.rebuildSuspended()
	t.rebuildSettings()
	t.rebuildAsked()
	lowest := ""
	for i := range t.o.Pods {
		// Of an upgrade that was cut off, what is not upgraded says where it began.
		if p := &t.o.Pods[i]; !p.Started.IsZero() && (t.r.Version == "" || p.Version != t.d.Version && (t.r.Version == t.d.Version || gates.Compare(p.Version, t.r.Version) < 0)) {
			t.r.Version, t.r.TLS = p.Version, t.d.TLS
		}
		if p := &t.o.Pods[i]; !p.Started.IsZero() && (lowest == "" || gates.Compare(p.Version, lowest) < 0) {
			lowest = p.Version
		}
	}
	if gates.CompareMinor(t.r.Version, t.d.Version) > 0 {
		t.r.Version = lowest // one that is taken back, and is refused
	}
	t.rebuildUnwanted()
	t.rebuildUnproven()
}

// rebuildUnwanted: sets of ours that are wanted no longer stand behind the others; also one
// that was made unseen, after its group had gone out of the definition and been forgotten.
func (t *turn) rebuildUnwanted() {
	for i := range t.o.Sets {
		if live := &t.o.Sets[i]; live.Ours && t.wanted(live.Name) == nil && recorded(t.r.Sets, live.Name) == nil {
			t.r.Sets = append(slices.Clip(t.r.Sets), RecordedSet{Name: live.Name, Group: cmp.Or(live.Group, live.Name), Replicas: live.Replicas})
		}
	}
}

// rebuildBootstrap: claims say whose data they carry only once the bootstrap has
// ended. It is not done again, for it would wait for every node, and one that
// hangs on a bad template is cured only after it. Users are looked at anew.
func (t *turn) rebuildBootstrap() {
	if t.r.ClusterID == "" {
		return
	}
	t.r.Bootstrap.Done = true
	t.r.License, t.r.Bootstrap.Licence = t.d.License, LicenceNotNeeded
	if t.d.License != nil && gates.TakesLicence(t.d.Version) {
		t.r.Bootstrap.Licence = LicenceSet
	}
}

// claimedID is the cluster whose data the claims carry; "" when none says so,
// or two disagree: then the pods' own answers decide. Of a cluster without a
// StatefulSet, only claims count that its pods would start on.
func (t *turn) claimedID(ours bool) string {
	id := ""
	for i := range t.o.Claims {
		switch c := &t.o.Claims[i]; {
		case c.ClusterID == "" || c.ClusterID == id || !ours && c.Set == "":
		case id != "":
			return ""
		default:
			id = c.ClusterID
		}
	}
	return id
}

// command notes since which render a command stands, and drops one that the
// render has outlived.
func (t *turn) command() {
	if t.o.Commands != t.r.Command.Commands {
		t.r.Command = SeenCommand{Commands: t.o.Commands}
		if t.o.Commands != (Commands{}) {
			t.r.Command.Revision = t.d.Revision
		}
	}
	if t.d.Removed || t.r.Command.Revision == t.d.Revision {
		t.commanded = t.r.Command.Commands
	}
}

func (t *turn) removed() bool {
	if !t.d.Removed {
		return false
	}
	if t.commanded.Released == "true" {
		return t.released()
	}
	if t.deleting() {
		return true
	}
	reason := gates.Orphaned(t.d.Owner)
	t.refusal(reason)
	t.returnBudgets()
	t.letGo()
	if t.r.Stage != StageRemovalPending {
		t.r.Stage = StageRemovalPending
		t.report(Report{Reason: "Orphaned", Warning: true, Status: StatusFailure, Message: reason.Message, Names: []string{reason.Name}})
	}
	return true
}

func (t *turn) released() bool {
	if t.commanded.Released == "" && !t.d.Released || t.commanded.Released == "false" {
		return false
	}
	t.wait(gates.Released())
	t.see()
	t.returnBudgets()
	if t.commanded.Released == "true" && t.r.Unexplained && t.r.Hold == nil && t.o.Database.Allocation == heldAllocation {
		t.r.Hold = &Hold{Value: heldAllocation, Before: freeAllocation}
		t.r.Unexplained = false
	}
	t.releaseUnexplained()
	t.letGo()
	return true
}

// letGo ends a restart where it stands, and gives back what it holds.
func (t *turn) letGo() {
	if t.restarting() || t.shrinking() {
		t.endShrink()
		t.r.Operation = nil
	}
	t.giveBack()
	t.include()
	t.forgetHold()
}

// returnBudgets lets Kubernetes evict one pod at a time again.
func (t *turn) returnBudgets() {
	for _, b := range t.o.Budgets {
		if b.MaxUnavailable != 1 {
			t.harmless(Action{Kind: ActionSetBudget, Budget: b.Name, Value: 1})
		}
	}
	t.setBudgets(func(Budget) int { return 1 })
}

func (t *turn) paused() bool {
	byCommand := t.commanded.Paused == "true"
	if !byCommand && (!t.d.Paused || t.commanded.Paused == "false") {
		return false
	}
	t.wait(gates.Paused(byCommand))
	// A pause may last: what is held goes back, and a pod that is on its way
	// comes back by itself.
	t.giveBack()
	if t.shrinking() {
		t.endShrink()
		t.r.Operation = nil
	}
	t.include()
	t.see()
	return true
}

// see notes the render that a person's next command is about.
func (t *turn) see() {
	if t.r.Seen = t.d.Revision; t.d.Removed || t.r.Seen == t.r.Revision {
		t.r.Seen = ""
	}
}

func (t *turn) renamed() bool {
	if t.d.RenamedFrom == "" || len(t.r.Sets) > 0 {
		return false
	}
	t.refusal(gates.Rename(t.d.RenamedFrom, t.d.Namespace+"/"+t.d.Name, t.d.ClusterName))
	return true
}

// takeUp makes a render the one that is worked on.
func (t *turn) takeUp() {
	t.r.Owner, t.r.Seen = t.d.Owner, ""
	if t.r.Pins == (Pins{}) {
		t.r.Pins = t.d.Pins
	}
	if t.r.Revision != t.d.Revision || t.r.Stage == StageRemovalPending || t.r.Stage == "" {
		t.r.Revision, t.r.Commit, t.r.Stage = t.d.Revision, t.d.Commit, StageRendered
	}
	for i := range t.o.Pods {
		if p := &t.o.Pods[i]; !p.Started.IsZero() {
			t.started(p.Version)
		}
	}
	for i := range t.o.Claims {
		t.started(t.o.Claims[i].Version)
	}
	for i := range t.o.Database.Pods {
		t.started(t.o.Database.Pods[i].Version)
	}
}

func (t *turn) started(version string) {
	if version != "" && version != t.r.HighestVersion && (t.r.HighestVersion == "" || gates.Compare(version, t.r.HighestVersion) > 0) {
		t.r.HighestVersion = version
	}
}

// foreign compares each pod's own answer with the recorded id, or before there
// is one with the first answer.
func (t *turn) foreign() bool {
	expected := t.r.ClusterID
	for i := range t.o.Database.Pods {
		a := &t.o.Database.Pods[i]
		if expected == "" && a.ClusterID != gates.NoCluster {
			expected = a.ClusterID
		}
		if reason, refused := gates.ForeignClusterID(a.Pod, a.ClusterID, expected); refused {
			t.refusal(reason)
			return true
		}
	}
	return false
}
