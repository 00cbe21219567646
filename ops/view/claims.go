package view

import (
	"iter"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/model"
)

// ClaimsOf are the claims of the pod of a set with this ordinal, whether it is there or not.
func ClaimsOf(v *View, set string, ordinal int) iter.Seq[*model.Claim] {
	return model.Where(v.Observed.Claims, func(c *model.Claim) bool { return c.Ordinal == ordinal && c.Set == set })
}

// DeletedClaim is the claim of a pod that somebody has deleted, and on whose volume CrateDB may
// have written; nil for none. Kubernetes keeps both as long as the pod is there: the next pod comes on
// an empty volume. Of several it is one that nobody has agreed to lose, if there is such a one.
func DeletedClaim(v *View, p *model.Pod) *model.Claim {
	var found *model.Claim
	for c := range going(v, p) {
		if found == nil || !c.Replace {
			found = c
		}
	}
	return found
}

// going are the claims of a pod that are being deleted, and whose volumes are not free. Of one whose template is not
// known a node may keep shards.
func going(v *View, p *model.Pod) iter.Seq[*model.Claim] {
	return model.Where(v.Observed.Claims, func(c *model.Claim) bool {
		its := c.Terminating && c.Ordinal == p.Ordinal && c.Set == p.Set
		return its && mayHoldShards(c) && !free(v, p, c)
	})
}

// mayHoldShards reports whether a claim is one of a disk for data: also where its template is not known.
func mayHoldShards(c *model.Claim) bool { return c.Template == "" || model.DataVolume(c.Template) }

// UnusedClaims are the claims on which CrateDB has written and that no node uses: of a disk that a pod came back without,
// or of a node that has left. A pod that is to come uses its claims.
func UnusedClaims(v *View) []string {
	return model.ClaimNames(v.Observed.Claims, func(c *model.Claim) bool {
		p, s := v.Pod(c.Set, c.Ordinal), Recorded(v.Record.Sets, c.Set)
		comes := p == nil && s != nil && c.Ordinal < s.Replicas
		inUse := comes || p != nil && p.Uses(c.Template)
		return mayHoldShards(c) && !c.Blank() && !inUse
	})
}

// createdTogether is how long before its first pod a claim is made at most. The controller makes the one right
// after the other, and Kubernetes counts in seconds.
const createdTogether = 2 * time.Second

// free reports whether a pod has nothing on the volume of a claim: it does without that disk and is not to
// have it, or CrateDB never started in the pod that the claim was made for. That nothing is noted on a claim
// says too little: a pod before this one may have gone before its claim said whose it is.
func free(v *View, p *model.Pod, c *model.Claim) bool {
	if p.Started.IsZero() && c.Blank() && (c.Phase == "Pending" || p.Created.Sub(c.Made) <= createdTogether) {
		return true
	}
	return model.InList(p.Unused, c.Template) && !slices.Contains(IsToUse(v, p), c.Template)
}

// FreeClaims are the claims that are being deleted and are free, separated by commas; "" for none.
func FreeClaims(v *View) string {
	return strings.Join(model.ClaimNames(v.Observed.Claims, func(c *model.Claim) bool {
		p := v.Pod(c.Set, c.Ordinal)
		return c.Terminating && p != nil && free(v, p, c)
	}), ",")
}

// DeletedClaims are the pods that have such a claim, with it.
func DeletedClaims(v *View) iter.Seq2[*model.Pod, *model.Claim] {
	return func(yield func(*model.Pod, *model.Claim) bool) {
		for p := range model.Each(v.Observed.Pods) {
			if c := DeletedClaim(v, p); c != nil && !yield(p, c) {
				return
			}
		}
	}
}

// ReplacesVolume reports whether a person has agreed that the volumes of a pod are replaced whose
// claims are being deleted: it is restarted for that, but not a pod that was made after the
// deletion. That one is on another claim, which the watch has not shown yet.
func ReplacesVolume(v *View, p *model.Pod) bool {
	c := DeletedClaim(v, p)
	return p.Ready && c != nil && c.Replace && !p.Created.After(c.Deleted)
}

