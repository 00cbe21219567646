package ops_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/setting"
	"stevedore.dev/stevedore/render/definition"
)

const (
	pinned = "doc.pinned"
	leaver = cold + "/2"
)

// hold has the StatefulSets say what the decisions of this record write on them.
func (s *situation) hold() {
	for i := range s.o.Sets {
		for _, e := range s.decide().Effective.Sets {
			if e.Name == s.o.Sets[i].Name {
				s.o.Sets[i].Hold = e.Hold
			}
		}
	}
	s.o.Applied = model.Applied{Revision: s.d.Revision, Effective: s.decide().Effective}
}

// drainsPinned is a drain that has excluded its nodes, of a cluster with a table that may only be
// on one of them.
func drainsPinned(t *testing.T, tables ...model.Table) *situation {
	s := drainable(t)
	s.d.Operations.Consent = append(s.d.Operations.Consent, definition.ConsentExtendTableFilters)
	for _, table := range tables {
		table.Replicas, table.Filtered, table.TotalShardsPerNode = "0", true, -1
		s.o.Database.Tables = append(s.o.Database.Tables, table)
	}
	d := s.decide()
	require.NotNil(t, d.Record.Exclusions, "waits %v, refusals %v", d.Waits, d.Refusals)
	s.r = d.Record
	s.hold()
	s.o.Database.Settings.Exclude = map[string]string{"_id": d.Record.Exclusions.IDs}
	return s
}

func table(s *situation) *model.Table { return &s.o.Database.Tables[len(s.o.Database.Tables)-1] }

func action(d *model.Decision, kind model.ActionKind) *model.Action {
	for _, a := range d.Actions() {
		if a.Kind == kind {
			return &a
		}
	}
	return nil
}

// A table whose include or require names a node that leaves goes by consent: for the drain its
// filters name the nodes that stay, and they are given back as they were.
func TestATableThatIsPinnedToALeavingNodeIsChangedForTheDrainAndGivenBack(t *testing.T) {
	s := drainsPinned(t, model.Table{Name: pinned, Include: map[string]string{"_name": leaver}})
	want := s.r.Exclusions.Tables
	require.Len(t, want, 1)
	assert.Equal(t, model.SettingList("include._name="+leaver), want[0].Filters)
	during, _ := want[0].Drain.Get(model.NameFilter)
	require.NotEmpty(t, during)
	assert.NotContains(t, during, leaver)
	assert.Equal(t, []string{pinned}, s.r.Operation.Shrink.Pinned)

	d := s.decide()
	a := action(&d, model.ActionExcludeInTable)
	require.NotNil(t, a, "waits %v, refusals %v", d.Waits, d.Refusals)
	assert.Equal(t, []any{pinned, want[0].Drain, want[0].Filters}, []any{a.Table, a.Settings, a.Expected})

	table(s).Include = map[string]string{"_name": during}
	d = s.decide()
	assert.Nil(t, action(&d, model.ActionExcludeInTable), "it is set")
	assert.Empty(t, d.Refusals)

	for _, lost := range []bool{false, true} {
		back := *s
		if lost {
			// What is recorded is lost: the StatefulSet says it.
			back.r = model.Record{}
			back.d.Abort = true
			d = back.decide()
			require.NotNil(t, d.Record.Exclusions)
			assert.Equal(t, want, d.Record.Exclusions.Tables)
		}
		back.d.Abort = true
		d = back.decide()
		a = action(&d, model.ActionIncludeInTable)
		require.NotNil(t, a, "lost %t: waits %v", lost, d.Waits)
		assert.Equal(t, []any{pinned, want[0].Filters, want[0].Drain}, []any{a.Table, a.Settings, a.Expected})
		assert.Nil(t, action(&d, model.ActionIncludeNodes), "the tables come first")
		next := ops.RecordResult(d.Record, *a, model.Result{}, back.o.At)
		assert.Empty(t, next.Exclusions.Tables)
	}
}

// What somebody sets of such a table during the drain is left, and the drain says so where it keeps
// shards on the nodes that leave.
func TestFiltersThatSomebodySetsDuringADrainAreLeft(t *testing.T) {
	for _, c := range []struct {
		name    string
		include map[string]string
		require map[string]string
		again   bool // ours is set again
		refused []string
	}{
		{"as it was before", map[string]string{"_name": leaver}, nil, true, nil},
		{"another leaving node", map[string]string{"_name": cold + "/1"}, nil, false, []string{"table-filter-decides-alone"}},
		{"a node that stays", map[string]string{"_name": hot + "/0"}, nil, false, nil},
		{"none any more", nil, nil, false, nil},
		{"a require of a leaving node beside it", map[string]string{"_name": leaver}, map[string]string{"_name": leaver}, false, []string{"table-filter-decides-alone"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := drainsPinned(t, model.Table{Name: pinned, Include: map[string]string{"_name": leaver}})
			table(s).Include, table(s).Require = c.include, c.require
			d := s.decide()
			assert.Equal(t, c.again, action(&d, model.ActionExcludeInTable) != nil)
			assert.Equal(t, c.refused, reasons(d.Refusals))
		})
	}
}

