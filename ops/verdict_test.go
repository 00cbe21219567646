package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// What is only tried again is a wait: whoever looks is not told that work goes on.
func TestACommitThatKubernetesOrTheDatabaseRefusesWaitsAndDoesNotWork(t *testing.T) {
	denied := func(s *situation) {
		s.o.Applied, s.o.ApplyErrors = model.Applied{}, []string{"Service x: admission webhook denied the request"}
	}
	unmarked := func(s *situation) { s.o.Claims = []model.Claim{{Name: "data0-" + hot + "-0", Set: hot}} }
	failed := func(s *situation) {
		unmarked(s)
		s.o.Failures = []model.Failure{{Action: s.decide().Harmless[0], Message: "exceeded quota", Count: 1}}
	}
	for _, c := range []struct {
		name    string
		change  []func(*situation)
		verdict model.Verdict
	}{
		{"nothing was tried yet", []func(*situation){func(s *situation) { s.o.Applied = model.Applied{} }}, model.Act},
		{"an object was refused", []func(*situation){denied}, model.Wait},
		{"an object was refused, and an action is to be tried for the first time", []func(*situation){denied, unmarked}, model.Act},
		{"an action is to be tried for the first time", []func(*situation){unmarked}, model.Act},
		{"the action was refused", []func(*situation){failed}, model.Wait},
		{"both were", []func(*situation){denied, failed}, model.Wait},
		{"the action was refused, and objects are not applied yet", []func(*situation){failed, func(s *situation) { s.o.Applied = model.Applied{} }}, model.Act},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			for _, change := range c.change {
				change(s)
			}
			d := s.decide()
			assert.Equal(t, c.verdict, d.Verdict)
			assert.True(t, d.Apply, "it is tried again all the same")
			assert.Positive(t, d.LookAgain)
		})
	}
}

// Nothing is left to do, and rows can be neither read nor written: whoever looks sees that first.
func TestRedTablesAreSaidHoweverTheClusterIs(t *testing.T) {
	red := func(db *model.Database) {
		db.Health = model.Health{Colour: model.Red, Missing: 2, Tables: []string{"doc.one", "doc.two"}, Red: []string{"doc.two"}}
		db.ClusterHealth = model.Health{Colour: model.Red, Missing: 2}
	}
	for _, c := range []struct {
		name    string
		change  func(w *world, db *model.Database)
		verdict model.Verdict
		said    string // "" for nothing
	}{
		{"tables that are seen", func(_ *world, db *model.Database) { red(db) }, model.Done, "the cluster is RED: 2 shard(s) have no primary, of doc.two; also not green: doc.one"},
		{"tables that are not", func(_ *world, db *model.Database) {
			db.ClusterHealth = model.Health{Colour: model.Red, Missing: 1}
		}, model.Done, "the cluster is RED: 1 shard(s) have no primary, of tables that the user system does not see"},
		{"tables that are being restored, and not seen therefore", func(_ *world, db *model.Database) {
			db.Hidden, db.ClusterHealth = []string{"old.t3"}, model.Health{Colour: model.Red, Missing: 1}
		}, model.Done, ""},
		{"the cluster is paused", func(w *world, db *model.Database) {
			red(db)
			w.commands.Paused = "true"
		}, model.Wait, "the cluster is RED"},
		{"nobody answers, and what was read last is old", func(_ *world, db *model.Database) {
			red(db)
			db.Contact = model.No
		}, model.Wait, ""},
		{"yellow", func(_ *world, db *model.Database) { db.Health.Colour = model.Yellow }, model.Done, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, wantedCluster(3))
			w.calm(60)
			w.see = func(db *model.Database) { c.change(w, db) }
			d := afterPasses(t, w, 5)
			assert.Equal(t, c.verdict, d.Verdict)
			assert.Equal(t, c.said != "", slices.Contains(reasons(d.Waits), gates.TablesRedRule.Name))
			assert.Contains(t, messages(d.Waits), c.said)
		})
	}
}
