package aim

import (
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// ImageChange is the change of image of the first set that has one; nil where none has.
func ImageChange(v *view.View) *model.Change {
	return model.Find(v.Desired.Changes, func(c *model.Change) bool { return c.Class == model.ChangeImage })
}

// UpgradeDue reports whether another version, or another image of the same one, is desired than
// the cluster was last brought to.
func UpgradeDue(v *view.View) bool {
	return v.Record.Version != "" && !Unstarted(v) && (v.Record.Version != v.Desired.Version || ImageChange(v) != nil)
}

// TableAges are the versions with which the tables and partitions were made.
func TableAges(v *view.View) []gates.TableAge {
	ages := make([]gates.TableAge, 0, len(v.Observed.Database.Tables))
	for table := range model.Each(v.Observed.Database.Tables) {
		ages = append(ages, gates.TableAge{Name: table.Name, Created: table.Created})
	}
	return ages
}

// refuseVersion refuses a desired version that cannot run on this cluster's data. What else a
// version depends on is looked at until the upgrade begins.
func refuseVersion(t *pass.Pass) {
	was, desired := t.Record.Version, t.Desired.Version
	newer := func(p *model.Pod) bool { return view.StartedNewer(p, desired) }
	changes := UpgradeDue(&t.View) || t.Record.Operation.Is(model.OperationUpgrade) || t.AnyPod(newer)
	if !changes || was == "" || Unstarted(&t.View) {
		return
	}
	if t.Refuses(gates.Downgrade(t.Record.HighestVersion, desired)) || t.Refuses(gates.VersionPath(was, desired)) {
		return
	}
	begun := t.Record.Operation.Is(model.OperationUpgrade) && t.Record.Operation.Upgrade.NewVersion == desired
	if begun || was == desired || !t.Contact() || !t.Observed.Database.TablesKnown {
		return
	}
	ages := TableAges(&t.View)
	if !t.Refuses(gates.TablesTooOld(was, desired, ages)) {
		t.Refuses(gates.ReleaseLosesData(desired, ages))
	}
}
