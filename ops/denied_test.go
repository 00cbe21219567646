package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// hiddenSchema is a schema that `system` may not see.
var hiddenSchema = []model.Denial{
	{Grantee: "system", Privilege: "DML", Class: "SCHEMA", Ident: "secret"}, {Grantee: "system", Privilege: "DQL", Class: "SCHEMA", Ident: "secret"},
}

// manySchemas are more than one person types.
var manySchemas = func() (all []model.Denial) {
	for _, schema := range []string{"s1", "s2", "s3", "s4", "s5", "s6"} {
		all = append(all, model.Denial{Grantee: "system", Privilege: "DQL", Class: "SCHEMA", Ident: schema})
	}
	return all
}()

// The words name what is denied and the statement that takes it back, which the test of
// ops/cratedb runs on CrateDB.
func TestWhatSystemIsDeniedIsSaidInEveryPassAndReportedOnce(t *testing.T) {
	for _, c := range []struct {
		name   string
		denied []model.Denial
		says   []string
	}{
		{"a schema", hiddenSchema, []string{"DML on schema secret is denied to system", `Run: REVOKE DML, DQL ON SCHEMA "secret" FROM "system"`}},
		{"a table by a role", []model.Denial{{Grantee: "auditor", Privilege: "DQL", Class: "TABLE", Ident: "s.t"}}, []string{"DQL on table s.t is denied to auditor", `REVOKE DQL ON TABLE "s"."t" FROM "auditor"`}},
		{"the cluster", []model.Denial{{Grantee: "system", Privilege: "DML", Class: "CLUSTER"}}, []string{"DML is denied to system on the cluster", `GRANT DML TO "system"`}},
		{"the cluster by a role", []model.Denial{{Grantee: "auditor", Privilege: "DML", Class: "CLUSTER"}}, []string{`REVOKE DML FROM "auditor"`}},
		{"many schemas", manySchemas, []string{`Run: REVOKE DQL ON SCHEMA "s1" FROM "system"`, `"s5" FROM "system"; and so on`}},
		{"nothing is granted", []model.Denial{{Grantee: "system", Privilege: "DML", Class: "CLUSTER", Lacks: true}}, []string{"system lacks DML on the cluster", `GRANT DML TO "system"`}},
		{"sys itself", []model.Denial{{Grantee: "system", Privilege: "DQL", Class: "SCHEMA", Ident: "sys"}}, []string{`GRANT ALL PRIVILEGES TO "system"; REVOKE ALL ON SCHEMA "sys" FROM "system"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			s.o.Database.Denied = c.denied
			d := s.decide()
			i := slices.Index(reasons(d.Waits), "system-denied")
			require.GreaterOrEqual(t, i, 0, "%v", d.Waits)
			for _, words := range c.says {
				assert.Contains(t, d.Waits[i].Message, words)
			}
			require.Len(t, d.Reports, 1)
			assert.Equal(t, []string{"system-denied"}, d.Reports[0].Names)
			assert.True(t, d.Reports[0].Warning)
			assert.True(t, d.Save, "that it was reported is kept")

			s.r = d.Record
			d = s.decide()
			assert.Contains(t, reasons(d.Waits), "system-denied", "it is said all the time")
			assert.Empty(t, d.Reports, "it is reported once")

			s.o.Database.Denied = nil
			d = s.decide()
			assert.NotContains(t, reasons(d.Waits), "system-denied")
			s.r, s.o.Database.Denied = d.Record, c.denied
			assert.Len(t, s.decide().Reports, 1, "it is reported again when it comes again")
		})
	}
}

func TestADenialHoldsBackNoGrowAndNoRestart(t *testing.T) {
	for name, change := range map[string]func(*situation){
		"a grow":    func(s *situation) { s.d.Sets[0].Replicas++ },
		"a restart": func(s *situation) { s.d.RestartedAt = s.o.At.Format("2006-01-02T15:04:05Z07:00") },
	} {
		t.Run(name, func(t *testing.T) {
			s := made(t)
			s.o.Stable.Master, s.o.Stable.Since = s.o.At.Add(-time.Hour), s.o.At.Add(-time.Hour)
			s.o.Database.Denied = hiddenSchema
			change(s)
			d := s.decide()
			require.NotNil(t, d.Record.Operation, "%v %v", d.Waits, d.Refusals)
			assert.Contains(t, reasons(d.Waits), "system-denied")
			assert.Empty(t, d.Refusals)
		})
	}
}

// A DENY that comes in the middle of a drain: nothing leaves, and the drain goes on once it
// is taken back.
func TestNothingLeavesWhileSystemIsDeniedAnything(t *testing.T) {
	for name, blind := range map[string]func(*model.Database){
		"system-denied":    func(db *model.Database) { db.Denied = hiddenSchema },
		"privileges-known": func(db *model.Database) { db.DeniedKnown = false },
	} {
		t.Run(name, func(t *testing.T) {
			w := filled(t, tiers(3, 3))
			w.desired = tiers(3, 1)
			w.see = blind
			nothingLeavesWhile(t, w, name)
		})
		t.Run(name+", once the drain has begun", func(t *testing.T) {
			w := stuckDrain(t)
			w.stuck, w.see = false, blind
			nothingLeavesWhile(t, w, name)
		})
	}
}

// nothingLeavesWhile the gate says no; with the blindness gone the drain ends.
func nothingLeavesWhile(t *testing.T, w *world, gate string) {
	t.Helper()
	said := false
	for range 40 {
		d, err := w.pass()
		require.NoError(t, err)
		said = said || slices.Contains(append(reasons(d.Refusals), reasons(d.Waits)...), gate)
	}
	assert.True(t, said)
	assert.Empty(t, w.lowered)
	w.see = nil
	w.runQuiet(100)
	checkShrunk(t, w, 4)
}

// Finding 5: under load sys.nodes could not be read, and a node that had never left was
// said to be away.
func TestNodesThatCouldNotBeReadAreNotAway(t *testing.T) {
	w := stuckDrain(t)
	w.see = func(db *model.Database) {
		db.NodesKnown, db.Nodes = false, nil
		db.Unread = []model.UnreadPart{{Part: model.PartNodes, Why: "timeout", Slow: true}}
	}
	w.stuck = false
	for range 10 {
		d, err := w.pass()
		require.NoError(t, err)
		assert.NotContains(t, reasons(d.Waits), "leaving-node-away")
		i := slices.Index(reasons(d.Waits), "nodes-known")
		require.GreaterOrEqual(t, i, 0)
		assert.Contains(t, d.Waits[i].Message, "sys.nodes does not answer in time")
		assert.Empty(t, w.lowered)
	}
	w.see = nil
	w.runQuiet(100)
	checkShrunk(t, w, 4)
}

// What the nodes that left were excluded by stays until they are known to be gone.
func TestAnExclusionStaysWhileTheNodesAreNotRead(t *testing.T) {
	s := drainable(t)
	s.d = tiers(3, 3)
	s.r.Exclusions = &model.Exclusions{Set: cold, IDs: "n-gone"}
	assert.Contains(t, kinds(s.decide()), model.ActionIncludeNodes)
	s.o.Database.NodesKnown, s.o.Database.Nodes = false, nil
	d := s.decide()
	assert.NotContains(t, kinds(d), model.ActionIncludeNodes)
	assert.Contains(t, reasons(d.Waits), "nodes-known")
}

func TestARepositoryThatDoesNotAnswerIsReportedOnceByItsName(t *testing.T) {
	s := podNext(t)
	s.o.Database.SnapshotsKnown = false
	s.o.Database.Unread = []model.UnreadPart{{Part: model.PartSnapshots, Why: "repository nightly does not answer", Slow: true}}
	told := 0
	for range 10 {
		d := s.decide()
		i := slices.Index(reasons(d.Waits), "snapshot-running")
		require.GreaterOrEqual(t, i, 0)
		assert.Contains(t, d.Waits[i].Message, "repository nightly does not answer")
		for _, r := range d.Reports {
			if r.Reason == "NoAnswerInTime" {
				assert.Contains(t, r.Message, "repository nightly does not answer")
				told++
			}
		}
		s.r, s.o.At = d.Record, s.o.At.Add(15*time.Second)
		s.o.Database.At = s.o.At
	}
	assert.Equal(t, 1, told)
	s.o.Database.Unread, s.o.Database.SnapshotsKnown = nil, true
	d := s.decide()
	assert.Nil(t, d.Record.Slow)
	assert.NotContains(t, reasons(d.Waits), "snapshot-running")
}
