package ops_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// zoned is a cluster of some nodes in the zones a, b and c, by turns.
func zoned(t *testing.T, nodes int) *world {
	t.Helper()
	d := restartable(wantedCluster(nodes))
	d.Operations.RestartBy = "zone"
	w := newWorld(t, d)
	w.zones = map[string]string{}
	for i := range nodes {
		w.zones[fmt.Sprintf("%s-%d", hot, i)] = string("abc"[i%3])
	}
	w.run(60)
	w.now = w.now.Add(time.Minute)
	return w
}

// rounds are the pods that went down together, by their ordinals.
func (w *world) rounds(turns int) []string {
	w.t.Helper()
	var rounds []string
	for range turns {
		_, err := w.pass()
		require.NoError(w.t, err)
		var down []string
		for name, p := range w.pods {
			if p.away > 0 {
				down = append(down, strings.TrimPrefix(name, hot+"-"))
			}
		}
		slices.Sort(down)
		if now := strings.Join(down, "+"); now != "" && (len(rounds) == 0 || rounds[len(rounds)-1] != now) {
			rounds = append(rounds, now)
		}
	}
	return rounds
}

func TestByZoneTheOutdatedPodsOfAZoneGoTogether(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes int
		ask   func(*world)
		want  []string
	}{
		{"the same template", 6, byAnnotation, []string{"0+3", "1+4", "2+5"}},
		{"a new template is proven by one pod first", 6, byTemplate, []string{"0", "1+4", "2+5", "3"}},
		{"a new version too", 6, func(w *world) { to(w, "5.10.2") }, []string{"0", "1+4", "2+5", "3"}},
		{"the majority of those that vote stays", 4, byAnnotation, []string{"0", "1", "2", "3"}},
		{"the other zones have the copies", 6, func(w *world) {
			w.middles = []*toyTable{{primary: hot + "/0", replica: hot + "/1"}}
			byAnnotation(w)
		}, []string{"0+3", "1+4", "2+5"}},
		{"both copies in one zone", 6, func(w *world) {
			w.middles = []*toyTable{{primary: hot + "/1", replica: hot + "/4"}}
			byAnnotation(w)
		}, []string{"0+3", "1", "2+5", "4"}},
		{"a zone that is not known", 6, func(w *world) {
			w.zones = nil
			byAnnotation(w)
		}, []string{"0", "1", "2", "3", "4", "5"}},
		{"pod by pod", 6, func(w *world) {
			w.desired.Operations.RestartBy = "pod"
			byAnnotation(w)
		}, []string{"0", "1", "2", "3", "4", "5"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := zoned(t, c.nodes)
			c.ask(w)
			assert.Equal(t, c.want, w.rounds(200))
			require.Nil(t, w.record.Operation)
			require.Equal(t, "all", w.persistent)
			for name, p := range w.pods {
				assert.Equal(t, 1, p.restarts, name)
			}
		})
	}
}

func TestDedicatedMastersGoOneByOneThoughByZone(t *testing.T) {
	w := newWorld(t, restartable(tiered(5, 6)))
	w.desired.Operations.RestartBy = "zone"
	w.zones = map[string]string{}
	for _, set := range []string{"crate-master-c", hot} {
		for i := range 6 {
			w.zones[fmt.Sprintf("%s-%d", set, i)] = string("abc"[i%3])
		}
	}
	w.run(60)
	byAnnotation(w)
	rounds := w.rounds(200)
	assert.Equal(t, []string{"crate-master-c-0", "crate-master-c-1", "crate-master-c-2", "crate-master-c-3", "crate-master-c-4", "0+3", "1+4", "2+5", "crate-data-cold-c-0"}, rounds)
}

func TestARestartByZoneKilledAtAnyWriteEndsTheSame(t *testing.T) {
	atEachWrite(t, 15, 1, func(t *testing.T, c cut) *world {
		w := zoned(t, 6)
		byTemplate(w)
		w.dies(c)
		w.run(300)
		checkRestarted(t, w, true)
		return w
	})
}

// What has changed between the allocation lock and the deletion gives the allocation lock back.
func TestAZoneIsLookedAtOnceMoreUnderTheAllocationLock(t *testing.T) {
	for name, change := range map[string]func(*model.Observed){
		"a copy has moved into the zone": func(o *model.Observed) {
			o.Database.Tables = []model.Table{{Name: "doc.t", Replicas: "1", Started: 2}}
			o.Database.Shards = []model.Shard{{Table: "doc.t", Node: hot + "/0", State: "STARTED", Primary: true}, {Table: "doc.t", Node: hot + "/3", State: "STARTED"}}
		},
		"a copy elsewhere is not started": func(o *model.Observed) {
			o.Database.Tables = []model.Table{{Name: "doc.t", Replicas: "1", Started: 1}}
			o.Database.Shards = []model.Shard{{Table: "doc.t", Node: hot + "/0", State: "STARTED", Primary: true}, {Table: "doc.t", Node: hot + "/1", State: "INITIALIZING"}}
		},
		"one pod is another by now": func(o *model.Observed) { o.Pods[3].UID = "another" },
		"the tables are not known":  func(o *model.Observed) { o.Database.TablesKnown = false },
		// Alone it would be a repair, which waits for nothing that runs.
		"one pod is not ready any more, and OPTIMIZE TABLE runs": func(o *model.Observed) {
			o.Pods[0].Ready, o.Pods[0].NotReady, o.Pods[0].Runs = false, "containers with unready status: [crate]", true
			o.Database.Answers = answers(gates.OptimizeRunningRule.Name)
		},
		// Its copies may all be in the zone.
		"a table is denied to system": func(o *model.Observed) {
			o.Database.Denied = []model.Denial{{Grantee: "system", Privilege: "DQL", Class: "TABLE", Ident: "doc.a"}}
		},
		"what is denied to system is not known": func(o *model.Observed) { o.Database.DeniedKnown = false },
	} {
		t.Run(name, func(t *testing.T) {
			w := zoned(t, 6)
			byAnnotation(w)
			w.until(func() bool {
				return w.record.Operation != nil && w.record.Operation.Step == model.StepLock && w.persistent == "primaries"
			})
			o := w.observe()
			d := ops.Decide(w.desired, o, w.record, model.Policy{}, w.now)
			require.NotNil(t, d.Disruptive)
			require.Equal(t, model.ActionRestartZone, d.Disruptive.Kind)
			change(&o)
			d = ops.Decide(w.desired, o, w.record, model.Policy{}, w.now)
			assert.Nil(t, d.Disruptive)
			assert.Equal(t, model.StepReturn, d.Record.Operation.Step)
		})
	}
}
