package ops

import (
	"slices"
	"strings"
)

// zoneAttribute is node.attr.zone, which the pods' command gives.
const zoneAttribute = "zone"

// zone of a pod, by its label or by what its node says; "" when it is not known.
func (t *turn) zone(p *Pod) string {
	if p.Zone != "" {
		return p.Zone
	}
	for i := range t.o.Database.Nodes {
		if n := &t.o.Database.Nodes[i]; n.Name == p.NodeName {
			return n.Attributes[zoneAttribute]
		}
	}
	return ""
}

// together are the pods that go down with p, p among them, and their zone; none
// where it goes alone. Alone go dedicated masters, the first pod on a template
// that no other one has proven, and all where the zone is not known or the rest
// could not do without the whole of it.
func (t *turn) together(set string, p *Pod) (string, []PodRef) {
	zone, live, s := t.zone(p), t.live(set), recorded(t.r.Sets, set)
	if t.d.Operations.RestartBy != "zone" || zone == "" || live == nil || s == nil || t.unready(p) {
		return "", nil
	}
	proven := p.Template == live.Template
	var pods []PodRef
	for i := range t.o.Pods {
		q := &t.o.Pods[i]
		switch {
		case q.Set != set || q.Ordinal >= s.Replicas:
		case t.outdated(q):
			if t.zone(q) == zone {
				pods = append(pods, PodRef{Name: q.Name, UID: q.UID})
			}
		case q.Template == live.Template && t.joined(q):
			proven = true
		}
	}
	if len(pods) < 2 || !proven || !t.maySpare(set, zone, pods) {
		return "", nil
	}
	slices.SortFunc(pods, func(a, b PodRef) int { return strings.Compare(a.Name, b.Name) })
	return zone, pods
}

// maySpare is true when a majority of those that vote stays, and when each shard
// with a copy on the pods has a started one in another zone.
func (t *turn) maySpare(set, zone string, pods []PodRef) bool {
	w := t.wanted(set)
	if w == nil || w.Dedicated {
		return false
	}
	if w.MasterEligible {
		voters := 0
		for i := range t.r.Sets {
			if v := t.wanted(t.r.Sets[i].Name); v != nil && v.MasterEligible {
				voters += t.r.Sets[i].Replicas
			}
		}
		// CrateDB lets an odd number vote, and any of them may be among the pods.
		if len(pods) > (voters-1)/2 {
			return false
		}
	}
	if !t.o.Database.TablesKnown {
		return false
	}
	going, zones := map[string]bool{}, map[string]string{}
	for i := range t.o.Pods {
		p := &t.o.Pods[i]
		for j := range t.o.Database.Nodes {
			if n := &t.o.Database.Nodes[j]; n.Name == p.NodeName {
				zones[n.ID] = t.zone(p)
				going[n.ID] = slices.ContainsFunc(pods, func(ref PodRef) bool { return ref.Name == p.Name })
			}
		}
	}
	type shard struct {
		table string
		id    int
	}
	needs, has := map[shard]bool{}, map[shard]bool{}
	for i := range t.o.Database.Shards {
		s := &t.o.Database.Shards[i]
		key := shard{s.Table, s.ID}
		if going[s.Node] {
			needs[key] = true
		} else if other := zones[s.Node]; s.State == "STARTED" && other != "" && other != zone {
			has[key] = true
		}
	}
	for key := range needs {
		if !has[key] {
			return false
		}
	}
	return true
}

// zoneStands is true while all that go together are still there and may go.
func (t *turn) zoneStands(r *Restart) bool {
	if len(r.Pods) == 0 {
		return true // one goes alone
	}
	for _, ref := range r.Pods {
		p := t.named(ref.Name)
		if p == nil || p.UID != ref.UID || p.Terminating || !t.outdated(p) || t.zone(p) != r.Zone {
			return false
		}
	}
	return t.maySpare(r.Set, r.Zone, r.Pods)
}

func (t *turn) deleteZone(r *Restart) {
	refs := make([]string, 0, len(r.Pods))
	for _, ref := range r.Pods {
		refs = append(refs, ref.Name+"/"+ref.UID)
	}
	t.d2.Disruptive = &Action{
		Kind: ActionRestartZone, Zone: r.Zone, Pod: r.Pod, Pods: strings.Join(refs, ","), SystemSecret: t.systemSecret(),
		Allocation: heldAllocation, Members: t.members(), Green: t.o.Database.Health.Colour == Green, Whole: t.o.Database.asHealthy(),
	}
}

// zoneDownStep waits until the pods have gone, are back and have joined. One that
// a kill has left standing stays outdated, and goes with a later turn.
func (t *turn) zoneDownStep(op *Operation) {
	r := op.Restart
	var back []string
	standing, waits, state, mends := 0, "", "", true
	for _, ref := range r.Pods {
		p := t.named(ref.Name)
		switch {
		case p != nil && p.UID == ref.UID && !p.Terminating:
			standing++
		case p != nil && p.UID != ref.UID && t.joined(p):
			back = append(back, p.UID)
		default:
			mends = mends && p != nil && p.UID != ref.UID && t.mayMend(p)
			if waits == "" {
				waits, state = ref.Name, t.state(ref.Name, p)
			}
		}
	}
	switch {
	case standing == len(r.Pods):
		// It was decided and was not done, or is not seen yet.
		if p := t.named(r.Pod); t.blocked || t.r.Hold == nil || p == nil || !t.zoneStands(r) || t.podWaits(op, p, heldAllocation) {
			op.Step = StepReturn
			return
		}
		t.deleteZone(r)
	case waits == "" || standing == 0 && mends && !t.blocked:
		// All are back, or another definition may make the rest ready.
		r.Done = append(slices.Clone(r.Done), back...)
		op.Step = StepReturn
	default:
		if state == "" {
			state = "it is ready, and its node has not joined yet"
		}
		t.wait(podReturns(waits, state, t.named(waits)))
		t.sayAway(waits)
	}
}
