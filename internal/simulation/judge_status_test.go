package simulation

import (
	"testing"
	"time"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// What goes on in a cluster, and what has failed in it, is in the status by its name.
func TestTheStatusNamesWhatGoesOn(t *testing.T) {
	const set = "crate-data-hot-c"
	claim := model.Claim{Name: "data0-" + set + "-0", Set: set, Template: dataClaim, Phase: "Bound", Requested: 100, Capacity: 100, ClusterID: "c"}
	wants := func(w *world, d *daemon, of model.VolumeTemplate) {
		w.commits[d.want].desired.Volumes = []model.VolumeTemplate{of}
	}
	backups := func(w *world, d *daemon) *model.Backups {
		w.commits[d.want].backups = &definition.Backups{MaxDelay: time.Hour}
		d.decision.Record.Backups = &model.Backups{}
		d.view.secrets = append(d.view.secrets, model.Secret{Name: backupKeys, Exists: true})
		return d.decision.Record.Backups
	}
	resizes := func(d *daemon, is model.ResizeStage) {
		d.decision.Record.Resizing = &model.Resizing{}
		d.view.sets[0].Resources, d.view.pods[0].Resources, d.view.pods[0].Actual = "crate limits.cpu=2", "crate limits.cpu=2", "crate limits.cpu=1"
		d.view.pods[0].Altered, d.view.pods[0].Resize = true, is
	}
	for _, c := range []struct {
		name  string
		rule  gates.Rule
		makes func(*world, *daemon)
	}{
		{"tables are red", gates.TablesRedRule, func(_ *world, d *daemon) { d.observed.Database.Health.Colour = model.Red }},
		{"somebody has raised the replicas", gates.RaisedRule, func(_ *world, d *daemon) { d.view.sets[0].Replicas = 5 }},
		{"a pod lacks a disk", gates.DisksDifferRule, func(_ *world, d *daemon) {
			d.view.volumes = []model.VolumeTemplate{{Set: set, Name: "data1"}}
			d.view.pods[0].Volumes = dataClaim
		}},
		{"a claim is being deleted", gates.VolumeGoesRule, func(_ *world, d *daemon) {
			going := claim
			going.Terminating, going.Deleted = true, d.view.pods[0].Created.Add(time.Minute)
			d.view.claims = []model.Claim{going}
		}},
		{"a claim is to grow", gates.VolumesGrowRule, func(w *world, d *daemon) {
			d.view.claims = []model.Claim{claim}
			wants(w, d, model.VolumeTemplate{Set: set, Name: dataClaim, Size: 200})
		}},
		{"a driver has failed", gates.VolumeFailedRule, func(w *world, d *daemon) {
			stuck := claim
			stuck.Requested, stuck.Resize = 200, model.ResizeFailed
			d.view.claims = []model.Claim{stuck}
			wants(w, d, model.VolumeTemplate{Set: set, Name: dataClaim, Size: 200})
		}},
		{"the volumes have grown, and CrateDB does not see it", gates.SizeNotVisibleRule, func(_ *world, d *daemon) {
			d.decision.Record.Growth = &model.VolumeGrowth{Grown: epoch}
		}},
		{"a node has a disk more than is desired", gates.DisksRemovedRule, func(w *world, d *daemon) {
			d.decision.Record.Removing = &model.DiskRemoval{}
			d.view.volumes = []model.VolumeTemplate{{Set: set, Name: dataClaim}, {Set: set, Name: "data1"}}
			for i := range d.view.pods {
				d.view.pods[i].Volumes = "data0,data1"
			}
			wants(w, d, model.VolumeTemplate{Set: set, Name: dataClaim})
		}},
		{"a node is on another storage class", gates.VolumesReplacedRule, func(w *world, d *daemon) {
			other := claim
			other.Class, w.commits[d.want].consent = "disks", true
			d.decision.Record.Replacing = &model.VolumeReplacement{}
			d.view.claims = []model.Claim{other}
			wants(w, d, model.VolumeTemplate{Set: set, Name: dataClaim, Class: "fast"})
		}},
		{"a pod waits for other CPU", gates.PodsResizeRule, func(_ *world, d *daemon) { resizes(d, model.ResizeAsked) }},
		{"a kubelet defers it", gates.ResizeDeferredRule, func(_ *world, d *daemon) { resizes(d, model.ResizeDeferred) }},
		{"a kubelet refuses it", gates.ResizeStoppedRule, func(_ *world, d *daemon) { resizes(d, model.ResizeInfeasible) }},
		{"pods may not be resized", gates.ResizeNotAllowedRule, func(_ *world, d *daemon) {
			resizes(d, model.ResizeAsked)
			d.observed.Resize.Allowed = model.No
		}},
		{"the Secret of the repository is gone", gates.RepositorySecretRule, func(w *world, d *daemon) {
			backups(w, d)
			d.view.secrets = nil
		}},
		{"the last snapshot has failed", gates.BackupFailedRule, func(w *world, d *daemon) { backups(w, d).Failed = "no room" }},
		{"what is desired waits for a snapshot", gates.SnapshotFirstRule, func(w *world, d *daemon) {
			backups(w, d).Running = &model.RunningSnapshot{Asked: epoch, Began: w.now.time()}
			d.decision.Record.Stage = model.StageApplied
		}},
		{"a snapshot is tried", gates.DrillRunningRule, func(w *world, d *daemon) { backups(w, d).Fetch = &model.Fetch{Drill: true} }},
		{"tables are restored", gates.TablesRestoredRule, func(w *world, d *daemon) { backups(w, d).Fetch = &model.Fetch{} }},
		{"a restore is asked for", gates.TablesRestoredRule, func(w *world, d *daemon) {
			backups(w, d)
			d.observed.Commands.FetchAt = "at restore"
		}},
		{"a drill is due", gates.DrillWaitsRule, func(w *world, d *daemon) {
			backups(w, d).Since = w.now.time().Add(-48 * time.Hour)
			w.commits[d.want].backups.Drill = &definition.Drill{Cron: "0 3 * * *"}
		}},
		{"nodes are excluded, and none is drained", gates.ExclusionsReturnRule, func(_ *world, d *daemon) { d.decision.Record.Exclusions = &model.Exclusions{Set: set} }},
		{"a drill has failed", gates.DrillFailedRule, func(w *world, d *daemon) {
			backups(w, d).Taken = []model.TakenSnapshot{{Proof: model.Proof{At: epoch, Failed: "a table did not come"}}}
		}},
		{"tables were not restored", gates.TablesNotRestoredRule, func(w *world, d *daemon) { backups(w, d).Fetched.Failed = "it is gone" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, says := range []bool{true, false} {
				v := ruled(t, func(w *world, d *daemon) {
					d.observed.Database.Contact, d.observed.Database.Recovered, d.observed.Database.NodesKnown = model.Yes, model.Yes, true
					d.decision.Record.Bootstrap.Done = true
					c.makes(w, d)
					if says {
						d.decision.Waits = []model.Reason{{Name: c.rule.Name}}
					}
					w.judge.shows(w, d, &w.commits[d.want])
				})
				requireViolation(t, v, "F", !says)
			}
		})
	}
}
