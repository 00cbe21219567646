package rollout

import (
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// claimsWait: an upgrade would stop at a pod whose claim is being deleted. It does not begin: a
// cluster does not stay on two versions for long, and nodes that the remedy may need come after an
// upgrade. What else the gate asks is asked when it is the pod's turn.
func claimsWait(t *pass.Pass) bool {
	for p, c := range view.DeletedClaims(&t.View) {
		switch n := view.NodeNamed(&t.View, p.NodeName); {
		case !c.Replace:
			t.Wait(gates.ClaimBeingDeleted(c.Name, p.Name, gates.NobodyAgreed))
		case view.FewVoters(&t.View, p):
			t.Wait(gates.ClaimBeingDeleted(c.Name, p.Name, gates.FewVoters))
		case n != nil && len(n.Sole) > 0:
			t.Wait(gates.ClaimBeingDeleted(c.Name, p.Name, gates.SoleCopiesOn(n.Sole)))
		default:
			continue
		}
		return true
	}
	return false
}

// claimKeeps says why a pod whose node is no member stays with its volume; "" where no claim of it
// is being deleted, or where it may go: a person has agreed, and each shard has a started primary
// without it. Then nothing waits for what is on the volume.
func claimKeeps(v *view.View, p *model.Pod) (claim, why string) {
	c, db := view.DeletedClaim(v, p), &v.Observed.Database
	switch {
	case c == nil:
		return "", ""
	case !c.Replace:
		why = gates.NobodyAgreed
	case !view.HasMaster(v), db.Recovered != model.Yes, !view.Absent(v, p.NodeName), v.SQLPod() == "", red(&db.Health), red(&db.ClusterHealth), db.Health.Colour == model.ColourUnknown:
		why = gates.NotProven
	case !db.DeniedKnown, len(db.Denied) > 0:
		why = gates.CopiesHidden
	case !view.MajorityWithout(v, p):
		why = gates.NotProven
	}
	return c.Name, why
}

func red(h *model.Health) bool { return h.Colour == model.Red || h.Missing > 0 }

// sayKeptVolumes names the stuck pods that stay with their volumes.
func sayKeptVolumes(t *pass.Pass) {
	for p := range view.DeletedClaims(&t.View) {
		if claim, why := claimKeeps(&t.View, p); why != "" && !p.Ready && !p.Terminating {
			t.Wait(gates.ClaimBeingDeleted(claim, p.Name, why))
		}
	}
}
