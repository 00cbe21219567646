package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

func aSetStopped(w *world) bool {
	return slices.ContainsFunc(w.sets, func(s model.ObservedSet) bool { return s.Replicas == 0 })
}

// With crate-operator, each group had a health gate of its own: the first one to
// stop made the cluster red, and the second waited for green for ever.
func TestOneGateOverAllGroupsBeginsASuspensionAndNoneHoldsTheNextGroup(t *testing.T) {
	d := tiered(3, 2)
	w := newWorld(t, d)
	w.secrets["ada"].data["password"] = []byte("pw-ada")
	w.run(60)
	w.desired = at0(d)
	w.until(func() bool { return aSetStopped(w) })
	w.users["system"].password = "nobody answers any more"
	w.run(60)
	checkSuspended(t, w)
	assert.Equal(t, 1, reported(w, "SuspendSucceeded"))
}

// With crate-operator, a suspension waited for pods that were none of its own,
// and for a Deployment that was never there.
func TestASuspensionWaitsForTheClustersOwnNodesAndNothingElse(t *testing.T) {
	w := newWorld(t, wantedCluster(3))
	w.run(60)
	w.desired = at0(w.desired)
	w.until(func() bool { return aSetStopped(w) })
	require.NotNil(t, w.record.Operation)
	o := w.observe()
	o.Pods = []model.Pod{{Name: "crate-exporter-5d5bc-x2lqz", Set: "crate-exporter-5d5bc", Ordinal: -1, Ready: true}}
	d := ops.Decide(w.desired, o, w.record, model.Policy{}, w.now)
	assert.Nil(t, d.Record.Operation, "%v", d.Waits)

	o.Pods[0].Set, o.Pods[0].Ordinal, o.Pods[0].Terminating = hot, 2, true
	d = ops.Decide(w.desired, o, w.record, model.Policy{}, w.now)
	assert.NotNil(t, d.Record.Operation)
	assert.Contains(t, reasons(d.Waits), "pods-gone")
}

// With crate-operator, the second suspension took up the progress of the first,
// and the second resume came back with its counts.
func TestASuspensionBegunAgainTakesNothingFromTheOneBefore(t *testing.T) {
	w := newWorld(t, wantedCluster(3))
	w.run(60)
	for n, nodes := range []int{3, 4, 5} {
		w.desired = wantedCluster(nodes)
		w.run(100)
		checkResumed(t, w, nodes)
		w.desired = at0(w.desired)
		w.run(60)
		checkSuspended(t, w)
		assert.Equal(t, nodes, w.record.Suspended[0].Replicas)
		assert.Equal(t, n+1, reported(w, "SuspendStarted"))
		assert.Equal(t, n+1, reported(w, "SuspendSucceeded"))
	}
}

// The record was lost while the cluster was made, and the definition had got a group and was suspended: nothing of that
// group was ever made, nothing is made of it while the cluster is suspended, and the suspension waited for it.
func TestASuspensionStopsNothingOfAGroupThatWasNeverMade(t *testing.T) {
	with := wantedCluster(3)
	with.Sets = append(slices.Clone(with.Sets), model.Set{Name: "crate-data-warm-c", Group: "warm", Data: true, Replicas: 1})
	for name, desired := range map[string]model.Desired{"it comes after the resume": with, "it leaves the definition": wantedCluster(3)} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, wantedCluster(3))
			w.run(60)
			w.desired = at0(with)
			w.record.Sets = append(slices.Clone(w.record.Sets), model.RecordedSet{Name: "crate-data-warm-c", Group: "warm"})
			w.run(60)
			checkSuspended(t, w)
			assert.Equal(t, 1, reported(w, "SuspendSucceeded"))
			desired.Operations.Consent = []definition.Consent{definition.ConsentRemoveGroup}
			w.desired = desired
			w.run(300)
			checkResumed(t, w, 2+len(desired.Sets))
		})
	}
}
