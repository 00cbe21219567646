package ops_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// at is what a world shows now, for one decision.
func (w *world) at() *situation {
	return &situation{d: w.desired, o: w.observe(), r: w.record}
}

func TestALicenceWaitsForItsSecret(t *testing.T) {
	licensed := wantedCluster(3)
	licensed.Version, licensed.License = "4.4.1", &model.SecretKey{Name: "licence", Key: "key"}
	for _, c := range []struct {
		name string
		from func() *world
	}{
		{"while the cluster is made", func() *world {
			w := newWorld(t, licensed)
			delete(w.secrets, "licence")
			return w
		}},
		{"whose key is missing while the cluster is made", func() *world {
			w := newWorld(t, licensed)
			w.putSecret("licence", map[string][]byte{"another": []byte("x")})
			return w
		}},
		{"in a cluster that runs", func() *world {
			w := newWorld(t, wantedCluster(3))
			w.desired.Version = "4.4.1"
			w.run(60)
			w.desired.License, w.desired.Revision = licensed.License, "licensed"
			return w
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := c.from()
			var d model.Decision
			for range 30 {
				d, _ = w.pass()
				require.NotContains(t, kinds(d), model.ActionSetLicense)
			}
			assert.Contains(t, reasons(d.Waits), "secret-missing")
			w.putSecret("licence", map[string][]byte{"key": []byte("licence-key\n")})
			w.run(60)
			assert.Equal(t, "licence-key", w.licence)
		})
	}
}

func TestADrainUnderWayWaits(t *testing.T) {
	step := func(step string) func(*world) bool {
		return func(w *world) bool { return w.record.Operation != nil && w.record.Operation.Step == step }
	}
	for _, c := range []struct {
		name   string
		when   func(*world) bool
		change func(*situation)
		wait   string
	}{
		{"its set was made larger by hand", step(model.StepDrain), func(s *situation) { s.o.Sets[1].Replicas = 5 }, "replicas-live: " + cold},
		{"its set was made smaller by hand", step(model.StepDrain), func(s *situation) { s.o.Sets[1].Replicas = 2 }, "replicas-live: " + cold},
		{"its set was deleted right before the write", step(model.StepSmaller), func(s *situation) { s.o.Sets = s.o.Sets[:1] }, "replicas-live: " + cold},
		{"a node that has left is a member still", step(model.StepGone), func(s *situation) {
			s.o.Pods = s.o.Pods[:4]
		}, "nodes-gone: node " + cold + "/1 is not gone yet"},
		{"a node that has left is a member still, and the operation is lost with the record", step(model.StepGone), func(s *situation) {
			s.r.Operation, s.o.Pods = nil, s.o.Pods[:4]
		}, "nodes-gone: node " + cold + "/1 is not gone yet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := filled(t, tiers(3, 3))
			w.desired = tiers(3, 1)
			w.until(func() bool { return c.when(w) })
			s := w.at()
			require.NotContains(t, said(s.decide().Waits), c.wait)
			c.change(s)
			d := s.decide()
			assert.Contains(t, said(d.Waits), c.wait)
			assert.Nil(t, d.Disruptive)
			assert.NotNil(t, d.Record.Exclusions)
		})
	}
}

// Seed 73118182: a node that was away when the drain began is excluded when it joins, but not
// where a table keeps its shards there whatever is excluded: that is refused as it is before
// a drain, and nothing is lost by what stands already.
func TestANodeThatJoinsDuringItsDrainIsExcludedWhereItCanBeDrained(t *testing.T) {
	for name, c := range map[string]struct {
		filter string
		refuse []string
	}{
		"any table goes with the exclusion":     {"", nil},
		"a table has a filter of its own there": {"somebody", []string{gates.TableFilterRule.Name}},
	} {
		t.Run(name, func(t *testing.T) {
			w := filled(t, tiers(3, 3))
			w.desired = tiers(3, 1)
			w.desired.Version, w.record.Version = "5.10.1", "5.10.1"
			w.until(func() bool { return w.record.Operation != nil && w.record.Operation.Step == model.StepDrain })
			s := w.at()
			for i := range s.o.Database.Nodes {
				if n := &s.o.Database.Nodes[i]; n.Name == cold+"/2" {
					n.ID = "another"
				}
			}
			if c.filter != "" {
				s.o.Database.Tables[0].Filtered, s.o.Database.Tables[0].Exclude = true, map[string]string{"_name": c.filter}
			}
			d := s.decide()
			assert.Equal(t, c.refuse, reasons(d.Refusals))
			assert.Equal(t, c.refuse == nil, strings.Contains(d.Record.Exclusions.IDs, "another"))
		})
	}
}

// said are the names and messages, a line each.
func said(list []model.Reason) string {
	var b strings.Builder
	for _, r := range list {
		fmt.Fprintf(&b, "%s: %s\n", r.Name, r.Message)
	}
	return b.String()
}

