package ops_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/budget"
	"stevedore.dev/stevedore/ops/model"
)

func TestBudgets(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
		want   int
	}{
		{"all well", func(*situation) {}, 1},
		{"a pod is down", func(s *situation) { s.o.Pods[0].Ready = false }, 0},
		{"a pod is going", func(s *situation) { s.o.Pods[0].Terminating = true }, 0},
		{"a table lacks a copy", func(s *situation) { s.o.Database.Health.Colour = model.Yellow }, 0},
		{"red", func(s *situation) { s.o.Database.Health.Colour = model.Red }, 0},
		{"a settled yellow, by policy", yellow(2, 2), 1},
		{"a yellow whose copies are on their way, by policy", yellow(2, 1), 0},
		{"a yellow of which nothing more is known, by policy", func(s *situation) {
			yellow(2, 2)(s)
			s.o.Database.ShardsKnown = false
		}, 0},
		{"a yellow with a node that has not joined, by policy", func(s *situation) {
			yellow(2, 2)(s)
			s.o.Database.Nodes = s.o.Database.Nodes[1:]
		}, 0},
		{"not known", func(s *situation) { s.o.Database = model.Database{} }, 1},
		{"not known, and closed before", func(s *situation) {
			s.o.Database = model.Database{}
			s.r.Budgets = []model.Budget{{Name: "crate-data-c"}}
		}, 0},
		{"green, and a node that the others do not know: a range of replicas hides what is lost", func(s *situation) {
			s.o.Database.Nodes = s.o.Database.Nodes[1:]
		}, 0},
		{"more copies wanted than data nodes, a copy on each", neverGreen("5", 3), 1},
		{"more copies wanted than data nodes, a copy on all but one", neverGreen("5", 2), 0},
		{"as many copies wanted as data nodes, one missing", neverGreen("2", 2), 0},
		{"more copies wanted than data nodes, one on its way", func(s *situation) {
			neverGreen("5", 3)(s)
			s.o.Database.Initializing = 1
		}, 0},
		{"more copies wanted than data nodes, tables not known", func(s *situation) {
			neverGreen("5", 3)(s)
			s.o.Database.TablesKnown = false
		}, 0},
		{"a table that wants what cannot be read", neverGreen("many", 3), 0},
		{"a claim of a pod is being deleted", claimDeleted(1, false), 0},
		{"one whose volume may go: stevedore takes the pod down itself", claimDeleted(1, true), 0},
		{"a claim that no pod uses is being deleted", claimDeleted(7, false), 1},
		{"a claim, and the database is not known", func(s *situation) {
			claimDeleted(1, false)(s)
			s.o.Database = model.Database{}
		}, 0},
		{"tables without replicas", func(s *situation) { s.o.Database.Unreplicated = []string{"doc.t"} }, 1},
		{"tables without replicas, and they are not to be away", func(s *situation) {
			s.o.Database.Unreplicated, s.d.Operations.Unreplicated = []string{"doc.t"}, "refuse"
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			c.change(s)
			assert.Equal(t, []model.Budget{{Name: "crate-data-c", MaxUnavailable: c.want}}, s.decide().Effective.Budgets)
		})
	}
}

// yellow has copies that are missing, some of them on no node, and the consent
// to live with it.
func yellow(missing int64, unassigned int) func(*situation) {
	return func(s *situation) {
		s.o.Database.Health = model.Health{Colour: model.Yellow, Underreplicated: missing}
		s.o.Database.ShardsKnown, s.o.Database.Unassigned = true, unassigned
		s.d.Operations.SettledYellow = "proceed"
	}
}

// neverGreen has a table with so many replicas wanted and copies started.
func neverGreen(replicas string, started int) func(*situation) {
	return func(s *situation) {
		s.o.Database.Health = model.Health{Colour: model.Yellow, Underreplicated: 1, Tables: []string{"doc.t"}}
		s.o.Database.ShardsKnown, s.o.Database.Unassigned, s.o.Database.TablesKnown = true, 1, true
		s.o.Database.Tables = []model.Table{{Name: "doc.t", Replicas: replicas, Started: started}, {Name: "doc.ok", Replicas: "0-1", Started: 2}}
	}
}

