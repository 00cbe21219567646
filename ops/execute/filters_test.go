package execute_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// A table's filters change for a drain in one statement, and are given back in one: what it did
// not have is reset after that. What somebody has set meanwhile is left.
func TestTheFiltersOfATableChangeAtOnceAndAreGivenBack(t *testing.T) {
	const (
		drain  = "include._name=n0,n1\nrequire.zone="
		before = "include._name=\nrequire.zone=a"
	)
	exclude := asking(model.Action{Kind: model.ActionExcludeInTable, Table: "doc.t", NodeIDs: "id3", Settings: drain, Expected: before})
	back := asking(model.Action{Kind: model.ActionIncludeInTable, Table: "doc.t", NodeIDs: "id3", Settings: before, Expected: drain})
	only := asking(model.Action{Kind: model.ActionIncludeInTable, Table: "doc.t", NodeIDs: "id3", Settings: "include._name=n3", Expected: "include._name=n0,n1"})
	given := rows{{"", `{"include":{"_name":""},"require":{"zone":"a"}}`}}
	told := func(text string) rows { return rows{{"", text}} }
	ours, was := `{"include":{"_name":"n0,n1"},"require":{"zone":""}}`, `{"include":{},"require":{"zone":"a"}}`
	set, reset := alterTable+`SET ("routing.allocation.include._name" = '', "routing.allocation.require.zone" = 'a')`, alterTable+`RESET ("routing.allocation.include._name")`
	for _, c := range []struct {
		name   string
		action model.Action
		there  rows
		words  string // of the error
		wrote  []string
		says   string
	}{
		{"as before", exclude, told(was), "", []string{alterTable + `SET ("routing.allocation.include._name" = 'n0,n1', "routing.allocation.require.zone" = '')`}, "are set"},
		{"set already", exclude, told(ours), "", nil, "are set"},
		{"somebody has set another require", exclude, told(`{"include":{},"require":{"zone":"b"}}`), "somebody has changed them", nil, ""},
		{"somebody has set an include, too", exclude, told(`{"include":{"_name":"n7"},"require":{"zone":"a"}}`), "somebody has changed them", nil, ""},
		{"somebody has added a require", exclude, told(`{"include":{},"require":{"zone":"a","tier":"hot"}}`), "somebody has changed them", nil, ""},
		{"the table is gone", exclude, nil, "", nil, "the table is gone"},
		{"the table is gone, or has another name", back, nil, "", nil, "table doc.t is gone: if it has another name now, its filters are still those of the drain, and were require.zone = 'a' before"},
		{"an answer that is no object", exclude, told("?"), "reading the allocation filters of table doc.t", nil, ""},
		{"given back", back, told(ours), "", []string{set, reset}, "are set"},
		{"given back, and the second statement was lost", back, told(`{"include":{"_name":""},"require":{"zone":"a"}}`), "", []string{reset}, "are set"},
		{"never set", back, told(was), "", []string{reset}, "are set"},
		{"a list that was there before", only, told(`{"include":{"_name":"n0,n1"}}`), "", []string{alterTable + `SET ("routing.allocation.include._name" = 'n3')`}, "are set"},
		{"somebody has set another list", back, told(`{"include":{"_name":"n7"},"require":{"zone":""}}`), "", nil, "they are left, and were require.zone = 'a' before"},
		{"somebody has taken all of them off", back, told(`{"include":{},"require":{}}`), "", nil, "they are left"},
		{"somebody has set another require beside ours", back, told(`{"include":{"_name":"n0,n1"},"require":{"zone":"b"}}`), "",
			[]string{alterTable + `SET ("routing.allocation.include._name" = '')`, reset}, "but for those that somebody has changed"},
		{"somebody has added a require and an include", back, told(`{"include":{"_name":"n0,n1","_ip":"::1"},"require":{"zone":"","tier":"hot"}}`), "", []string{set, reset}, "but for those that somebody has changed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			filtering(t, replies{"information_schema.tables": {c.there, given}}, c.action, c.wrote, c.words, c.says)
		})
	}
}

