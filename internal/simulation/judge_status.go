package simulation

import (
	"cmp"
	"slices"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/snapshots"
	"stevedore.dev/stevedore/render/definition"
)

// shows: `stevedore status` names what goes on in a cluster, and what has failed in it, as long as that is so. Nothing
// waits for most of it, so that no silence would show that the name is missing. It is asked after a pass that wrote
// nothing and did nothing, of what the daemon's watches and its reading have shown.
func (j *judge) shows(w *world, d *daemon, c *commit) {
	rec, db := &d.decision.Record, &d.observed.Database
	theirs := slices.ContainsFunc(d.view.sets, func(s model.ObservedSet) bool { return !s.Ours })
	recreates := rec.Operation != nil && rec.Operation.Recreation != nil // that is what it waits for, and nothing else is decided
	if !rec.Bootstrap.Done || theirs || recreates || len(rec.Suspended) > 0 {
		return
	}
	lacks := func(rule gates.Rule, what string) {
		if !d.says(rule) {
			w.violate("F", "%s, and the status does not say so: %s is not among what the daemon waits for (%s)", what, rule.Name, d.reasons())
		}
	}
	if db.Contact == model.Yes && db.Health.Colour == model.Red {
		lacks(gates.TablesRedRule, "tables are red")
	}
	for i := range d.view.sets {
		if live := &d.view.sets[i]; rec.Operation == nil && recordedReplicas(rec, live.Name) < live.Replicas && c.replicas[w.kindNamed(live.Name)] < live.Replicas {
			lacks(gates.RaisedRule, "somebody has raised the replicas of "+live.Name)
		}
	}
	if pod := d.lacksDisk(); pod != "" {
		lacks(gates.DisksDifferRule, pod+" has not the disks of its StatefulSet")
	}
	if claim := d.goesWithPod(); claim != "" && rec.Replacing == nil {
		lacks(gates.VolumeGoesRule, "somebody has deleted "+claim)
	}
	if len(d.decision.Refusals) > 0 {
		return // nothing of the others goes on
	}
	if claim := d.smallClaim(c); claim != "" {
		lacks(gates.VolumesGrowRule, claim+" is to grow")
	}
	if claim := d.stuckClaim(c); claim != "" {
		lacks(gates.VolumeFailedRule, "the driver of "+claim+" has failed")
	}
	if node := d.usesSurplus(c); rec.Removing != nil && node != "" {
		lacks(gates.DisksRemovedRule, node+" has a disk that is not desired")
	}
	if node := d.onOtherClass(c); node != "" {
		lacks(gates.VolumesReplacedRule, node+" is on a volume of another storage class than is desired")
	}
	if g := rec.Growth; g != nil && !g.Grown.IsZero() && !d.says(gates.VolumesGrowRule) {
		lacks(gates.SizeNotVisibleRule, "the volumes have grown")
	}
	if x := rec.Exclusions; x != nil && rec.Operation == nil && !d.says(gates.NodesGoneRule) {
		lacks(gates.ExclusionsReturnRule, "nodes of "+x.Set+" are excluded, and none is drained")
	}
	j.showsResizes(w, d, lacks)
	if b := rec.Backups; b != nil && c.backups != nil {
		j.showsBackups(w, d, c, b, lacks)
	}
}

