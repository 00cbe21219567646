package ops_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// toyDisks are the disks of the world's pods: those that their StatefulSets have claim templates of,
// and of these the ones that no pod mounts.
type toyDisks struct {
	// ended are the pods in which CrateDB does not run for want of a disk.
	ended map[string]bool
	// has and lacks are the volumes of each pod, and those of them that it does not mount.
	has, lacks map[string]string
	// asleep are the shards on disks that pods do not mount, by node.
	asleep map[string][]model.Shard
	// narrow counts the looks in which a template was without a disk.
	narrow int
	// seePods changes what is seen of pods; nil: nothing is.
	seePods func([]model.Pod)
}

// disksOf are the claim templates of a StatefulSet that is there; data0 where the world knows none.
func (w *world) disksOf(set string) []string {
	var out []string
	for _, v := range w.TemplatesOf(set) {
		out = append(out, v.Name)
	}
	if out == nil {
		return []string{"data0"}
	}
	slices.Sort(out)
	return out
}

// disked gives each StatefulSet of the definition so many disks.
func disked(d model.Desired, disks int, text string) model.Desired {
	d = sized(d, text)
	first := slices.Clone(d.Volumes)
	d.Volumes = nil
	for i := range disks {
		for _, v := range first {
			v.Name = fmt.Sprintf("data%d", i)
			d.Volumes = append(d.Volumes, v)
		}
	}
	d.Revision = fmt.Sprintf("rev-disks-%d-%s", disks, text)
	return d
}

// fewerChanges are the differences between what is live and a definition with fewer disks.
func (w *world) fewerChanges() []model.Change {
	var out []model.Change
	for _, v := range w.Templates {
		desired := slices.ContainsFunc(w.desired.Volumes, func(o model.VolumeTemplate) bool { return o.Set == v.Set && o.Name == v.Name })
		if w.desiresSet(v.Set) && !desired {
			out = append(out, model.Change{Class: model.ChangeFewerDisks, Set: v.Set, Path: "spec.volumeClaimTemplates[" + v.Name + "]"})
		}
	}
	return out
}

func (w *world) desiresSet(set string) bool {
	return slices.ContainsFunc(w.desired.Sets, func(s model.Set) bool { return s.Name == set })
}

// getsDisks: a pod is made from what is live.
func (w *world) getsDisks(set, pod string) {
	if len(w.TemplatesOf(set)) == 0 {
		return
	}
	if w.has == nil {
		w.has, w.lacks, w.asleep = map[string]string{}, map[string]string{}, map[string][]model.Shard{}
	}
	used := w.uses(pod, "data1")
	w.has[pod], w.lacks[pod] = strings.Join(w.disksOf(set), ","), w.set(set).Unused
	node := w.nodeID(set + "/" + lastOf(pod))
	if w.uses(pod, "data1") {
		w.shards = append(w.shards, w.asleep[node]...)
		delete(w.asleep, node)
		return
	}
	if !used {
		return
	}
	w.shards = slices.DeleteFunc(w.shards, func(s model.Shard) bool {
		if away := s.Node == node && s.ID%2 == 1; away {
			w.asleep[node] = append(w.asleep[node], s)
		}
		return s.Node == node && s.ID%2 == 1
	})
}

func (w *world) uses(pod, disk string) bool {
	return slices.Contains(model.Listed(w.has[pod]), disk) && !slices.Contains(model.Listed(w.lacks[pod]), disk)
}

// mayLoseDisks asserts that a pod which comes back without a disk has no shard, and takes none.
func (w *world) mayLoseDisks(pod string) {
	set := pod[:strings.LastIndexByte(pod, '-')]
	node := w.nodeID(set + "/" + lastOf(pod))
	for _, disk := range model.Listed(w.has[pod]) {
		comes := slices.Contains(w.disksOf(set), disk) && !slices.Contains(model.Listed(w.set(set).Unused), disk)
		if comes || !w.uses(pod, disk) || w.masters[set] {
			continue
		}
		require.False(w.t, slices.ContainsFunc(w.shards, func(s model.Shard) bool { return s.Node == node }), "A: %s loses %s and has shards", pod, disk)
		require.Contains(w.t, w.excluded(), node, "%s loses %s and takes shards", pod, disk)
	}
}

// vanishes: somebody deletes a pod.
func (w *world) vanishes(pod string) { w.pods[pod].away = 2 }

// seeDisks is what a look sees of them.
func (w *world) seeDisks(o *model.Observed) {
	for i := range o.Sets {
		if o.Sets[i].Unused != "" {
			w.narrow++
		}
	}
	for i := range o.Pods {
		p := &o.Pods[i]
		p.Volumes, p.Unused = w.has[p.Name], w.lacks[p.Name]
	}
	if w.seePods != nil {
		w.seePods(o.Pods)
	}
	if len(w.asleep) == 0 {
		return
	}
	for _, missing := range w.asleep {
		for _, s := range missing {
			h := &o.Database.Health
			h.Colour = max(h.Colour, model.Yellow)
			if h.Underreplicated++; !slices.ContainsFunc(w.shards, func(other model.Shard) bool { return other.Table == s.Table && other.ID == s.ID }) {
				h.Colour, h.Missing = model.Red, h.Missing+1
			}
			o.Database.Unassigned++
			for i := range o.Database.Tables {
				if t := &o.Database.Tables[i]; t.Name == s.Table {
					t.Started = 1
				}
			}
		}
	}
	o.Database.ClusterHealth = model.Health{Colour: o.Database.Health.Colour, Missing: o.Database.Health.Missing, Underreplicated: o.Database.Health.Underreplicated}
	w.whole = o.Database.ClusterHealth
}

// keepsUsed asserts that what is applied of a StatefulSet keeps the disks that it has: its template would
// mount no other ones.
func (w *world) keepsUsed(e model.EffectiveSet) {
	if len(w.TemplatesOf(e.Name)) == 0 || w.away[e.Name] {
		return
	}
	for _, disk := range w.disksOf(e.Name) {
		desired := slices.ContainsFunc(w.desired.Volumes, func(v model.VolumeTemplate) bool { return v.Set == e.Name && v.Name == disk })
		if _, ok := e.Sizes.Size(disk); w.desiresSet(e.Name) && !desired {
			require.True(w.t, ok, "the template of %s loses %s, which its pods use", e.Name, disk)
		}
	}
}
