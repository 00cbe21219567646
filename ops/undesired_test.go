package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// A write that timed out may be carried out after its group has gone out of the definition
// and has been forgotten, for nothing had been made of it.
func TestASetThatWasMadeUnseenAfterItsGroupWentIsRefusedOrLeaves(t *testing.T) {
	for _, c := range []struct {
		name    string
		consent []definition.Consent
		refused []string
		sets    int
	}{
		{"without consent it is told", nil, []string{"group-removal-consent"}, 2},
		{"with consent it goes", []definition.Consent{definition.ConsentRemoveGroup}, nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := wantedCluster(3)
			d.Sets = append(d.Sets, model.Set{Name: warm, Group: "warm", Data: true, Replicas: 1})
			w := newWorld(t, d)
			w.run(60)
			w.desired.Sets, w.record.Sets = w.desired.Sets[:1], w.record.Sets[:1]
			w.desired.Revision, w.desired.Operations.Consent = "rev-less", c.consent
			var last model.Decision
			for range 150 {
				var err error
				last, err = w.pass()
				require.NoError(t, err)
			}
			assert.Len(t, w.sets, c.sets)
			assert.Equal(t, c.refused, reasons(last.Refusals))
			assert.Len(t, w.record.Sets, c.sets)
		})
	}
}

// A new group of no nodes has a StatefulSet as any other: it is made before the grow ends, whatever comes next.
func TestAGrowEndsOnceEachStatefulSetOfItIsMade(t *testing.T) {
	w := newWorld(t, wantedCluster(3))
	w.run(60)
	w.desired.Sets = append(slices.Clone(w.desired.Sets), model.Set{Name: warm, Group: "warm", Data: true})
	w.desired.Sets[0].Replicas, w.desired.Revision = 2, "rev-next"
	w.desired.Operations.Consent = []definition.Consent{definition.ConsentTwoMasters}
	for range 20 {
		last, err := w.pass()
		require.NoError(t, err)
		if slices.ContainsFunc(last.Reports, func(r model.Report) bool { return r.Reason == "GrowSucceeded" }) {
			break
		}
	}
	assert.Len(t, w.sets, 2, "the StatefulSet of the new group")
	assert.Equal(t, 0, w.set(warm).Replicas)
}
