package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/plan"
)

// The plan said it twice, with the shards of before the drain and with those of after it.
func TestTheDrainOfAGroupThatIsRemovedIsSaidOnce(t *testing.T) {
	from := basic()
	from.cold = 1
	to := basic()
	to.operations = "consent: [remove-group]"
	course := between(t, from, to, func(s *plan.Start) { data(s, "doc.a", "0", 8, 1, 10) })
	text := ""
	for _, op := range course.Operations {
		text += op.Summary + "\n"
	}
	assert.Empty(t, course.Refused)
	assert.Equal(t, 1, strings.Count(text, "drain data-cold-0: 2 shards"), text)
	assert.Equal(t, 1, strings.Count(text, "drain data-cold-0"), text)
}

// Of a node that had just joined the plan said "0 shards", as the reading of the moment before did.
func TestADrainIsNotSaidInNumbersOfAnotherMoment(t *testing.T) {
	from := basic()
	from.hot = 4
	for name, course := range map[string]plan.Course{
		"shards moved when it was read": between(t, from, basic(), func(s *plan.Start) { data(s, "doc.a", "1", 4, 2, 10); s.Outdated = true }),
		"the tables were not read":      between(t, from, basic(), func(s *plan.Start) { s.Observed.Database.TablesKnown = false }),
	} {
		require.Equal(t, []string{"shrink"}, kinds(course), name)
		assert.Contains(t, course.Operations[0].Summary, "drain data-hot-3: how many shards move, and whether they fit, is not known", name)
	}
}

// Of a new cluster, which has no table yet, the plan said that the number of shards was not known.
func TestADrainOfAClusterWithoutShardsSaysSo(t *testing.T) {
	from := basic()
	from.hot = 4
	read := func(s *plan.Start) { s.Observed.Database.TablesKnown = true }
	course := between(t, from, basic(), read)
	require.Equal(t, []string{"shrink"}, kinds(course))
	assert.Contains(t, course.Operations[0].Summary, "drain data-hot-3: there are no shards to move; a node leaves when it is empty")
	for name, change := range map[string]func(s *plan.Start){
		"shards moved when it was read":    func(s *plan.Start) { s.Outdated = true },
		"the tables were not read":         func(s *plan.Start) { s.Observed.Database.TablesKnown = false },
		"the shards are left out, of size": func(s *plan.Start) { s.Observed.Database.Nodes[0].Shards = 2 },
	} {
		course := between(t, from, basic(), func(s *plan.Start) { read(s); change(s) })
		assert.Contains(t, course.Operations[0].Summary, "drain data-hot-3: how many shards move, and whether they fit, is not known", name)
	}
}

// Drains of nodes that stay say how many bytes move in all, and how full the others are meanwhile; "0 B" only where that is so.
func TestAReplacementOfVolumesSaysWhatMovesAndWhetherItFits(t *testing.T) {
	from, to := basic(), basic()
	from.operations = "consent: [delete-volumes]"
	to.operations, to.diskSize = from.operations, "32GiB"
	filled := func(s *plan.Start) {
		data(s, "doc.items", "1", 6, 2, 1<<30)
		for i := range s.Observed.Database.Nodes {
			s.Observed.Database.Nodes[i].DiskSize, s.Observed.Database.Nodes[i].DiskUsed = 64<<30, 5<<30
		}
	}
	course := between(t, from, to, filled)
	require.Equal(t, []string{"replace-volumes"}, kinds(course))
	op := course.Operations[0]
	assert.Regexp(t, `3 nodes are drained in place \([1-9][0-9]* GiB move; the other nodes are at [1-9][0-9]* % of the low watermark at most meanwhile\), each empty one loses its old claims`, op.Summary)
	assert.Contains(t, op.Estimate.Basis, " GiB to move, at ")

	course = between(t, from, to, func(s *plan.Start) { filled(s); s.Outdated = true })
	op = course.Operations[0]
	assert.Contains(t, op.Summary, "(how many bytes move, and whether they fit, is not known)")
	assert.Contains(t, op.Estimate.Basis, "what the drains take is not known, and not counted")
}

// A suspension has a time: without one the plan had no sum.
func TestASuspensionHasATime(t *testing.T) {
	to := basic()
	to.hot, to.operations = 0, "consent: [suspend]"
	course := between(t, basic(), to, nil)
	require.Equal(t, []string{"suspend"}, kinds(course))
	require.NotNil(t, course.Operations[0].Estimate)
	assert.Equal(t, "all nodes stop at the same time, and a pod has 20m for it", course.Operations[0].Estimate.Basis)
	assert.Equal(t, 20*time.Minute, time.Duration(course.Operations[0].Estimate.Most))
}

// The gate was one of the model, just after a start: no shard was missing on the basis.
func TestAResumeHasATimeAndItsGatesDoNotContradictThemselves(t *testing.T) {
	suspended := basic()
	suspended.hot, suspended.operations = 0, "consent: [suspend]"
	to := basic()
	to.memory = "8Gi"
	course := between(t, suspended, to, nil)
	require.Contains(t, kinds(course), "resume")
	for _, op := range course.Operations {
		if op.Kind == "resume" {
			require.NotNil(t, op.Estimate)
			assert.Equal(t, "all nodes start at the same time", op.Estimate.Basis)
		}
		for _, gate := range op.Gates {
			assert.NotContains(t, gate.Message, "0 shards missing and 0 without all their copies", op.Kind)
		}
	}
}
