package ops

import (
	"strings"

	"stevedore.dev/stevedore/ops/gates"
)

// refuse names what is wanted of the StatefulSets and is not done. With one of
// these, all of them stay as they were last effective: half of a change would
// be a state that nobody asked for.
func (t *turn) refuse() {
	before := len(t.d2.Refusals)
	t.park()
	if len(t.r.Sets) > 0 && !t.parked && !t.standsStill() {
		t.refuseSets()
	}
	if len(t.r.Sets) > 0 && !t.parked {
		t.refuseTemplates()
	}
	t.blocked = len(t.d2.Refusals) > before

	// These keep no StatefulSet from anything.
	for i := range t.o.Sets {
		live := &t.o.Sets[i]
		if t.shrinking() && t.r.Operation.Shrink.Set == live.Name && live.Replicas <= t.r.Operation.Shrink.Before {
			continue // it is about to be made smaller
		}
		if s := recorded(t.r.Sets, live.Name); s != nil && live.Ours && live.Replicas > s.Replicas && !t.suspending() {
			if w := t.wanted(live.Name); w == nil || w.Replicas < live.Replicas {
				t.refusal(gates.Raised(live.Name, live.Replicas, s.Replicas))
			}
		}
	}
}

func licenceName(k *SecretKey) string {
	if k == nil {
		return ""
	}
	return k.Name + "/" + k.Key
}

func (t *turn) refuseTemplates() {
	if reason, refused := gates.ClusterName(t.r.ClusterName, t.d.ClusterName); refused {
		t.refusal(reason)
	}
	if reason, refused := gates.TLS(t.r.TLS, t.d.TLS); refused && t.r.Version != "" {
		t.refusal(reason)
	}
	t.refuseVersion()
	for _, c := range t.d.Changes {
		switch c.Class {
		case ChangeVolumes:
			t.refusal(gates.Volumes(c.Set, c.Path, c.Old, c.New, t.unstarted() && t.neverBound(c.Set)))
		case ChangeImmutable:
			t.refusal(gates.Immutable(c.Set, c.Path, c.Old, c.New))
		case ChangeRestart:
			if strings.HasPrefix(c.Path, "spec.updateStrategy") {
				t.refusal(gates.UpdateStrategy(c.Set, c.Path))
			}
		}
	}
}

// neverBound is true where each claim of a set still waits for a volume: none can have data.
func (t *turn) neverBound(set string) bool {
	claims := 0
	for i := range t.o.Claims {
		if c := &t.o.Claims[i]; c.Set == set {
			if c.Phase != "Pending" {
				return false
			}
			claims++
		}
	}
	return claims > 0
}

// unstarted is true while no node of the cluster has ever started CrateDB: a
// definition that could not start may then be repaired without a restart.
func (t *turn) unstarted() bool {
	return t.r.HighestVersion == "" && t.r.ClusterID == "" && !t.r.Bootstrap.Done && t.o.Database.Contact != Yes
}
