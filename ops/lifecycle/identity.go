package lifecycle

import (
	"cmp"
	"slices"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/budget"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/setting"
	"stevedore.dev/stevedore/ops/view"
)

// Rebuild takes from what is live what a lost or new record does not say.
func Rebuild(t *pass.Pass) {
	t.Record.SchemaVersion = model.RecordVersion
	aim.ForgetUncreated(t)
	switch {
	case t.Desired.Removed:
		return
	case len(t.Record.Sets) > 0:
		rebuildUnrecorded(t)
		return
	}
	ours := model.Any(t.Observed.Sets, func(s *model.ObservedSet) bool { return s.Ours })
	creating := !model.Any(t.Observed.Sets, func(s *model.ObservedSet) bool { return s.Ours && !s.InitialMasters })
	if t.Record.ClusterID == "" {
		t.Record.ClusterID = claimedID(&t.View, ours)
	}
	if !ours && !leftBehind(&t.View) {
		return
	}
	rebuildBootstrap(t)
	if t.Record.Seq == 0 {
		// Counting from 1 again would give ids that have been delivered, and a
		// new transition would be taken for an old one.
		t.Record.Seq = t.Now.Unix()
	}
	creating = creating && !model.Any(t.Observed.Claims, func(c *model.Claim) bool { return c.ClusterID != "" })
	for _, want := range t.Desired.Sets {
		s := model.RecordedSet{Name: want.Name, Group: want.Group, Replicas: want.Replicas}
		switch live, orphans := t.Live(want.Name), aim.Orphans(&t.View, want.Name); {
		case live != nil && live.Ours:
			s.Replicas = live.Replicas
		case orphans > 0, live == nil && aim.HadNodes(&t.View, want.Name):
			// It was deleted without its pods when the record was lost; also where somebody has made
			// another one of its name since. Its pods may be gone too.
			s.Replicas = max(orphans, desiredOnOurs(&t.View, want))
		case !creating: // else not every set had been made yet when the record was lost
			continue
		}
		t.Record.Sets = append(t.Record.Sets, s)
	}
	setting.RebuildLock(t)
	rebuildSuspended(t)
	setting.RebuildSettings(t)
	aim.RebuildAsked(t)
	if t.Desired.Operations.Resize != model.ResizeRestart {
		t.Record.Resizing = &model.Resizing{Since: t.Now, Rebuilt: true}
	}
	rebuildVersion(t)
	rebuildUnrecorded(t)
	aim.RebuildTrials(t)
}

// desiredOnOurs is how many replicas of a set are desired whose pods come on no claim but this cluster's;
// 0 where one may be another's. A pod that was lost while its StatefulSet was gone is one of them: with a
// node less the voters would be fewer than they were.
func desiredOnOurs(v *view.View, want model.Set) int {
	foreign := func(c model.Claim) bool {
		return c.Set == want.Name && c.Ordinal < want.Replicas && v.Pod(c.Set, c.Ordinal) == nil && c.ClusterID != v.Record.ClusterID
	}
	if slices.ContainsFunc(v.Observed.Claims, foreign) {
		return 0
	}
	return want.Replicas
}

// leftBehind reports whether the record was lost while the only StatefulSet was gone: its pods are
// there, and claims say whose data they carry. Such a cluster is made already.
func leftBehind(v *view.View) bool {
	return v.Record.ClusterID != "" && slices.ContainsFunc(v.Desired.Sets, func(w model.Set) bool { return aim.Orphans(v, w.Name) > 0 })
}

// rebuildVersion takes the version from the pods. After an upgrade that was cut off, what is not
// upgraded says where it began.
func rebuildVersion(t *pass.Pass) {
	lowest := ""
	for p := range model.Each(t.Observed.Pods) {
		if p.Started.IsZero() {
			continue
		}
		if t.Record.Version == "" || p.Version != t.Desired.Version && (t.Record.Version == t.Desired.Version || gates.Compare(p.Version, t.Record.Version) < 0) {
			t.Record.Version, t.Record.TLS = p.Version, t.Desired.TLS
		}
		if lowest == "" || gates.Compare(p.Version, lowest) < 0 {
			lowest = p.Version
		}
	}
	if gates.CompareMinor(t.Record.Version, t.Desired.Version) > 0 {
		t.Record.Version = lowest // one that is taken back, and is refused
	}
}