// showsBackups: what has failed of snapshots, drills and restores is named until it is past.
func (j *judge) showsBackups(w *world, d *daemon, c *commit, b *model.Backups, lacks func(gates.Rule, string)) {
	db, rec := &d.observed.Database, &d.decision.Record
	answers := db.Contact == model.Yes && db.Recovered == model.Yes && db.NodesKnown
	secret := !slices.ContainsFunc(d.view.secrets, func(s model.Secret) bool { return s.Name == backupKeys && s.Exists })
	if secret && answers {
		lacks(gates.RepositorySecretRule, "the Secret of the repository is gone")
	}
	keeps := rec.Operation == nil && b.Running == nil && b.Fetch == nil && !secret && b.Foreign == "" && len(d.failures) == 0
	if b.Failed != "" && keeps && answers {
		lacks(gates.BackupFailedRule, "the last snapshot has failed")
	}
	first := b.Running != nil && rec.Operation == nil && rec.Stage != model.StageVerified && !w.disked()
	if first && w.now.time().Sub(b.Running.Began) <= c.backups.MaxDelay {
		lacks(gates.SnapshotFirstRule, "what is desired waits for a snapshot")
	}
	if r := b.Running; r != nil && r.Asked.IsZero() && len(d.failures) == 0 { // else action-failed says why it could not
		lacks(gates.BackupWaitsRule, "a snapshot is recorded, and nobody could ask for it")
	}
	if b.Due.Schedule != "" {
		lacks(gates.BackupWaitsRule, "a snapshot is due")
	}
	if b.Fetch != nil && b.Fetch.Drill && answers {
		lacks(gates.DrillRunningRule, "a snapshot is tried")
	}
	if answers {
		j.showsFetches(w, d, c, b, lacks)
	}
	if f := &b.Fetched; f.Failed != "" || f.Stays != "" {
		lacks(gates.TablesNotRestoredRule, "tables did not come that somebody asked for")
	}
	last := model.TakenSnapshot{}
	for _, k := range b.Taken {
		if k.Proof.At.After(last.Proof.At) {
			last = k
		}
	}
	if last.Proof.Failed != "" {
		lacks(gates.DrillFailedRule, "the last drill has failed")
	}
}

// showsFetches: what a person has asked for, and the drill that is due, are named before they begin, and a restore while it
// goes on.
func (j *judge) showsFetches(w *world, d *daemon, c *commit, b *model.Backups, lacks func(gates.Rule, string)) {
	asked := d.observed.Commands.FetchAt
	switch drill := c.backups.Drill; {
	case b.Fetch != nil && b.Fetch.Drill:
	case b.Fetch != nil:
		lacks(gates.TablesRestoredRule, "tables are restored")
	case asked != "" && asked != b.FetchCommand:
		lacks(gates.TablesRestoredRule, "a restore or a drill is asked for")
	case drill != nil && !snapshots.LastWindow(definition.BackupSchedule{Cron: drill.Cron, TimeZone: drill.TimeZone}, cmp.Or(b.Drilled, b.Since), w.now.time()).IsZero():
		lacks(gates.DrillWaitsRule, "a drill is due")
	}
}

// showsResizes: a pod that has not the CPU and memory of its template is named by how far its kubelet is.
func (j *judge) showsResizes(w *world, d *daemon, lacks func(gates.Rule, string)) {
	r := d.decision.Record.Resizing
	if r == nil || r.Restart {
		return
	}
	for i := range d.view.pods {
		p := &d.view.pods[i]
		live := d.shownSet(p.Set)
		if live == nil || p.Terminating || p.Template != live.Template || p.Revision == live.UpdateRevision && !p.Altered || p.Ordinal >= recordedReplicas(&d.decision.Record, p.Set) {
			continue
		}
		switch what := p.Name + " has not the CPU and memory of its template"; {
		case d.observed.Resize.Allowed == model.No && !live.Resources.In(p.Actual):
			lacks(gates.ResizeNotAllowedRule, what+", and may not be resized")
		case !live.Resources.In(p.Resources) || p.Resize == model.ResizeAsked:
			if !d.says(gates.ResizeStoppedRule) && !d.says(gates.ResizeNotAllowedRule) {
				lacks(gates.PodsResizeRule, what)
			}
		case p.Resize == model.ResizeDeferred && d.observed.Resize.Allowed != model.No:
			lacks(gates.ResizeDeferredRule, what+", which its kubelet defers")
		case p.Resize != "" && d.observed.Resize.Allowed != model.No:
			lacks(gates.ResizeStoppedRule, what+", which its kubelet refuses")
		}
	}
}

// recordedReplicas is how many replicas a record has of a StatefulSet; as many as can be where it has none.
func recordedReplicas(rec *model.Record, set string) int {
	for _, s := range rec.Sets {
		if s.Name == set {
			return s.Replicas
		}
	}
	return maxOrdinals
}

// kindNamed is the group of a StatefulSet by its name.
func (w *world) kindNamed(set string) int { return w.setKind(&w.sets[w.setIndex(set)]) }

