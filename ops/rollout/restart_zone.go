package rollout

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/view"
)

// zoneAttribute is node.attr.zone, which the pods' command gives.
const zoneAttribute = "zone"

// Zone is the zone of a pod, by its label or by what its node says; "" where it is not known.
func Zone(v *view.View, p *model.Pod) string {
	if p.Zone != "" {
		return p.Zone
	}
	if n := view.NodeNamed(v, p.NodeName); n != nil {
		return n.Attributes[zoneAttribute]
	}
	return ""
}

// together are the pods that go down with p, p among them, and their zone; none where it goes
// alone. Alone go pods of a set that gets a disk or loses one, dedicated masters, the first pod on a template that is not verified, and all
// where the zone is not known or the rest could not do without the whole of it.
func together(v *view.View, set string, p *model.Pod) (string, []model.PodRef) {
	zone, live, s := Zone(v, p), v.Live(set), view.Recorded(v.Record.Sets, set)
	switch {
	case v.Desired.Operations.RestartBy != "zone", zone == "", live == nil, s == nil, view.JoinedNotReady(v, p), view.Mixed(v, set), len(view.SurplusDisks(v, set)) > 0:
		return "", nil
	}
	verified := p.Template == live.Template
	var pods []model.PodRef
	for q := range model.Each(v.Observed.Pods) {
		switch {
		case q.Set != set || q.Ordinal >= s.Replicas:
		case view.DeletedClaim(v, q) != nil && Zone(v, q) == zone: // the copies on the others are counted for it
			return "", nil
		case view.Outdated(v, q):
			if Zone(v, q) == zone {
				pods = append(pods, model.PodRef{Name: q.Name, UID: q.UID})
			}
		case q.Template == live.Template && view.Joined(v, q):
			verified = true
		}
	}
	if len(pods) < 2 || !verified || !maySpare(v, set, zone, pods) {
		return "", nil
	}
	slices.SortFunc(pods, func(a, b model.PodRef) int { return strings.Compare(a.Name, b.Name) })
	return zone, pods
}

// maySpare reports whether a majority of the master-eligible nodes stays, and each shard with a
// copy on the pods has a started one in another zone.
func maySpare(v *view.View, set, zone string, pods []model.PodRef) bool {
	w := v.DesiredSet(set)
	if w == nil || w.Dedicated {
		return false
	}
	if w.MasterEligible {
		// CrateDB lets an odd number vote, and any of them may be among the pods.
		voters := view.Total(v.Record.Sets, func(s model.RecordedSet) bool { return view.Votes(v, s.Name) })
		if len(pods) > (voters-1)/2 {
			return false
		}
	}
	// A table that is denied to `system` may have all its copies in the zone.
	if db := &v.Observed.Database; !db.TablesKnown || !db.DeniedKnown || len(db.Denied) > 0 {
		return false
	}
	going, zones := map[string]bool{}, map[string]string{}
	for n := range model.Each(v.Observed.Database.Nodes) {
		if p := view.PodOf(v, n); p != nil {
			zones[n.ID] = Zone(v, p)
			going[n.ID] = slices.ContainsFunc(pods, func(ref model.PodRef) bool { return ref.Name == p.Name })
		}
	}
	needs, has := map[model.ShardID]bool{}, map[model.ShardID]bool{}
	for s := range model.Each(v.Observed.Database.Shards) {
		if going[s.Node] {
			needs[s.Of()] = true
		} else if other := zones[s.Node]; s.State == "STARTED" && other != "" && other != zone {
			has[s.Of()] = true
		}
	}
	for key := range needs {
		if !has[key] {
			return false
		}
	}
	return true
}