// RESET takes no condition: what somebody has set since the filters were given back is not taken off.
func TestAFilterThatSomebodySetsRightAfterItWasGivenBackIsNotReset(t *testing.T) {
	const drain, before = "include._name=n0,n1\nrequire.zone=", "include._name=\nrequire.zone="
	back := asking(model.Action{Kind: model.ActionIncludeInTable, Table: "doc.t", NodeIDs: "id3", Settings: before, Expected: drain})
	const ours, given, theirs = `{"include":{"_name":"n0,n1"},"require":{"zone":""}}`, `{"include":{"_name":""},"require":{"zone":""}}`, `{"include":{"_name":""},"require":{"zone":"c"}}`
	set := alterTable + `SET ("routing.allocation.include._name" = '', "routing.allocation.require.zone" = '')`
	one, both := alterTable+`RESET ("routing.allocation.include._name")`, alterTable+`RESET ("routing.allocation.include._name", "routing.allocation.require.zone")`
	for _, c := range []struct {
		name        string
		then, parts rows
		wrote       []string
	}{
		{"nobody", rows{{"", given}}, rows{}, []string{set, both}},
		{"of the table", rows{{"", theirs}}, rows{}, []string{set, one}},
		{"of a partition", rows{{"", given}}, rows{{`{"d":"1"}`, theirs}}, []string{set, one}},
		{"both keys", rows{{"", `{"include":{"_name":"n7"},"require":{"zone":"c"}}`}}, rows{}, []string{set}},
		{"the table is gone", rows{}, rows{}, []string{set}},
	} {
		t.Run(c.name, func(t *testing.T) {
			filtering(t, replies{"information_schema.tables": {{{"", ours}}, c.then}, "table_partitions": {rows{}, c.parts}}, back, c.wrote, "", "are set")
		})
	}
}

// filtering runs an action against these answers, and compares what it wrote and said.
func filtering(t *testing.T, answers replies, a model.Action, wrote []string, fails, says string) {
	t.Helper()
	s := newScript("system/real")
	s.replies = answers
	r, err := execute.Run(t.Context(), a, s.tools())
	assert.Equal(t, wrote, s.wrote())
	if fails != "" {
		require.ErrorContains(t, err, fails)
		return
	}
	require.NoError(t, err)
	assert.Contains(t, r.Message, says)
}

// What somebody has set of one partition during the drain is left, and the others have theirs back.
func TestFiltersThatSomebodyHasSetOfOnePartitionAreLeft(t *testing.T) {
	const drain, before = "include._name=n0,n1\nrequire.zone=", "include._name=\nrequire.zone=a"
	exclude := asking(model.Action{Kind: model.ActionExcludeInTable, Table: "doc.t", NodeIDs: "id3", Settings: drain, Expected: before})
	back := asking(model.Action{Kind: model.ActionIncludeInTable, Table: "doc.t", NodeIDs: "id3", Settings: before, Expected: drain})
	const ours, was, theirs, given = `{"include":{"_name":"n0,n1"},"require":{"zone":""}}`, `{"require":{"zone":"a"}}`, `{"include":{"_name":"n7"},"require":{"zone":""}}`, `{"include":{"_name":""},"require":{"zone":"a"}}`
	const drained = `SET ("routing.allocation.include._name" = 'n0,n1', "routing.allocation.require.zone" = '')`
	const set, reset = `SET ("routing.allocation.include._name" = '', "routing.allocation.require.zone" = 'a')`, `RESET ("routing.allocation.include._name")`
	const only, first, second = `ALTER TABLE ONLY "doc"."t" `, `ALTER TABLE "doc"."t" PARTITION ("p" = 'it''s', "q" = '9007199254740993') `, `ALTER TABLE "doc"."t" PARTITION ("p" = NULL, "q" = 'true') `
	a, b := `{"p":"it's","q":9007199254740993}`, `{"q":true,"p":null}`
	drainedParts := rows{{a, ours}, {b, theirs}}
	for _, c := range []struct {
		name       string
		action     model.Action
		table      string
		partitions rows
		words      string
		wrote      []string
		says       string
		// then is what is shown of the partitions when they are asked for again, itself of the table.
		then   [][][]string
		itself string
	}{
		{"none has changed", back, ours, rows{{a, ours}, {b, ours}}, "", []string{alterTable + set, alterTable + reset}, "are set", [][][]string{{{a, given}, {b, given}}}, given},
		{"one lacks the drain", exclude, ours, rows{{a, ours}, {b, was}}, "", []string{alterTable + drained}, "are set", nil, ""},
		{"one is somebody's", exclude, was, rows{{a, was}, {b, theirs}}, "somebody has changed them", nil, "", nil, ""},
		{"one is somebody's afterwards", back, ours, drainedParts, "", []string{only + set, only + reset, first + set, first + reset}, "but for those that somebody has changed",
			[][][]string{drainedParts, drainedParts, {{a, given}, {b, theirs}}}, given},
		{"and so is another one right after it was given back", back, ours, drainedParts, "", []string{only + set, only + reset, first + set}, "but for those that somebody has changed",
			[][][]string{drainedParts, drainedParts, {{a, theirs}, {b, theirs}}}, given},
		{"and that of the table itself", back, ours, drainedParts, "", []string{only + set, first + set, first + reset}, "but for those that somebody has changed",
			[][][]string{drainedParts, drainedParts, {{a, given}, {b, theirs}}}, theirs},
		{"and that partition is gone right after", back, ours, drainedParts, "", []string{only + set, only + reset, first + set}, "but for those that somebody has changed",
			[][][]string{drainedParts, drainedParts, {{b, theirs}}}, given},
		{"the table itself is", back, theirs, rows{{a, theirs}, {b, ours}}, "", []string{second + set, second + reset}, "but for those that somebody has changed",
			[][][]string{{{a, theirs}, {b, ours}}, {{a, theirs}, {b, given}}}, theirs},
		{"all are", back, theirs, rows{{a, theirs}, {b, theirs}}, "", nil, "they are left", nil, ""},
		{"values that cannot be read", back, ours, rows{{"?", ours}}, "reading the values of a partition", nil, "", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			parts := append([][][]string{c.partitions}, c.then...)
			filtering(t, replies{"information_schema.tables": {{{"", c.table}}, {{"", c.itself}}}, "information_schema.table_partitions": parts}, c.action, c.wrote, c.words, c.says)
		})
	}
}