func TestABudgetSaysOnceWhyItDoesNotWait(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
		reason string
		says   []string
	}{
		{"never green", neverGreen("5", 3), "BudgetOpen", []string{"more copies", "doc.t"}},
		{"a settled yellow, by policy", yellow(2, 2), "BudgetOpen", []string{"settledYellow: proceed"}},
		{"no replicas by choice", func(s *situation) { s.o.Database.Unreplicated = []string{"doc.t"} }, "BudgetOpen", []string{"unreplicated: proceed", "doc.t"}},
		{"no replicas by choice, and policy", func(s *situation) {
			s.o.Database.Unreplicated, s.d.Operations.Unreplicated = []string{"doc.t"}, "refuse"
		}, "BudgetClosed", []string{"unreplicated: refuse", "doc.t"}},
		{"closed too long for a table", func(s *situation) {
			s.o.Database.Health = model.Health{Colour: model.Yellow, Tables: []string{"doc.t"}}
			s.r.Budgets = []model.Budget{{Name: "crate-data-c"}}
			s.r.Budget.Closed = s.o.At.Add(-time.Hour)
		}, "BudgetClosedTooLong", []string{"30m0s", "doc.t"}},
		{"closed too long by policy", func(s *situation) {
			s.o.Database.Unreplicated, s.d.Operations.Unreplicated = []string{"doc.one"}, "refuse"
			s.r.Budgets, s.r.Budget.Note = []model.Budget{{Name: "crate-data-c"}}, "unreplicated-refused"
			s.r.Budget.Closed = s.o.At.Add(-time.Hour)
		}, "BudgetClosedTooLong", []string{"without replicas are doc.one"}},
		{"closed too long for a pod", func(s *situation) {
			s.o.Pods[0].Ready = false
			s.r.Budgets = []model.Budget{{Name: "crate-data-c"}}
			s.r.Budget.Closed = s.o.At.Add(-time.Hour)
		}, "BudgetClosedTooLong", []string{"1 pod(s)"}},
		{"closed too long for a claim that is being deleted", func(s *situation) {
			claimDeleted(0, true)(s)
			s.r.Budgets = []model.Budget{{Name: "crate-data-c"}}
			s.r.Budget.Closed = s.o.At.Add(-time.Hour)
		}, "BudgetClosedTooLong", []string{"data0-" + hot + "-0", "end its volume"}},
		{"closed, and not too long", func(s *situation) {
			s.o.Pods[0].Ready = false
			s.r.Budgets = []model.Budget{{Name: "crate-data-c"}}
			s.r.Budget.Closed = s.o.At.Add(-time.Minute)
		}, "", nil},
		{"closed longer than its definition says", func(s *situation) {
			s.o.Pods[0].Ready = false
			s.r.Budgets = []model.Budget{{Name: "crate-data-c"}}
			s.r.Budget.Closed, s.d.Operations.BudgetTimeout = s.o.At.Add(-time.Minute), 10*time.Second
		}, "BudgetClosedTooLong", []string{"10s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			c.change(s)
			told := func() []string {
				d := s.decide()
				s.r = d.Record
				var all []string
				for _, r := range d.Reports {
					if r.Reason == "BudgetOpen" || r.Reason == "BudgetClosed" || r.Reason == "BudgetClosedTooLong" {
						all = append(all, r.Reason)
						for _, words := range c.says {
							assert.Contains(t, r.Message, words)
						}
					}
				}
				return all
			}
			if c.reason == "" {
				assert.Empty(t, told())
				return
			}
			require.Equal(t, []string{c.reason}, told())
			assert.Empty(t, told(), "once")
		})
	}
}

// A pod that is down closes the budget before the database is asked.
func TestABudgetClosesBeforeTheDatabaseIsAsked(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
		first  bool
	}{
		{"all up", func(*situation) {}, false},
		{"a pod is not ready", func(s *situation) { s.o.Pods[0].Ready = false }, true},
		{"a pod is going", func(s *situation) { s.o.Pods[0].Terminating = true }, true},
		{"a pod is gone", func(s *situation) { s.o.Pods = s.o.Pods[1:] }, true},
		{"a claim is being deleted", claimDeleted(0, false), true},
		{"a pod is down and the budget is closed", func(s *situation) {
			s.o.Pods[0].Ready = false
			s.r.Budgets = []model.Budget{{Name: "crate-data-c"}}
		}, false},
		{"a pod is down in a cluster that is being made", func(s *situation) {
			s.o.Pods[0].Ready, s.r.Bootstrap.Done = false, false
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			s.r.Budgets = []model.Budget{{Name: "crate-data-c", MaxUnavailable: 1}}
			c.change(s)
			assert.Equal(t, c.first, budget.BudgetsFirst(&s.r, s.o.Pods, s.o.Claims))
		})
	}
}

func TestAClosedBudgetIsSaidAndHoldsNothingUp(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
		waits  []string
		says   string
	}{
		{"a table lacks a copy", func(s *situation) {
			s.o.Database.Health = model.Health{Colour: model.Yellow, Tables: []string{"doc.t"}}
		}, []string{"budget-closed"}, "copies are missing of doc.t"},
		{"no table does, and a claim is being deleted", func(s *situation) {
			claimDeleted(0, false)(s)
			s.o.Claims[len(s.o.Claims)-1].Version = s.r.HighestVersion
		}, []string{"volume-goes-with-pod", "budget-closed"}, "a volume claim is being deleted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			c.change(s)
			d := s.decide()
			assert.Equal(t, model.Act, d.Verdict, "the budget is to be applied")
			s.r, s.o.Applied.Effective = d.Record, d.Effective
			d = s.decide()
			assert.Equal(t, model.Done, d.Verdict, "%v %v", d.Waits, d.Actions())
			require.Equal(t, c.waits, reasons(d.Waits))
			assert.Contains(t, d.Waits[len(d.Waits)-1].Message, c.says)
		})
	}
}