// shownSet is a StatefulSet as its watch shows it; nil for none.
func (d *daemon) shownSet(name string) *model.ObservedSet {
	i := slices.IndexFunc(d.view.sets, func(s model.ObservedSet) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &d.view.sets[i]
}

// lacksDisk is a pod that has not the volume of each claim template of its StatefulSet, as the watches show them; "" for
// none.
func (d *daemon) lacksDisk() string {
	for _, t := range d.view.volumes {
		for i := range d.view.pods {
			if p := &d.view.pods[i]; p.Set == t.Set && p.Volumes != "" && !listed(p.Volumes, t.Name) && p.Ordinal < recordedReplicas(&d.decision.Record, p.Set) {
				return p.Name
			}
		}
	}
	return ""
}

// ofPod is the pod that uses a claim, as the watches show them; nil for none.
func (d *daemon) ofPod(c *model.Claim) *model.Pod {
	i := slices.IndexFunc(d.view.pods, func(p model.Pod) bool { return p.Set == c.Set && p.Ordinal == c.Ordinal })
	if i < 0 || d.view.pods[i].Volumes != "" && !listed(d.view.pods[i].Volumes, c.Template) {
		return nil
	}
	return &d.view.pods[i]
}

// goesWithPod is a claim that is being deleted while a pod uses it; "" for none.
func (d *daemon) goesWithPod() string {
	for i := range d.view.claims {
		c := &d.view.claims[i]
		if p := d.ofPod(c); c.Terminating && c.ClusterID != "" && p != nil && !p.Terminating && !p.Created.After(c.Deleted) && !listed(p.Unused, c.Template) {
			return c.Name
		}
	}
	return ""
}

// smallClaim is a claim that is not yet asked for the size of a commit, and is not replaced; "" for none.
func (d *daemon) smallClaim(c *commit) string {
	return d.growingClaim(c, func(k *model.Claim, size int64) bool { return k.Requested < size })
}

// stuckClaim is a claim whose driver has failed to give the size of a commit; "" for none.
func (d *daemon) stuckClaim(c *commit) string {
	return d.growingClaim(c, func(k *model.Claim, size int64) bool {
		return k.Requested == size && k.Capacity < size && k.Resize == model.ResizeFailed
	})
}

func (d *daemon) growingClaim(c *commit, is func(k *model.Claim, size int64) bool) string {
	for i := range d.view.claims {
		k := &d.view.claims[i]
		for _, t := range c.desired.Volumes {
			its := t.Set == k.Set && t.Name == k.Template && t.Class == k.Class && !k.Terminating && k.Ordinal < recordedReplicas(&d.decision.Record, k.Set)
			if its && d.ofPod(k) != nil && k.Phase == "Bound" && k.Requested > 0 && is(k, t.Size) {
				return k.Name
			}
		}
	}
	return ""
}

// usesSurplus is a node with a disk that a commit does not ask for; "" for none.
func (d *daemon) usesSurplus(c *commit) string {
	for i := range d.view.pods {
		p := &d.view.pods[i]
		live := d.shownSet(p.Set)
		for _, t := range d.view.volumes {
			fewer := slices.ContainsFunc(c.desired.Volumes, func(of model.VolumeTemplate) bool { return of.Set == t.Set }) &&
				!slices.ContainsFunc(c.desired.Volumes, func(of model.VolumeTemplate) bool { return of.Set == t.Set && of.Name == t.Name })
			if live != nil && t.Set == p.Set && model.DataVolume(t.Name) && fewer && listed(p.Volumes, t.Name) && !listed(p.Unused, t.Name) {
				return p.NodeName
			}
		}
	}
	return ""
}

// onOtherClass is a node on a volume of another storage class than a commit asks for, which is replaced; "" for none.
func (d *daemon) onOtherClass(c *commit) string {
	for i := range d.view.claims {
		k := &d.view.claims[i]
		for _, t := range c.desired.Volumes {
			its := t.Set == k.Set && t.Name == k.Template && model.DataVolume(t.Name) && t.Class != "" && k.Class != "" && t.Class != k.Class
			if p := d.ofPod(k); its && p != nil && c.consent && k.Ordinal < recordedReplicas(&d.decision.Record, k.Set) {
				return p.NodeName
			}
		}
	}
	return ""
}