// A partitioned table changes as a whole, where one partition lacks the filters too.
func TestAPartitionedTableIsChangedAsAWhole(t *testing.T) {
	include := map[string]string{"_name": leaver}
	s := drainsPinned(t, model.Table{Name: pinned + " partition a", Of: pinned, Partition: "a", Include: include}, model.Table{Name: pinned + " partition b", Of: pinned, Partition: "b", Include: include})
	require.Len(t, s.r.Exclusions.Tables, 1)
	during, _ := s.r.Exclusions.Tables[0].Drain.Get(model.NameFilter)
	s.o.Database.Tables[len(s.o.Database.Tables)-2].Include = map[string]string{"_name": during}
	d := s.decide()
	a := action(&d, model.ActionExcludeInTable)
	require.NotNil(t, a)
	assert.Equal(t, pinned, a.Table)
	table(s).Include = map[string]string{"_name": during}
	s.o.Database.Partitioned = []model.Table{{Name: pinned, Include: include, Filtered: true}}
	d = s.decide()
	assert.NotNil(t, action(&d, model.ActionExcludeInTable), "what new partitions are made with")
	s.o.Database.Partitioned[0].Include = map[string]string{"_name": during}
	d = s.decide()
	assert.Nil(t, action(&d, model.ActionExcludeInTable))
}

// A record, or an annotation, of a release before has exclude lists only.
func TestAnExclusionOfAReleaseBeforeIsRead(t *testing.T) {
	x := model.Exclusions{Set: cold, IDs: "a,b", Tables: []model.TableExclusion{{Name: "doc.t", Before: "theirs"}}}
	assert.Equal(t, `{"before":"","cluster.routing.allocation.exclude._id":"a,b","tables":"[{\"name\":\"doc.t\",\"before\":\"theirs\"}]"}`, setting.ExclusionsAnnotation(&x))
	var read model.Exclusions
	require.NoError(t, json.Unmarshal([]byte(`{"set":"`+cold+`","ids":"a,b","before":"","tables":[{"name":"doc.t","before":"theirs"}]}`), &read))
	assert.Equal(t, x, read)
}

// A require that somebody adds decides alone, whatever list of names the drain has set.
func TestARequireThatSomebodyAddsDuringADrainIsSeen(t *testing.T) {
	s := drainsPinned(t, model.Table{Name: pinned, Include: map[string]string{"_name": leaver}})
	during, _ := s.r.Exclusions.Tables[0].Drain.Get(model.NameFilter)
	table(s).Include, table(s).Require = map[string]string{"_name": during}, map[string]string{"_name": leaver}
	d := s.decide()
	assert.Equal(t, []string{"table-filter-decides-alone"}, reasons(d.Refusals))
	assert.Nil(t, action(&d, model.ActionExcludeInTable))
}

// A table that is made, or gets filters, during the drain joins it: first in the record and on the
// StatefulSet. Without the consent the drain is refused by name.
func TestATableThatIsPinnedDuringADrainJoinsIt(t *testing.T) {
	first := model.Table{Name: "doc.first", Include: map[string]string{"_name": leaver}}
	late := model.Table{Name: pinned, Replicas: "0", Filtered: true, TotalShardsPerNode: -1, Require: map[string]string{"_name": leaver}}
	s := drainsPinned(t, first)
	during, _ := s.r.Exclusions.Tables[0].Drain.Get(model.NameFilter)
	table(s).Include = map[string]string{"_name": during}
	s.r = s.decide().Record
	require.Equal(t, model.StepDrain, s.r.Operation.Step)
	s.o.Database.Tables = append(s.o.Database.Tables, late)

	d := s.decide()
	require.Len(t, d.Record.Exclusions.Tables, 2)
	assert.Equal(t, model.SettingList("include._name=\nrequire._name="+leaver), d.Record.Exclusions.Tables[1].Filters)
	assert.Contains(t, d.Record.Operation.Shrink.Pinned, pinned)
	assert.Nil(t, action(&d, model.ActionExcludeInTable), "the StatefulSet says it first")
	assert.Nil(t, d.Disruptive)
	s.r = d.Record
	d = s.decide()
	assert.Nil(t, action(&d, model.ActionExcludeInTable), "the StatefulSet does not say it yet")
	s.hold()
	d = s.decide()
	require.NotNil(t, action(&d, model.ActionExcludeInTable))
	assert.Equal(t, pinned, action(&d, model.ActionExcludeInTable).Table)

	s.d.Operations.Consent = nil
	s.r.Exclusions.Tables = s.r.Exclusions.Tables[:1]
	s.hold()
	d = s.decide()
	assert.Equal(t, []string{"table-filter-decides-alone"}, reasons(d.Refusals))
	assert.Nil(t, d.Disruptive)
	s.o.Database.Tables = s.o.Database.Tables[:len(s.o.Database.Tables)-1]
	d = s.decide()
	assert.Empty(t, d.Refusals, "the cure: the table lets the node go")
}

