package daemon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// What is said of a pod is written again soon where more is known of it, and seldom where
// only numbers have moved.
func TestWordsAreWrittenAgainSoonerThanNumbers(t *testing.T) {
	say := func(words string) model.Decision {
		return model.Decision{Verdict: model.Wait, Waits: []model.Reason{{Name: "pods-ready", Message: words}}}
	}
	before := shown(model.Shown{}, say("2 of 3 pods are ready"), nil, false, began.Time)
	for _, c := range []struct {
		words   string
		after   time.Duration
		written bool
	}{
		{"1 of 3 pods are ready", progressRefresh, false},
		{"1 of 3 pods are ready", shownRefresh, true},
		{"2 of 3 pods are ready; a webhook refuses the third", progressRefresh - time.Second, false},
		{"2 of 3 pods are ready; a webhook refuses the third", progressRefresh, true},
		{"2 of 3 pods are ready", time.Hour, false},
	} {
		after := shown(before, say(c.words), nil, false, began.Add(c.after))
		assert.Equal(t, c.written, after.At.After(before.At), "%s after %s", c.words, c.after)
	}
}

// A node had left, and status said for two more steps that all its shards were still on it.
func TestProgressIsThatOfTheStepThatTheOperationIsAt(t *testing.T) {
	at := func(step string, p *model.Progress) (model.Decision, model.Record) {
		rec := model.Record{Operation: &model.Operation{Kind: model.OperationShrink, Step: step}}
		return model.Decision{Verdict: model.Wait, Waits: []model.Reason{{Name: "draining", Message: step}}, Progress: p, Record: rec}, rec
	}
	drained, drain := at("drain", &model.Progress{Total: 1, ShardsLeft: 10, ShardsTotal: 10})
	before := shown(model.Shown{}, drained, nil, false, began.Time)
	for name, c := range map[string]struct {
		step    string
		left    int // 0: nothing is counted
		written bool
	}{
		"the same step a moment later": {"drain", 4, false},
		"another step":                 {"make-smaller", 4, true},
		"nothing is counted any more":  {"drain", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := &model.Progress{Total: 1, ShardsLeft: c.left, ShardsTotal: 10}
			if c.left == 0 {
				p = nil
			}
			decision, rec := at(c.step, p)
			next := shown(before, decision, nil, stepped(&drain, &rec), began.Add(time.Second))
			assert.Equal(t, c.written, equalProgress(p, next.Progress))
			assert.Equal(t, p, withoutPast(before, decision, began.Add(time.Second)).Progress, "where the daemon acts at once")
		})
	}
	assert.True(t, stepped(&drain, &model.Record{}))
	assert.False(t, stepped(&drain, &drain))
}

func TestAMistakeInADefinitionIsReportedOnceForEachPush(t *testing.T) {
	key := record.Cluster{Namespace: "prod", Name: "orders"}
	mistakes := []string{"orders.yaml:8:7: spec.nodes.data[0].replica: unknown field: did you mean replicas?"}
	first := brokenDefinition(key, model.Shown{}, mistakes, wanted{commit: "main@sha1:1"})
	require.Len(t, first, 1)
	assert.Equal(t, model.StatusFailure, first[0].Status)
	assert.Contains(t, first[0].Message, "orders.yaml:8:7")

	again := brokenDefinition(key, model.Shown{}, mistakes, wanted{commit: "main@sha1:1"})
	assert.Equal(t, first[0].ID, again[0].ID, "a kill before it is recorded makes no second report")
	assert.Empty(t, brokenDefinition(key, model.Shown{Problems: mistakes}, mistakes, wanted{commit: "main@sha1:1"}), "recorded: told")
	assert.Empty(t, brokenDefinition(key, model.Shown{Problems: mistakes}, nil, wanted{commit: "main@sha1:2"}), "corrected")
	assert.NotEqual(t, first[0].ID, brokenDefinition(key, model.Shown{}, mistakes, wanted{commit: "main@sha1:3"})[0].ID, "made again later")
}