// A table whose filters name nodes of its own keeps copies on what leaves: with
// consent the nodes that leave go onto its own exclude list, which is as it was
// afterwards.
func TestATablesOwnFilterIsExtendedAndGivenBack(t *testing.T) {
	const own = "doc.filtered"
	s := drainable(t)
	s.d.Operations.Consent = append(s.d.Operations.Consent, definition.ConsentExtendTableFilters)
	s.o.Database.Tables = append(s.o.Database.Tables, model.Table{Name: own, Replicas: "0", Started: 1, Filtered: true, TotalShardsPerNode: -1, Exclude: map[string]string{"_id": "theirs"}})
	d := s.decide()
	require.NotNil(t, d.Record.Exclusions, "waits %v, refusals %v", d.Waits, d.Refusals)
	require.Equal(t, []model.TableExclusion{{Name: own, Before: "theirs"}}, d.Record.Exclusions.Tables)

	s.r = d.Record
	s.o.Applied = model.Applied{Revision: s.d.Revision, Effective: d.Effective}
	for i := range d.Effective.Sets {
		s.o.Sets[i].Hold = d.Effective.Sets[i].Hold
	}
	for i := range s.o.Sets {
		for _, e := range s.decide().Effective.Sets {
			if e.Name == s.o.Sets[i].Name {
				s.o.Sets[i].Hold = e.Hold
			}
		}
	}
	s.o.Applied.Effective = s.decide().Effective
	s.o.Database.Settings.Exclude = map[string]string{"_id": d.Record.Exclusions.IDs}
	d = s.decide()
	require.Contains(t, kinds(d), model.ActionExcludeInTable, "waits %v, step %v", d.Waits, d.Record.Operation)
	for _, a := range d.Actions() {
		if a.Kind == model.ActionExcludeInTable {
			assert.Equal(t, own, a.Table)
			assert.Equal(t, "theirs", a.Before)
			assert.Equal(t, d.Record.Exclusions.IDs, a.NodeIDs)
		}
	}

	s.d.Abort = true
	d = s.decide()
	require.Contains(t, kinds(d), model.ActionIncludeInTable, "waits %v", d.Waits)
	assert.NotContains(t, kinds(d), model.ActionIncludeNodes, "the tables come first")
}

func TestAnAbortedOperationDoesNotBegin(t *testing.T) {
	for _, c := range []struct {
		name, refused string
		ask           func(*world)
	}{
		{"a restart", "aborted", byTemplate},
		{"a shrink", "shrink-aborted", func(w *world) { w.desired = tiers(3, 1) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := filled(t, tiers(3, 3))
			reports := len(w.reports)
			c.ask(w)
			w.commands.Abort = "true"
			w.passes(10)
			assert.Contains(t, reasons(w.at().decide().Refusals), c.refused)
			for _, r := range w.reports[reports:] {
				assert.NotEqual(t, model.StatusInProgress, r.Status, "%s: it is not told as begun", r.Reason)
			}
		})
	}
}

func TestAGroupThatIsGoneLeavesBeforeTheClusterIsSuspended(t *testing.T) {
	s := made(t)
	s.r.Sets = append(s.r.Sets, model.RecordedSet{Name: cold, Group: "cold", Replicas: 1})
	s.d = at0(s.d)
	s.d.Operations.Consent = append(s.d.Operations.Consent, definition.ConsentRemoveGroup)
	s.o.Applied.Revision = s.d.Revision
	d := s.decide()
	assert.Contains(t, reasons(d.Waits), "suspended")
	if op := d.Record.Operation; op != nil {
		assert.NotEqual(t, model.OperationSuspend, op.Kind)
	}
	assert.Empty(t, d.Record.Suspended)
}

// What is held goes back as soon as the pod is back, in the same pass.
func TestTheAllocationLockGoesBackWithThePod(t *testing.T) {
	for _, c := range []struct {
		name string
		from func(*testing.T) *world
	}{
		{"one pod", func(t *testing.T) *world {
			w := newWorld(t, restartable(wantedCluster(3)))
			w.run(60)
			return w
		}},
		{"a zone", func(t *testing.T) *world { return zoned(t, 6) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := c.from(t)
			byAnnotation(w)
			w.now = w.now.Add(time.Minute)
			for range 60 {
				d, err := w.pass()
				require.NoError(t, err)
				if op := d.Record.Operation; op != nil && op.Step == model.StepReturn {
					assert.Contains(t, kinds(d), model.ActionUnlockAllocation)
					return
				}
			}
			require.Fail(t, "no pod came back")
		})
	}
}

// A pod that is stuck in a group which is to go holds nothing back any more.
func TestAGroupThatGoesWhileItsPodIsStuckGivesBackTheAllocationLock(t *testing.T) {
	w := newWorld(t, tiers(3, 2))
	w.run(60)
	byTemplate(w)
	w.until(func() bool { return w.pods[hot+"-2"] != nil && w.pods[hot+"-2"].restarts > 0 })
	w.until(func() bool {
		op := w.record.Operation
		return op != nil && op.Step == model.StepDown && op.Restart != nil && op.Restart.Set == cold && w.pods[cold+"-0"].away > 0
	})
	w.desired = tiers(3, -1)
	w.ahead(time.Hour)
	w.until(func() bool { return w.record.Lock == nil })
}
