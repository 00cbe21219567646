package plan_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/plan"
)

// The steps of a shrink say what becomes of the filters of a table, and that they name nobody
// afterwards.
func TestThePlanOfAShrinkHasTheFiltersOfPinnedTables(t *testing.T) {
	from, to := basic(), basic()
	from.hot = 4
	to.operations = "consent: [extend-table-filters]"
	details := func(include, require map[string]string) (out []string, course plan.Course) {
		course = between(t, from, to, func(s *plan.Start) {
			data(s, "doc.pinned", "0", 1, 1, 10)
			table, db := &s.Observed.Database.Tables[0], &s.Observed.Database
			table.Include, table.Require, table.Filtered = include, require, true
			db.Shards[0].Node = db.Nodes[3].ID
			for i := range db.Nodes {
				db.Nodes[i].Attributes = map[string]string{"zone": map[bool]string{true: "b", false: "a"}[i%2 > 0]}
			}
		})
		for _, s := range course.Steps {
			if strings.HasSuffix(s.Action, "-in-table") {
				out = append(out, s.Action+" "+s.Target+": "+s.Detail)
			}
		}
		return out, course
	}
	got, course := details(map[string]string{"_name": "data-hot-3"}, nil)
	require.Empty(t, course.Refused)
	assert.Equal(t, []string{
		"exclude-in-table doc.pinned: during the drain include._name = 'data-hot-0,data-hot-1,data-hot-2' instead of include._name = 'data-hot-3'",
		"include-in-table doc.pinned: include._name = 'data-hot-3' as before the drain: it names only nodes that have left, so change it or reset it afterwards",
	}, got)
	assert.True(t, course.Done, "%v", course.Unknown)

	got, course = details(nil, map[string]string{"zone": "b"})
	assert.Equal(t, []string{
		"exclude-in-table doc.pinned: during the drain include._name = 'data-hot-1' instead of require.zone = 'b'",
		"include-in-table doc.pinned: require.zone = 'b' as before the drain",
	}, got)
	assert.True(t, course.Done, "%v", course.Unknown)

	to.operations = ""
	got, course = details(nil, map[string]string{"zone": "b"})
	assert.Empty(t, got)
	assert.Equal(t, []string{"table-filter-decides-alone"}, gates(course))
}

func TestThePlanOfAZoneThatLeavesNamesTheTablesWithCopiesThatStayBehind(t *testing.T) {
	from, to := basic(), basic()
	from.hot, to.operations = 4, "consent: [leave-zone]"
	zones := func(s *plan.Start) {
		data(s, "doc.three", "2", 4, 3, 50)
		data(s, "doc.two", "1", 4, 2, 50)
		db := &s.Observed.Database
		for i := range db.Nodes {
			db.Nodes[i].Attributes = map[string]string{"zone": string("abac"[i])}
		}
		db.Settings.Awareness = []string{"zone"}
	}
	course := between(t, from, to, zones)
	require.Equal(t, []string{"shrink"}, kinds(course), "%v", course.Refused)
	assert.Contains(t, course.Operations[0].Summary, "; they leave with copies of doc.three, each of which is started on a node that stays too, and CrateDB makes them again on other nodes")
	forced := between(t, from, to, func(s *plan.Start) {
		zones(s)
		s.Observed.Database.Settings.Forced = map[string][]string{"zone": {"a", "b", "c"}}
	})
	assert.Equal(t, []string{"last-node-of-zone"}, gates(forced))
}