// A cluster that was refused for an hour was said to be so for six seconds, whenever another
// refusal came to it.
func TestTheStateIsTheSameSinceItBecameSo(t *testing.T) {
	refused := func(names ...string) (d model.Decision) {
		d.Verdict = model.Refuse
		for _, name := range names {
			d.Refusals = append(d.Refusals, model.Reason{Name: name})
		}
		return d
	}
	waits := func(name string) model.Decision {
		return model.Decision{Verdict: model.Wait, Waits: []model.Reason{{Name: name}}}
	}
	before := shown(model.Shown{}, refused("downgrade"), nil, false, began.Time)
	before.Since = since(&model.Record{}, &model.Record{Shown: before}, began.Time)
	require.Equal(t, began.UTC().Truncate(time.Second), before.Since)
	for _, c := range []struct {
		name     string
		now      model.Decision
		problems []string
		same     bool
	}{
		{"another refusal", refused("cluster-name"), nil, true},
		{"one more refusal", refused("downgrade", "cluster-name"), nil, true},
		{"its definition is gone", refused("orphaned"), nil, false},
		{"it waits", waits("health-green"), nil, false},
		{"it is paused", waits("paused"), nil, false},
		{"its definition is broken", refused("downgrade"), []string{"orders.yaml:1:1: no"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			after := shown(before, c.now, c.problems, false, began.Add(time.Hour))
			sinced := since(&model.Record{Shown: before}, &model.Record{Shown: after}, began.Add(time.Hour))
			assert.Equal(t, c.same, sinced.Equal(before.Since))
			assert.True(t, after.At.After(before.At))
		})
	}
}

// A cluster that had its users by now was said to wait for its first pod.
func TestWhatIsWaitedForNoMoreIsNotShown(t *testing.T) {
	wait := func(names ...string) (all []model.Reason) {
		for _, name := range names {
			all = append(all, model.Reason{Name: name})
		}
		return all
	}
	for _, c := range []struct {
		name    string
		before  []string
		now     []string
		reasons []string
		verdict model.Verdict
	}{
		{"none is waited for", []string{"eligible-master-ready"}, nil, nil, model.Act},
		{"one of two is", []string{"pods-ready", "nodes-joined"}, []string{"pods-ready"}, []string{"pods-ready"}, model.Wait},
		{"there was none", nil, nil, nil, model.Wait},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := shown(model.Shown{}, model.Decision{Verdict: model.Wait, Waits: wait(c.before...)}, nil, false, began.Time)
			after := withoutPast(before, model.Decision{Verdict: model.Act, Waits: wait(c.now...)}, began.Add(time.Minute))
			var reasons []string
			for _, r := range after.Reasons {
				reasons = append(reasons, r.Name)
			}
			assert.Equal(t, c.reasons, reasons)
			assert.Equal(t, c.verdict.String(), after.Verdict)
			assert.Len(t, before.Reasons, len(c.before), "what was shown is not changed")
		})
	}
}

// The commit of a broken definition was that of the last good one.
func TestABrokenDefinitionIsOfTheCommitThatBrokeIt(t *testing.T) {
	mistake, other := model.Shown{Problems: []string{"a"}}, model.Shown{Problems: []string{"b"}}
	first := brokenBy(model.Shown{}, mistake, wanted{commit: "main@sha1:1", newest: "main@sha1:2"})
	assert.Equal(t, "main@sha1:2", first)
	mistake.Commit = first
	assert.Equal(t, first, brokenBy(mistake, mistake, wanted{commit: "main@sha1:1", newest: "main@sha1:3"}), "a later commit did not bring it")
	assert.Equal(t, "main@sha1:3", brokenBy(mistake, other, wanted{commit: "main@sha1:1", newest: "main@sha1:3"}))
	assert.Empty(t, brokenBy(mistake, model.Shown{}, wanted{commit: "main@sha1:4"}))
}

// A suspension without a wait went from done to suspended, and SINCE was that of done.
func TestASuspendedClusterIsSoSinceItsSuspensionHasEnded(t *testing.T) {
	done := began.Add(-time.Hour)
	of := func(sets int, operation *model.Operation) *model.Record {
		return &model.Record{Suspended: make([]model.RecordedSet, sets), Operation: operation, Shown: model.Shown{Since: done}}
	}
	verdict := func(v model.Verdict) func(*model.Record) *model.Record {
		return func(r *model.Record) *model.Record { r.Shown.Verdict = v.String(); return r }
	}
	waits, isDone := verdict(model.Wait), verdict(model.Done)
	suspends, resumes, grows := &model.Operation{Kind: model.OperationSuspend}, &model.Operation{Kind: model.OperationResume}, &model.Operation{Kind: model.OperationGrow}
	for _, c := range []struct {
		name         string
		before, next *model.Record
		since        time.Time
	}{
		{"it runs as before", of(0, nil), of(0, nil), done},
		{"its suspension begins", of(0, nil), of(1, suspends), done},
		{"its suspension has ended", of(1, suspends), of(1, nil), began.UTC()},
		{"it is suspended as before", of(1, nil), of(1, nil), done},
		{"its resume begins", of(1, nil), of(1, resumes), began.UTC()},
		{"a suspended cluster waits for its resume with a template", of(1, nil), waits(of(1, nil)), done},
		{"an operation begins, and no other words are written yet", isDone(of(0, nil)), isDone(of(0, grows)), began.UTC()},
	} {
		assert.Equal(t, c.since, since(c.before, c.next, began.Time), c.name)
	}
}
