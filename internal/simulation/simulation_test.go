package simulation

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// schedules of the quick run; `make simulate` runs many more.
const quick = 120

func TestEveryInvariantHoldsInSchedulesOfPushesAndFaults(t *testing.T) {
	var stats Statistics
	for seed := range uint64(quick) {
		s := NewSchedule(seed)
		result := Run(s, &stats, nil)
		stats.Note(result)
		require.Nil(t, result.Violation, "make replay SEED=%d\n%v", seed, s)
	}
	assert.Equal(t, quick, stats.Finished)
	assert.Greater(t, stats.Hit, quick/2, "faults meet running operations")
	for _, operation := range []string{"bootstrap", "grow", "restart", "shrink", "upgrade"} {
		assert.NotZero(t, stats.Operations[operation], operation)
	}
}

func TestTheSameSeedTellsTheSameStory(t *testing.T) {
	for seed := range uint64(5) {
		var first, second strings.Builder
		Run(NewSchedule(seed), nil, &first)
		Run(NewSchedule(seed), nil, &second)
		require.Equal(t, first.String(), second.String(), "seed %d", seed)
	}
}

// What the simulation has found, each reduced to what it needs.
func TestWhatWasFoundStaysCorrected(t *testing.T) {
	for _, c := range []struct {
		name string
		s    Schedule
	}{
		{"the only node of a cluster is stuck on a bad template, and a correction comes", Schedule{
			Seed: 61, Start: Start{Hot: 1, Shards: 1},
			Items: []Item{{What: pushBadTemplate, At: 4900, A: 2, B: 5}},
		}},
		{"a correction comes just as the time of a hanging pod is over", Schedule{
			Seed: 43, Start: Start{Hot: 1, Warm: 2, Shards: 1},
			Items: []Item{{What: pushRestart, At: 99900, B: 4}, {What: pushBadTemplate, At: 281500, A: 5, B: 5}},
		}},
		{"the record is lost while the only node is stuck", Schedule{
			Seed: 20, Start: Start{Hot: 1, Shards: 1},
			Items: []Item{{What: pushBadTemplate, At: 76600, B: 4}, {What: loseRecord, Call: 38, A: 16, B: 35}},
		}},
		{"a grow begins on a template that cannot run", Schedule{
			Seed: 157, Start: Start{Hot: 1, Tables: []string{"0-1", "1"}, Shards: 1},
			Items: []Item{{What: pushBadTemplate, At: 17100, A: 1, B: 5}, {What: pushGrow, At: 46900, A: 1, B: 4}},
		}},
		{"a bad template follows a good one that some pods run already", Schedule{
			Seed: 71, Start: Start{Masters: 3, Hot: 2, Shards: 1},
			Items: []Item{{What: pushTemplate, At: 178200, A: 1, B: 3}, {What: pushBadTemplate, At: 248700, A: 4, B: 3}},
		}},
		{"somebody evicts a pod while another is about to go", Schedule{
			Seed: 126, Start: Start{Hot: 4, Tables: []string{"0-all", "1"}, Shards: 3},
			Items: []Item{{What: pushTemplate, At: 2300, A: 2, B: 1}, {What: evict, Call: 83, A: 31, B: 44}},
		}},
		{"pods of two groups are evicted onto a template that cannot run", Schedule{
			Seed: 130, Start: Start{Masters: 3, Hot: 2, Tables: []string{"0-1", "1-all", "1"}, Shards: 1},
			Items: []Item{{What: pushBadTemplate, At: 3300, A: 4, B: 6}, {What: evict, At: 7000, A: 50, B: 53}, {What: evict, Call: 14, A: 33, B: 52}},
		}},
		{"another template comes while the only node is upgraded", Schedule{
			Seed: 1571, Start: Start{Hot: 1, Tables: []string{"0-1"}, Shards: 1, Early: true},
			Items: []Item{{What: pushUpgrade, At: 4100, A: 4, B: 7}, {What: pushBadTemplate, At: 16600, A: 4}},
		}},
		{"a grow is taken back before its claims have said whose they are", Schedule{
			Seed: 4687, Start: Start{Hot: 4, Tables: []string{"1", "1", "0"}, Shards: 3},
			Items: []Item{{What: pushGrow, At: 200, A: 5, B: 2}, {What: pushShrink, At: 24100, A: 5, B: 4}, {What: pushGrow, At: 116600, A: 6, B: 2}},
		}},
		{"a node dies while two sets wait for a third template", Schedule{
			Seed: 4674, Start: Start{Hot: 5, Warm: 1, Tables: []string{"0", "0-1", "0-all", "1"}, Shards: 1, Second: true},
			Items: []Item{{What: pushTemplate, At: 3700, A: 2, B: 7}, {What: pushTemplate, At: 115600, A: 0, B: 2}, {What: loseVolume, Call: 159, A: 26, B: 5},
				{What: crashProcess, Call: 60, A: 26, B: 30}, {What: killNode, Call: 167, A: 29, B: 56}},
		}},
		{"a push is taken back between the record and the write", Schedule{
			Seed: 1142, Start: Start{Masters: 3, Hot: 8, Warm: 1, Tables: []string{"1", "1"}, Shards: 3, Second: true, Leave: true, Zones: true, Early: true},
			Items: []Item{{What: pushTemplate, At: 103900, A: 7, B: 2}, {What: pushRevert, At: 157000, A: 7}, {What: killBefore, Call: 136, A: 1, B: 2}, {What: killNode, At: 92300, A: 52, B: 8}},
		}},
		{"a cluster is suspended between the record of a bad template and its write", Schedule{
			Seed: 1739, Start: Start{Hot: 1, Tables: []string{"1"}, Shards: 1, Leave: true},
			Items: []Item{{What: pushBadTemplate, At: 3100, A: 5, B: 7}, {What: pushSuspend, At: 80200, A: 5, B: 1}},
		}},
		{"more copies are desired than there are nodes, then a group more, amid a restart", Schedule{
			Seed: 1454, Start: Start{Hot: 2, Tables: []string{"0-all"}, Shards: 1, Leave: true},
			Items: []Item{{What: pushRestart, At: 2600, A: 6, B: 2}, {What: pushAddGroup, At: 124000, A: 3}, {What: alterReplicas, Call: 13, A: 11, B: 47}},
		}},
		{"a group that never came up is removed", Schedule{
			Seed: 1603, Start: Start{Hot: 1, Shards: 1, Leave: true, Zones: true},
			Items: []Item{{What: pushBadTemplate, At: 4500, A: 2, B: 2}, {What: pushAddGroup, At: 53500, A: 4, B: 1}, {What: pushRemoveGroup, At: 277900, A: 1, B: 2}},
		}},
		{"what is stuck while the cluster is being made is corrected", Schedule{
			Seed: 1677, Start: Start{Hot: 1, Warm: 3, Shards: 1, Leave: true, Zones: true, Early: true},
			Items: []Item{{What: pushBadTemplate, At: 700, A: 2, B: 5}},
		}},
		{"a data node is stuck while its masters are being made", Schedule{
			Seed: 1581, Start: Start{Masters: 3, Hot: 1, Shards: 1, Leave: true, Zones: true, Early: true},
			Items: []Item{{What: pushBadTemplate, At: 300, A: 2}},
		}},
		{"another version comes from the first moment", Schedule{
			Seed: 4786, Start: Start{Hot: 2, Tables: []string{"1"}, Shards: 1, Leave: true, Early: true},
			Items: []Item{{What: pushUpgrade, At: 300, B: 4}},
		}},
		{"a group is made on a template that another set waits to try", Schedule{
			Seed: 9126, Start: Start{Hot: 3, Tables: []string{"0"}, Shards: 1, Extend: true, Leave: true},
			Items: []Item{{What: pushBadTemplate, At: 1400, A: 6, B: 5}, {What: pushAddGroup, At: 55800, A: 3, B: 5}, {What: crashProcess, Call: 66, A: 49, B: 13}, {What: pauseCommand, Call: 1, A: 50, B: 31}},
		}},
		{"a template is refused by a conflict, and another set would be next", Schedule{
			Seed: 3330, Start: Start{Hot: 2, Warm: 1, Shards: 1},
			Items: []Item{{What: pushTemplate, At: 42100, A: 7, B: 3}, {What: loseVolume, Call: 33, A: 35, B: 8}, {What: conflict, Call: 1, A: 58, B: 56}},
		}},
		{"a restart is aborted while its first pod is stuck", Schedule{
			Seed: 6202, Start: Start{Masters: 3, Hot: 1, Warm: 1, Shards: 1, Extend: true, Leave: true},
			Items: []Item{{What: pushBadTemplate, At: 1600, A: 2}, {What: pushPause, At: 39700, A: 1, B: 3}, {What: pushRevert, At: 58700, B: 4},
				{What: crashProcess, Call: 39, A: 30, B: 52}, {What: killBefore, Call: 20, A: 52, B: 30}, {What: abortCommand, At: 69900, A: 59, B: 7}},
		}},
		{"a process dies while the restart's first pod is stuck on a template that cannot run", Schedule{
			Seed: 18795, Start: Start{Hot: 2, Shards: 1, Extend: true, Leave: true},
			Items: []Item{{What: pushBadTemplate, At: 200, A: 2, B: 7}, {What: pushRelease, At: 16400, A: 2, B: 3}, {What: pushRelease, At: 75200, A: 6, B: 1}, {What: crashProcess, At: 121700, A: 55, B: 36}},
		}},
		{"somebody sets what is about to be set, and a template comes with it", Schedule{
			Seed: 6406, Start: Start{Hot: 1, Shards: 1, Leave: true}, Steps: 50,
			Items: []Item{{What: pushPause, At: 2600, A: 5, B: 2}, {What: pushSetting, At: 26900, A: 6, B: 4}, {What: settingByHand, Call: 3, A: 31, B: 39}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) { staysCorrected(t, c.s) })
	}
	for _, c := range slices.Concat(found, stoodStill, wasUnsafe, neverReady, byCommand, foundInVolumes, foundSince, foundInProgress, foundSafety, foundSafetyNext, foundFresh, foundSixBillion, foundWords) {
		t.Run(c.name, func(t *testing.T) { staysCorrected(t, c.s) })
	}
}

func soaks() bool { return os.Getenv("STEVEDORE_SOAK") != "" }

// More timings and more schedules of the same.
func TestSoakAllTimingsAndSchedules(t *testing.T) {
	if !soaks() {
		t.Skip("takes a minute: `make soak` runs it")
	}
	t.Run("what was found", TestWhatWasFoundStaysCorrected)
	t.Run("a node that nobody may ask about", TestANodeStaysWhileAnybodySeesAShardOnIt)
}

func staysCorrected(t *testing.T, s Schedule) {
	first := s.Seed
	// The same with other timings; STEVEDORE_TIMINGS is how many.
	timings := uint64(3)
	if soaks() {
		timings = 10
	}
	if n, err := strconv.ParseUint(os.Getenv("STEVEDORE_TIMINGS"), 10, 64); err == nil {
		timings = n
	}
	for seed := range timings {
		s.Seed = first + seed
		require.Nil(t, Run(s, nil, nil).Violation, "%v", s)
	}
}

// The judge sees what it is there for.
func TestTheJudgeNotices(t *testing.T) {
	for _, c := range []struct {
		invariant string
		breach    func(*world)
	}{
		{"A", func(w *world) { w.judge.lowers(w, &w.sets[1], 0, w.now) }},
		{"B", func(w *world) {
			w.judge.note(w, &w.slots[1], byDaemon)
			w.judge.down[1].since = w.now - 10*second
			w.slots[1].pod.ready = false
			w.judge.deletes(w, w.daemons[0], &w.slots[0])
		}},
		{"B", func(w *world) { w.judge.lowers(w, &w.sets[0], 1, w.now) }},
		{"availability", func(w *world) {
			for i := range w.shards {
				w.shards[i].copies = w.shards[i].copies[:1]
			}
			w.judge.deletes(w, w.daemons[0], &w.slots[w.shards[0].copies[0].slot])
		}},
		{"C", func(w *world) {
			w.excludeID.theirs = "somebodys"
			w.setGlobal(w.daemons[0], "PERSISTENT", `"cluster.routing.allocation.exclude._id" = 'node-1'`)
		}},
		{"C", func(w *world) {
			w.enable = clusterSetting{persistent: "none", theirs: "none"}
			w.setGlobal(w.daemons[0], "PERSISTENT", `"cluster.routing.allocation.enable" = 'primaries'`)
		}},
		{"C", func(w *world) {
			d := w.daemons[0]
			d.want, d.calm, w.commits[w.fetched()].released = w.fetched(), true, true
			w.enable = clusterSetting{persistent: "primaries", theirs: "all"}
			w.judge.owes(w, d)
			w.now += owedSoon
			w.judge.owes(w, d)
		}},
		{"identity", func(w *world) { w.founded = 2; w.judge.founded(w, &w.slots[0]) }},
	} {
		t.Run(c.invariant, func(t *testing.T) {
			s := Schedule{Seed: 3, Start: Start{Hot: 3, Warm: 1, Tables: []string{"1"}, Shards: 4}}
			w := newWorld(&s, nil, nil)
			for w.stored.record.Operation != nil || !w.stored.record.Bootstrap.Done {
				w.passOnce()
			}
			w.addTable("doc.a", "1", 4, firstVersion)
			w.advance(w.now + minute)
			w.daemons[0].checked, w.daemons[0].began = w.now, w.now-second
			v := broken(func() { c.breach(w) })
			require.NotNil(t, v)
			assert.Equal(t, c.invariant, v.Invariant, v.Message)
		})
	}
}

// broken is the violation that the judge finds in what is done; nil for none.
func broken(does func()) (v *Violation) {
	defer func() { v, _ = recover().(*Violation) }()
	does()
	return nil
}

// requireViolation requires that the judge found this invariant broken, or nothing.
func requireViolation(t *testing.T, v *Violation, invariant string, breaks bool) {
	t.Helper()
	if !breaks {
		require.Nil(t, v)
		return
	}
	require.NotNil(t, v)
	assert.Equal(t, invariant, v.Invariant, v.Message)
}

func TestAFailingScheduleShrinksToWhatItNeeds(t *testing.T) {
	s := NewSchedule(7)
	same := Minimise(s)
	require.Equal(t, fmt.Sprint(s), fmt.Sprint(same), "one that does not fail stays as it is")
}
