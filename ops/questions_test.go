package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

func TestWhatARuleAsksForHoldsAPodBack(t *testing.T) {
	require.NotEmpty(t, gates.Questions)
	for i, rule := range gates.Questions {
		there := rule.Asks.Answer(rule.Asks.Some())
		for _, c := range []struct {
			name   string
			answer gates.Answer
			holds  bool
		}{
			{"is there", there, true},
			{"is not known", gates.Answer{}, !rule.Asks.UnknownPasses},
			{"is not there", gates.Answer{Known: true}, false},
		} {
			t.Run(rule.Name+" "+c.name, func(t *testing.T) {
				s := nextPod(t)
				s.o.Database.Answers = model.NothingFound()
				s.o.Database.Answers[i] = c.answer
				d := s.decide()
				if !c.holds {
					assert.NotNil(t, d.Record.Lock, "%v", d.Waits)
					return
				}
				require.Nil(t, d.Record.Lock)
				require.NotEmpty(t, d.Waits)
				assert.Equal(t, rule.Name, d.Waits[0].Name)
			})
		}
	}
}

// answers are those of a reading in which one rule finds what it asks for; "" for none.
func answers(rule string) []gates.Answer {
	all := model.NothingFound()
	for i, r := range gates.Questions {
		if r.Name == rule {
			all[i] = r.Asks.Answer(r.Asks.Some())
		}
	}
	return all
}

// What begins after the first node has gone holds the next one back, whichever operation takes it down.
func TestNoFurtherNodeGoesWhileAnythingRunsThatARuleAsksFor(t *testing.T) {
	for _, rule := range gates.Questions {
		for _, c := range []struct {
			name  string
			world func(*testing.T) *world
			ask   func(*world)
		}{
			{"a restart", func(t *testing.T) *world { return upgradable(t, wantedCluster(3)) }, byTemplate},
			{"an upgrade", func(t *testing.T) *world { return upgradable(t, wantedCluster(3)) }, func(w *world) { to(w, "6.4.3") }},
			{"zone by zone", func(t *testing.T) *world { return zoned(t, 6) }, byAnnotation},
		} {
			t.Run(rule.Name+" "+c.name, func(t *testing.T) {
				w := c.world(t)
				gone := func() (n int) {
					for _, p := range w.pods {
						n += p.restarts
					}
					return n
				}
				c.ask(w)
				w.until(func() bool { return gone() > 0 })
				w.runs = rule.Name
				before := gone()
				w.passes(100)
				assert.Equal(t, before, gone(), "none goes while it runs")
				d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
				require.NotEmpty(t, d.Waits)
				assert.Equal(t, rule.Name, d.Waits[0].Name)
				assert.Nil(t, w.record.Lock)

				w.runs = ""
				w.run(200)
				assert.Equal(t, len(w.pods), gone(), "then each has gone once")
			})
		}
	}
}

// The last look asks what the decision has asked: also where it goes on with tables that are yellow.
func TestOnlyTheRestartOfAPodThatIsNotReadyIsARepair(t *testing.T) {
	for _, c := range []struct {
		name   string
		so     func(*situation)
		repair bool
	}{
		{"all is green", func(*situation) {}, false},
		{"yellow, and nothing will change that", func(s *situation) {
			s.d.Operations.SettledYellow = "proceed"
			s.o.Database.Health = model.Health{Colour: model.Yellow, Underreplicated: 1, Tables: []string{"doc.t"}}
		}, false},
		{"the pod is joined and not ready", func(s *situation) { s.podOf(s.r.Operation.Restart.Pod).Ready = false }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := underLock(t)
			c.so(s)
			d := s.decide()
			require.NotNil(t, d.Disruptive, "%v", d.Waits)
			assert.Equal(t, model.ActionRestartPod, d.Disruptive.Kind)
			assert.Equal(t, c.repair, d.Disruptive.Repair)
		})
	}
}
