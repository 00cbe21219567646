package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// With crate-operator, a version and more nodes in one change made the restart
// wait for the number of nodes that was desired, before they had been added.
func TestAnUpgradeWithAScaleWaitsForTheNodesThatThereAre(t *testing.T) {
	w := upgradable(t, wantedCluster(3))
	more := restartable(wantedCluster(5))
	more.Users = w.desired.Users
	w.desired = more
	to(w, "6.4.3")
	var order []string
	for range 300 {
		d, err := w.pass()
		require.NoError(t, err)
		for _, r := range d.Reports {
			if r.Reason == "UpgradeSucceeded" || r.Reason == "GrowStarted" {
				order = append(order, r.Reason)
			}
		}
		if w.record.Operation != nil && w.record.Operation.Kind == model.OperationUpgrade {
			require.Len(t, w.nodeNames(), 3, "it is made at the present size")
		}
	}
	assert.Equal(t, []string{"UpgradeSucceeded", "GrowStarted"}, order)
	assert.Len(t, w.nodeNames(), 5)
	checkUpgraded(t, w, "6.4.3")
}

// With crate-operator, taking an upgrade back brought the old definition back and
// left the new image in the StatefulSets.
func TestAnUpgradeThatIsTakenBackBringsTheOldImageBack(t *testing.T) {
	w := upgradable(t, tiered(3, 2))
	w.desired.Operations.RestartTimeout = 20 * model.DefaultPoll
	to(w, "6.4.3")
	w.bad[w.wanted()], w.unpullable[w.wanted()] = true, true
	w.until(func() bool { return w.record.Operation != nil && w.record.Operation.Step == model.StepStopped })
	_, err := w.pass()
	require.NoError(t, err)
	for set, template := range w.live {
		assert.Equal(t, "6.3.7", w.versionOf(template), "%s: whoever is evicted now comes back on what works", set)
	}
	to(w, "6.3.7")
	w.desired.ImageRegistry = "old/crate"
	w.run(200)
	checkUpgraded(t, w, "6.3.7")
	for name, p := range w.pods {
		assert.Equal(t, "6.3.7", w.versionOf(p.template), name)
	}
	assert.Zero(t, reported(w, "UpgradeSucceeded"), "it did not succeed")
	assert.True(t, slices.ContainsFunc(w.reports, func(r model.Report) bool { return r.Event == model.EventUpgrade && r.Status == model.StatusFailure }))
}
