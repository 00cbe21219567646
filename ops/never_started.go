package ops

// neverStarted: no data is on the volume of such a pod, and no node is known by its name. A pod
// whose process has started and whose node never joined has a claim that says whose it is, and
// no version that wrote to it; copies that were on their way to it are started elsewhere as long
// as the cluster is green. A claim with a version counts only where its group is gone from the
// definition and no node has come or gone for as long as a pod may take: nothing brings that node
// back. A process that still has time to come up may join at any moment, and is waited for.
func (t *turn) neverStarted(p *Pod) bool {
	if p == nil || p.Ready || !t.contact() || !t.absent(p.NodeName) {
		return false
	}
	if p.Started.IsZero() {
		return true
	}
	if !fails(p) && t.elapsed(up(p)) <= t.podLimit() {
		return false
	}
	for i := range t.o.Claims {
		if c := &t.o.Claims[i]; c.Set == p.Set && c.Ordinal == p.Ordinal {
			return c.ClusterID == t.r.ClusterID && (c.Version == "" || t.wanted(p.Set) == nil && t.sameLong())
		}
	}
	return false
}

// sayWhose writes on claims of nodes that are to leave and have never joined that they are
// this cluster's: the record of the grow that made them was lost before they had joined. A grow
// begins on no claim of anybody else's.
func (t *turn) sayWhose(s RecordedSet) {
	if !t.contact() || t.r.ClusterID == "" {
		return
	}
	for i := range t.o.Claims {
		c := &t.o.Claims[i]
		leaves := c.Set == s.Name && c.Ordinal >= t.target(s.Name) && c.Ordinal < s.Replicas
		if !leaves || c.ClusterID != "" || c.Version != "" {
			continue
		}
		if p := t.pod(c.Set, c.Ordinal); p != nil && t.neverJoined(p) {
			t.harmless(Action{Kind: ActionAnnotateClaim, Claim: c.Name, ClusterID: t.r.ClusterID})
		}
	}
}

// neverJoined: the pod's node has not joined in as long as a pod may take, and does not answer.
func (t *turn) neverJoined(p *Pod) bool {
	return !p.Ready && t.absent(p.NodeName) && t.answer(p.Name) == nil && t.elapsed(p.Created) > t.podLimit()
}