// A table that is hidden from system looks as one that is gone. Its filters are still to be given back.
func TestATableThatIsHiddenIsNotGone(t *testing.T) {
	s := newScript("system/real")
	s.replies = replies{"information_schema.tables": {nil}, "sys.privileges": {{{"DQL", "SCHEMA", "doc"}}}}
	_, err := execute.Run(t.Context(), asking(model.Action{
		Kind: model.ActionIncludeInTable, Table: "doc.t", NodeIDs: "id3", Settings: "include._name=n3", Expected: "include._name=n0",
	}), s.tools())
	require.ErrorContains(t, err, "DQL on SCHEMA doc is denied to the user system by now")
}

// Right before nodes go, the filters that keep a table off them are asked for once more.
func TestTheLastLookOfAShrinkAsksForTheFiltersOfADrain(t *testing.T) {
	for _, c := range []struct {
		name, tables, filters, words string
	}{
		{"as during the drain", `[{"name":"doc.t","drain":"include._name=n1","filters":"include._name=n3"}]`, `{"include":{"_name":"n1"}}`, ""},
		{"as before it", `[{"name":"doc.t","drain":"include._name=n1","filters":"include._name=n3"}]`, `{"include":{"_name":"n3"}}`, "somebody has changed the filters of table doc.t"},
		{"others", `[{"name":"doc.t","drain":"include._name=n1","filters":"include._name=n3"}]`, `{"include":{"_name":"n2"}}`, "somebody has changed the filters of table doc.t"},
		{"one that was added", `[{"name":"doc.t","drain":"include._name=n1","filters":"include._name=n3"}]`, `{"include":{"_name":"n1"},"require":{"zone":"c"}}`, "somebody has changed the filters of table doc.t"},
		{"unreadable", `?`, `{}`, "reading which tables"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &leaving{
				script: newScript("system/real"), excluded: "n3", nodes: [][]string{{"n1", "n1"}, {"n2", "n2"}, {"n3", "n3"}},
				shards: [][]string{on("n1", "STARTED")}, whole: [][]string{{"GREEN", "0", "0"}}, filters: [][]string{{c.filters, c.filters}},
			}
			_, err := execute.Run(t.Context(), model.Action{
				Kind: model.ActionShrinkSet, Pod: "p", SystemSecret: "system", Set: "s", SetUID: "u", SetVersion: "7", From: 3, To: 2,
				NodeIDs: "n3", NodeNames: "n3", Members: "n1,n2,n3", Whole: model.WholeHealth{Asked: true}, Filtered: 1, Tables: c.tables,
			}, execute.Tools{Objects: l, Secrets: l.script, Database: l})
			if c.words != "" {
				require.ErrorContains(t, err, c.words)
				assert.Empty(t, l.lowered)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, []int{2}, l.lowered)
		})
	}
}