// A transient value hides the exclusions while tables have the filters of the drain: these are given
// back all the same.
func TestATransientExclusionDuringADrainLosesNoFilters(t *testing.T) {
	s := drainsPinned(t, model.Table{Name: pinned, Include: map[string]string{"_name": leaver}})
	s.o.Database.Settings.Exclude = map[string]string{"_id": "somebodys"}
	d := s.decide()
	a := action(&d, model.ActionExcludeNodes)
	require.NotNil(t, a)
	s.r = ops.RecordResult(d.Record, *a, model.Result{Code: model.ResultHidden}, s.o.At)
	require.NotNil(t, s.r.Exclusions)
	require.Len(t, s.r.Exclusions.Tables, 1)
	d = s.decide()
	a = action(&d, model.ActionIncludeInTable)
	require.NotNil(t, a, "waits %v, refusals %v", d.Waits, d.Refusals)
	s.r = ops.RecordResult(d.Record, *a, model.Result{}, s.o.At)
	d = s.decide()
	a = action(&d, model.ActionIncludeNodes)
	require.NotNil(t, a)
	s.r = ops.RecordResult(d.Record, *a, model.Result{}, s.o.At)
	assert.Nil(t, s.r.Exclusions)
	s.r = s.decide().Record
	s.hold()
	d = s.decide()
	assert.Equal(t, []string{"exclusion-hidden"}, reasons(d.Refusals), "and it is said by name")
}

// A table that system may not see is not gone: what it had is given back once it is seen. Those that
// are seen do not wait for it.
func TestFiltersOfAHiddenTableAreGivenBackOnceItIsSeen(t *testing.T) {
	include := map[string]string{"_name": leaver}
	s := drainsPinned(t, model.Table{Name: "doc.a", Include: include}, model.Table{Name: pinned, Include: include})
	require.Len(t, s.r.Exclusions.Tables, 2)
	tables := s.o.Database.Tables
	n := len(tables)
	s.o.Database.Tables = append(tables[:n-2:n-2], tables[n-1])
	s.o.Database.Denied = []model.Denial{{Grantee: "system", Privilege: "DQL", Class: "SCHEMA", Ident: "doc"}}
	s.d.Abort = true
	d := s.decide()
	a := action(&d, model.ActionIncludeInTable)
	require.NotNil(t, a)
	assert.Equal(t, pinned, a.Table)
	s.r = ops.RecordResult(d.Record, *a, model.Result{}, s.o.At)
	d = s.decide()
	assert.Nil(t, action(&d, model.ActionIncludeInTable))
	assert.Len(t, d.Record.Exclusions.Tables, 1)
	s.o.Database.DeniedKnown, s.o.Database.Denied = false, nil
	d = s.decide()
	assert.Nil(t, action(&d, model.ActionIncludeInTable), "it is not known")
	s.o.Database.DeniedKnown = true
	d = s.decide()
	a = action(&d, model.ActionIncludeInTable)
	require.NotNil(t, a, "it was dropped")
	assert.Equal(t, "doc.a", a.Table)
}

// Nothing else is said of a cluster that is released, and a person has to know what keeps the filter.
func TestAReleasedClusterSaysThatAHiddenTableKeepsItsFilter(t *testing.T) {
	for name, lets := range map[string]func(*situation){
		"paused":   func(s *situation) { s.d.Paused = true },
		"released": func(s *situation) { s.d.Released = true },
		"removed":  func(s *situation) { s.d.Removed = true },
	} {
		t.Run(name, func(t *testing.T) {
			s := drainsPinned(t, model.Table{Name: pinned, Include: map[string]string{"_name": leaver}})
			s.o.Database.Tables = s.o.Database.Tables[:len(s.o.Database.Tables)-1]
			s.o.Database.Denied = []model.Denial{{Grantee: "system", Privilege: "DQL", Class: "SCHEMA", Ident: "doc"}}
			lets(s)
			d := s.decide()
			assert.Nil(t, action(&d, model.ActionIncludeInTable))
			assert.Contains(t, reasons(d.Waits), "system-denied")
			assert.Equal(t, "SystemDenied", d.Reports[len(d.Reports)-1].Reason)
			s.r = d.Record
			d = s.decide()
			assert.Contains(t, reasons(d.Waits), "system-denied")
			assert.Empty(t, d.Reports, "it is reported once")
		})
	}
}

// The last look counts each table with filters of its own, each partition, and the partitioned
// table itself: a decision that counted less was refused by it for ever.
func TestAPartitionedTableWithFiltersIsCountedForTheLastLook(t *testing.T) {
	w := drained(t)
	w.now = w.now.Add(time.Second)
	o := w.observe()
	o.Database.Partitioned = []model.Table{{Name: pinned, Replicas: "0", Filtered: true, TotalShardsPerNode: -1, Include: map[string]string{"_name": hot + "/0"}}}
	d := ops.Decide(w.desired, o, w.record, model.Policy{}, w.now)
	require.NotNil(t, d.Disruptive, "waits %v, refusals %v", d.Waits, d.Refusals)
	assert.Equal(t, 1, d.Disruptive.Filtered)
}