// rebuildUnrecorded puts sets of ours that are not recorded behind the others: those of a group that has left the definition,
// one that was made unseen after such a group was forgotten, and one that somebody made after the record was lost without it.
func rebuildUnrecorded(t *pass.Pass) {
	for live := range model.Each(t.Observed.Sets) {
		if live.Ours && view.Recorded(t.Record.Sets, live.Name) == nil {
			t.Record.Sets = append(slices.Clip(t.Record.Sets), model.RecordedSet{Name: live.Name, Group: cmp.Or(live.Group, live.Name), Replicas: live.Replicas})
		}
	}
}

// rebuildBootstrap takes the bootstrap as ended where claims say whose data they carry: they do
// only after it. It is not done again, for it would wait for every node, and a pod that is
// stuck on a bad template is replaced only after it. Users are looked at anew.
func rebuildBootstrap(t *pass.Pass) {
	if t.Record.ClusterID == "" {
		return
	}
	t.Record.Bootstrap.Done = true
	t.Record.License, t.Record.Bootstrap.Licence = t.Desired.License, model.LicenceNotNeeded
	if t.Desired.License != nil && gates.TakesLicence(t.Desired.Version) {
		t.Record.Bootstrap.Licence = model.LicenceSet
	}
}

// claimedID is the cluster whose data the claims carry; "" when none says so,
// or two disagree: then the pods' own answers decide. Of a cluster without a
// StatefulSet, only claims count that its pods would start on.
func claimedID(v *view.View, ours bool) string {
	id := ""
	for c := range model.Each(v.Observed.Claims) {
		switch {
		case c.ClusterID == "" || c.ClusterID == id || !ours && c.Set == "":
		case id != "":
			return ""
		default:
			id = c.ClusterID
		}
	}
	return id
}

// Command notes since which render a command stands, and drops one that the render has outlived.
func Command(t *pass.Pass) {
	if t.Observed.Commands != t.Record.Command.Commands {
		t.Record.Command = model.SeenCommand{Commands: t.Observed.Commands}
		if t.Observed.Commands != (model.Commands{}) {
			t.Record.Command.Revision = t.Desired.Revision
		}
	}
	if t.Desired.Removed || t.Record.Command.Revision == t.Desired.Revision {
		t.Commanded = t.Record.Command.Commands
	}
}

// Removed gives back what is held where the definition is gone, and deletes the cluster where
// it consented to that.
func Removed(t *pass.Pass) bool {
	if !t.Desired.Removed {
		return false
	}
	if t.Commanded.Released == "true" {
		return Released(t)
	}
	if deleting(t) {
		return true
	}
	reason := gates.Orphaned(t.Desired.Owner, t.Record.ClusterID != "" || len(t.Record.Sets) > 0)
	t.Refuse(reason)
	returnBudgets(t)
	giveAllBack(t)
	if t.Record.Stage != model.StageRemovalPending {
		t.Record.Stage = model.StageRemovalPending
		t.Report(model.Report{Reason: "Orphaned", Warning: true, Status: model.StatusFailure, Message: reason.Message, Names: []string{reason.Name}})
	}
	return true
}

// Released gives back all that is held, where a person releases the cluster.
func Released(t *pass.Pass) bool {
	if !view.Released(&t.View) {
		return false
	}
	t.Wait(gates.Released())
	noteSeen(t)
	returnBudgets(t)
	if t.Commanded.Released == "true" && t.Record.UnexplainedLock && t.Record.Lock == nil && t.Observed.Database.Allocation == setting.LockedAllocation {
		t.Record.Lock = &model.AllocationLock{Value: setting.LockedAllocation, Before: setting.NormalAllocation}
		t.Record.UnexplainedLock = false
	}
	setting.ReleaseUnexplained(t)
	giveAllBack(t)
	return true
}

// giveAllBack ends a restart or a shrink where it stands, and gives back what is held.
func giveAllBack(t *pass.Pass) {
	giveBack(t, view.Restarting(&t.View) || aim.Shrinking(&t.View))
	forgetOwned(t)
}

// giveBack gives back what is held, and ends the operation where it stands.
func giveBack(t *pass.Pass, ends bool) {
	if ends {
		aim.EndShrink(t)
		t.Record.Operation = nil
	}
	setting.GiveBackLock(t)
	setting.GiveBackExclusions(t)
}

