package view

import (
	"iter"
	"slices"

	"stevedore.dev/stevedore/ops/model"
)

// DeletedClaim is the claim of a pod that somebody has deleted, and on whose volume CrateDB may
// have written; nil for none. Kubernetes keeps both as long as the pod is there: the next pod comes on
// an empty volume. Of several it is one that nobody has agreed to lose, if there is such a one.
func DeletedClaim(v *View, p *model.Pod) *model.Claim {
	var found *model.Claim
	for i := range v.Observed.Claims {
		c := &v.Observed.Claims[i]
		its := c.Terminating && c.Set == p.Set && c.Ordinal == p.Ordinal
		if blank := p.Started.IsZero() && c.Blank(); !its || blank || !holdsShards(c) {
			continue
		}
		if found == nil || !c.Replace {
			found = c
		}
	}
	return found
}

// DeletedClaims are the pods that have such a claim, with it.
func DeletedClaims(v *View) iter.Seq2[*model.Pod, *model.Claim] {
	return func(yield func(*model.Pod, *model.Claim) bool) {
		for i := range v.Observed.Pods {
			if c := DeletedClaim(v, &v.Observed.Pods[i]); c != nil && !yield(&v.Observed.Pods[i], c) {
				return
			}
		}
	}
}

// holdsShards reports whether the volume of a claim is one on which a node keeps shards, or it is
// not known of which template it is.
func holdsShards(c *model.Claim) bool { return c.Template == "" || model.DataVolume(c.Template) }

// ReplacesVolume reports whether a person has agreed that the volumes of a pod are replaced whose
// claims are being deleted: it is restarted for that, but not a pod that was made after the
// deletion. That one is on another claim, which the watch has not shown yet.
func ReplacesVolume(v *View, p *model.Pod) bool {
	c := DeletedClaim(v, p)
	return c != nil && c.Replace && p.Ready && !p.Created.After(c.Deleted)
}

// FewVoters reports whether a pod is one of one or two master-eligible nodes: CrateDB lets an odd
// number vote, so that the others may not go on without its volume.
func FewVoters(v *View, p *model.Pod) bool {
	eligible := func(set string) bool {
		live := v.Live(set)
		return Votes(v, set) || live != nil && live.MasterEligible
	}
	voters := 0
	for _, s := range v.Record.Sets {
		if eligible(s.Name) {
			voters += s.Replicas
		}
	}
	return eligible(p.Set) && voters < 3
}

// Doomed is a pod that stays, whose node we have drained and exclude, and whose volume goes with it;
// nil for none. Until it has gone nothing comes back to it. No operation has to name it, for the
// record may be lost.
func Doomed(v *View) *model.Pod {
	x := v.Record.Exclusions
	if x == nil {
		return nil
	}
	ids := model.Listed(x.IDs)
	for i := range v.Observed.Pods {
		p := &v.Observed.Pods[i]
		drained := func(n model.Node) bool { return n.Name == p.NodeName && slices.Contains(ids, n.ID) }
		if p.Ordinal < Target(v, p.Set) && ReplacesVolume(v, p) && slices.ContainsFunc(v.Observed.Database.Nodes, drained) {
			return p
		}
	}
	return nil
}

// Drained is how many nodes of pods that stay take no copy, because we exclude them until their
// volumes are replaced: CrateDB counts no excluded node for a range of replicas.
func Drained(v *View) int {
	if v.Record.Exclusions == nil {
		return 0
	}
	drained, ids := 0, model.Listed(v.Record.Exclusions.IDs)
	for i := range v.Observed.Pods {
		p := &v.Observed.Pods[i]
		s := Recorded(v.Record.Sets, p.Set)
		if s == nil || p.Ordinal >= s.Replicas || !Data(v, *s) {
			continue
		}
		for k := range v.Observed.Database.Nodes {
			if n := &v.Observed.Database.Nodes[k]; n.Name == p.NodeName && slices.Contains(ids, n.ID) {
				drained++
			}
		}
	}
	return drained
}
