package aim

import (
	"maps"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// RefuseExtra refuses to take away a disk that a pod has, whose StatefulSet was recreated without it for a while: with
// its definition nothing brings the claim template back. It says whether there is one.
func RefuseExtra(t *pass.Pass) (refuses bool) {
	for _, s := range t.Desired.Sets {
		extra := extraDisks(&t.View, s.Name)
		if len(extra) == 0 {
			continue // nearly always: nothing is sorted
		}
		for _, name := range slices.Sorted(maps.Keys(extra)) {
			if view.DesiredVolume(&t.View, s.Name, name) == nil {
				t.Refuse(gates.Volumes(s.Name, "spec.volumeClaimTemplates["+name+"]", "a disk of "+extra[name], "", false))
				refuses = true
			}
		}
	}
	return refuses
}

// refuseDisks refuses further disks of which no volume could be made, or that may be another
// node's: not what a pod has already.
func refuseDisks(t *pass.Pass) {
	RefuseExtra(t)
	var asking []model.ClaimClass
	for _, s := range t.Desired.Sets {
		further := view.FurtherDisks(&t.View, s.Name)
		desired := func(template string) bool {
			return model.Any(further, func(w *model.VolumeTemplate) bool { return w.Name == template })
		}
		extra := extraDisks(&t.View, s.Name)
		is := func(template string) bool { return desired(template) && extra[template] == "" }
		for _, c := range t.Desired.Storage {
			if c.Set != s.Name || !slices.ContainsFunc(c.Claims, is) {
				continue
			}
			c.Claims = slices.DeleteFunc(slices.Clone(c.Claims), func(name string) bool { return !is(name) })
			asking = append(asking, c)
		}
		t.Refuses(gates.DiskNotBlank(s.Name, notBlank(&t.View, s, is)))
	}
	refuseMissing(t, asking)
}

// createdTogether is how far apart the claims of one pod are made at most: the StatefulSet controller makes
// them one after the other, in no order, and slowly where the API server is busy. No node is drained and
// comes back on another volume within that time.
const createdTogether = time.Minute

// itsOwn reports whether a claim was a disk of this very pod's node before: CrateDB has written on it in
// this cluster, and a disk that the pod has is not younger. The id of a node is on each of its disks, so
// that it stays the same as long as one of them does.
func itsOwn(v *view.View, c *model.Claim) bool {
	if c.ClusterID == "" || c.ClusterID != v.Record.ClusterID || c.Made.IsZero() || c.Terminating {
		return false
	}
	return model.Any(v.Observed.Claims, func(o *model.Claim) bool {
		its := o.Set == c.Set && o.Ordinal == c.Ordinal && model.DataVolume(o.Template) && view.HasTemplate(v, o.Set, o.Template)
		older := !o.Made.IsZero() && !o.Made.After(c.Made.Add(createdTogether))
		return its && older && o.ClusterID == c.ClusterID && !o.Terminating
	})
}

// refuseNumber refuses another number of disks of a cluster that is being made, and fewer where a pod has not got
// all yet: another number comes once all pods of the StatefulSet have the same. No node is drained for a disk before
// that, and no pod restarts for one that is not desired: without the refusal neither would ever come, and no word of
// the status would say what to do. A cluster that never starts, as its volumes are not there, has its way out in these words.
func refuseNumber(t *pass.Pass, c model.Change) {
	lacks := func(p *model.Pod) bool {
		return p.Set == c.Set && slices.ContainsFunc(view.SurplusDisks(&t.View, c.Set), func(w model.VolumeTemplate) bool { return !p.Has(w.Name) })
	}
	switch {
	case !strings.HasPrefix(c.Path, "spec.volumeClaimTemplates"): // what comes with the disk
	case !t.Record.Bootstrap.Done:
		t.Refuse(gates.Volumes(c.Set, c.Path, c.Old, c.New, Unstarted(&t.View) && neverBound(&t.View, c.Set)))
	case c.Class == model.ChangeFewerDisks && t.AnyPod(lacks):
		t.Refuse(gates.Volumes(c.Set, c.Path, "a disk that not all pods have yet", c.New, false))
	}
}

// extraDisks are the disks that pods have, and their StatefulSet has not, each with the last such pod.
func extraDisks(v *view.View, set string) map[string]string {
	if v.Even {
		return nil
	}
	out := map[string]string{}
	for p := range view.PodsOf(v, set) {
		for _, name := range view.ExtraDisks(v, p) {
			out[name] = p.Name
		}
	}
	return out
}

// notBlank are the claims of further disks on which CrateDB has written, of pods that are there or come.
func notBlank(v *view.View, s model.Set, further func(template string) bool) []string {
	return model.ClaimNames(v.Observed.Claims, func(c *model.Claim) bool {
		comes := c.Set == s.Name && further(c.Template) && c.Ordinal < max(s.Replicas, RecordedReplicas(v, s.Name))
		return comes && !c.Blank() && !itsOwn(v, c)
	})
}