// returnBudgets lets Kubernetes evict one pod at a time again. Of a StatefulSet without a pod it expects none, and so a node
// that was taken down would not count: the budget stays as it is until a pod is there that is not terminating.
func returnBudgets(t *pass.Pass) {
	away := slices.DeleteFunc(slices.Clone(t.Record.Sets), func(s model.RecordedSet) bool {
		live := t.Live(s.Name)
		return live == nil || live.Replicas == 0 || t.AnyPod(func(p *model.Pod) bool { return p.Set == s.Name && !p.Terminating })
	})
	stays := func(name string) bool {
		masters := names.IsMasterBudget(name, t.Desired.Name)
		return slices.ContainsFunc(away, func(s model.RecordedSet) bool { return (s.Group == names.MasterGroup) == masters })
	}
	for _, b := range t.Observed.Budgets {
		if b.MaxUnavailable == 1 {
			continue
		}
		if stays(b.Name) {
			c := t.Nodes(away)
			t.Waits(gates.PodsReady(c.Ready, c.Expected, c.NotReady, c.NotReadyWhy))
			continue
		}
		t.Harmless(model.Action{Kind: model.ActionSetBudget, Budget: b.Name, Value: 1})
	}
	budget.SetBudgets(t, func(b model.Budget) int {
		if stays(b.Name) {
			return b.MaxUnavailable
		}
		return 1
	})
}

// Paused gives back what is held and does nothing else, where a person pauses the cluster.
func Paused(t *pass.Pass) bool {
	if !view.Paused(&t.View) {
		return false
	}
	t.Wait(gates.Paused(t.Commanded.Paused == "true"))
	// A pause may last: what is held goes back, and a pod that is on its way
	// comes back by itself.
	giveBack(t, aim.Shrinking(&t.View))
	noteSeen(t)
	return true
}

// noteSeen notes the render that a person's next command is about.
func noteSeen(t *pass.Pass) {
	if t.Record.Seen = t.Desired.Revision; t.Desired.Removed || t.Record.Seen == t.Record.Revision {
		t.Record.Seen = ""
	}
}

// Renamed refuses a new cluster with the cluster name of one that vanished from the same source.
func Renamed(t *pass.Pass) bool {
	if t.Desired.RenamedFrom == "" || len(t.Record.Sets) > 0 {
		return false
	}
	t.Refuse(gates.Rename(t.Desired.RenamedFrom, t.Desired.Namespace+"/"+t.Desired.Name, t.Desired.ClusterName))
	return true
}

// TakeUp makes a render the one that is worked on.
func TakeUp(t *pass.Pass) {
	t.Record.Owner, t.Record.Seen = t.Desired.Owner, ""
	if t.Record.Pins == (model.Pins{}) {
		t.Record.Pins = t.Desired.Pins
	}
	if t.Record.Revision != t.Desired.Revision || t.Record.Stage == model.StageRemovalPending || t.Record.Stage == "" {
		t.Record.Revision, t.Record.Commit, t.Record.Stage = t.Desired.Revision, t.Desired.Commit, model.StageRendered
	}
	for p := range model.Each(t.Observed.Pods) {
		if !p.Started.IsZero() {
			started(t, p.Version)
		}
	}
	for i := range t.Observed.Claims {
		started(t, t.Observed.Claims[i].Version)
	}
	for i := range t.Observed.Database.Pods {
		started(t, t.Observed.Database.Pods[i].Version)
	}
}

func started(t *pass.Pass, version string) {
	if version != "" && version != t.Record.HighestVersion && (t.Record.HighestVersion == "" || gates.Compare(version, t.Record.HighestVersion) > 0) {
		t.Record.HighestVersion = version
	}
}

// Foreign refuses a cluster where a pod answers with another cluster id than the recorded one
// or, before there is one, than the first pod.
func Foreign(t *pass.Pass) bool {
	expected := t.Record.ClusterID
	for a := range model.Each(t.Observed.Database.Pods) {
		if expected == "" && a.ClusterID != gates.NoCluster {
			expected = a.ClusterID
		}
		if t.Refuses(gates.ForeignClusterID(a.Pod, a.ClusterID, expected)) {
			return true
		}
	}
	return false
}