// losesAnyVolume reports whether that is agreed of one of its volumes, whatever becomes of the others.
func losesAnyVolume(v *View, p *model.Pod) bool {
	for c := range going(v, p) {
		if c.Replace && !p.Created.After(c.Deleted) {
			return true
		}
	}
	return false
}

// FewVoters reports whether a pod is one of one or two master-eligible nodes: CrateDB lets an odd
// number vote, so that the others may not go on without its volume.
func FewVoters(v *View, p *model.Pod) bool {
	eligible := func(set string) bool {
		live := v.Live(set)
		return Votes(v, set) || live != nil && live.MasterEligible
	}
	return eligible(p.Set) && Total(v.Record.Sets, func(s model.RecordedSet) bool { return eligible(s.Name) }) < 3
}

// MajorityWithout reports whether most of the nodes that vote, an odd number, are members without the one
// in a pod, or it is none of them: its volume may then go with it, and the others elect a master.
func MajorityWithout(v *View, p *model.Pod) bool {
	all, members := 0, 0
	for _, q := range Expected(v, Voting(v)) {
		all++
		if q != nil && q.Name != p.Name && v.Member(q.NodeName) {
			members++
		}
	}
	return !Votes(v, p.Set) || members*2 > all-1+all%2
}

// DrainedForNewVolume is a pod whose node we have drained and exclude, and whose volume Kubernetes deletes with
// it; nil for none. The pod comes back on a new volume. Until then CrateDB may put no shard on it. No operation
// has to name it, for the record may be lost.
func DrainedForNewVolume(v *View) *model.Pod {
	for p := range excluded(v) {
		if ComesBack(v, p) && losesAnyVolume(v, p) {
			return p
		}
	}
	return nil
}

// ComesBack reports whether a pod that goes is to come back: it stays, or it lacks a disk, which all pods get before
// any of them leaves.
func ComesBack(v *View, p *model.Pod) bool {
	return p.Ordinal < Target(v, p.Set) || v.DesiredSet(p.Set) != nil && uneven(v, p)
}

// Refilled reports whether the only copy of a shard has come back to the node of such a pod: filters that others
// set can end the effect of an exclusion. The node has to be drained once more.
func Refilled(v *View) bool {
	p := DrainedForNewVolume(v)
	return p != nil && model.Any(v.Observed.Database.Nodes, func(n *model.Node) bool { return n.Name == p.NodeName && len(n.Sole) > 0 })
}

func excluded(v *View) iter.Seq[*model.Pod] {
	return model.Where(v.Observed.Pods, func(p *model.Pod) bool { return Excluded(v, p) })
}

// Excluded reports whether the node of a pod is a member that we exclude.
func Excluded(v *View, p *model.Pod) bool {
	return v.Record.Exclusions != nil && model.Any(v.Observed.Database.Nodes, func(n *model.Node) bool {
		return n.Name == p.NodeName && model.InList(v.Record.Exclusions.IDs, n.ID)
	})
}

// DrainedPods are the names of the pods that stay and whose nodes we exclude, joined by commas.
func DrainedPods(v *View) string {
	var out []string
	for p := range excluded(v) {
		if p.Ordinal < Target(v, p.Set) {
			out = append(out, p.Name)
		}
	}
	return strings.Join(out, ",")
}

// Drained is how many nodes of pods that stay take no copy, because we exclude them until their
// volumes are replaced: CrateDB counts no excluded node for a range of replicas.
func Drained(v *View) int {
	drained := 0
	for p := range excluded(v) {
		if s := Recorded(v.Record.Sets, p.Set); s != nil && p.Ordinal < s.Replicas && Data(v, *s) {
			drained++
		}
	}
	return drained
}
