package ops_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

const adoptedWaits = "adopted-template"

// adoptedWorld is a running cluster that was just adopted, with a definition that makes another pod
// template of it.
func adoptedWorld(t *testing.T, d model.Desired) *world {
	t.Helper()
	w := newWorld(t, restartable(d))
	w.run(60)
	w.now = w.now.Add(time.Hour)
	w.adopt()
	w.desired.Revision = "rev-adopted"
	return w
}

// checkKept: no pod was restarted by us, and each runs what it was adopted with.
func checkKept(t *testing.T, w *world) {
	t.Helper()
	for name, p := range w.pods {
		assert.Zero(t, p.restarts, name)
		assert.Equal(t, model.AdoptedTemplate, p.template, name)
	}
	for set, live := range w.live {
		hash, _ := split(live)
		assert.Equal(t, model.AdoptedTemplate, hash, set)
		assert.Contains(t, w.set(set).Adopted, `"from":"crate-operator"`, set)
		assert.Contains(t, w.set(set).Adopted, `"desired":"hash of `, set)
	}
}

// checkReleased: each pod runs the desired template, and nothing says that it was adopted.
func checkReleased(t *testing.T, w *world) {
	t.Helper()
	for name, p := range w.pods {
		assert.Equal(t, w.wanted(), p.template, name)
	}
	for _, s := range w.sets {
		assert.Empty(t, s.Adopted, s.Name)
	}
	assert.Empty(t, w.record.Adopted)
	assert.Nil(t, w.record.Operation)
	assert.Equal(t, "all", w.persistent)
}

func TestWhatWasAdoptedIsDoneWithoutARestart(t *testing.T) {
	for name, desired := range map[string]model.Desired{"one group": wantedCluster(3), "masters and two groups": tiered(3, 2)} {
		t.Run(name, func(t *testing.T) {
			w := adoptedWorld(t, desired)
			d := w.run(60)
			checkKept(t, w)
			assert.Equal(t, model.StageVerified, d.Record.Stage)
			assert.Zero(t, reported(w, "RestartStarted"))
			assert.Contains(t, reportOf(t, w, "RevisionVerified").Message, "but for the pod templates that it was adopted with")
			assert.Equal(t, len(desired.Sets), len(reasonsNamed(d.Waits, adoptedWaits)), "each StatefulSet is named")
			assert.Contains(t, d.Waits[0].Message, "limits.memory", "with the fields")
			assert.Contains(t, d.Waits[0].Message, "`stevedore restart ns/c`", "and with what asks for it")
			writes := w.writes
			w.run(3)
			assert.Equal(t, writes, w.writes, "and then nothing is written")
		})
	}
}

func reasonsNamed(list []model.Reason, name string) []model.Reason {
	return slices.DeleteFunc(slices.Clone(list), func(r model.Reason) bool { return r.Name != name })
}

// What releases an adopted cluster: all that a person asks for which restarts pods.
func TestWhatReleasesAnAdoptedTemplate(t *testing.T) {
	for name, ask := range map[string]func(*world){
		"another template": byTemplate, "a time": byAnnotation, "a time in the future": byFuture,
		"any text": func(w *world) { w.desired.RestartedAt, w.desired.Revision = "please", "rev-restart" },
		"a command": func(w *world) {
			w.record.Command = model.SeenCommand{}
			w.commands.RestartedAt = w.now.Format(time.RFC3339)
		},
		"another version": func(w *world) { to(w, "5.10.2") },
	} {
		t.Run(name, func(t *testing.T) {
			w := adoptedWorld(t, wantedCluster(3))
			w.run(60)
			w.now = w.now.Add(time.Minute)
			ask(w)
			d := w.run(200)
			checkReleased(t, w)
			for name, p := range w.pods {
				assert.Equal(t, 1, p.restarts, name)
			}
			assert.Empty(t, reasonsNamed(d.Waits, adoptedWaits))
			writes := w.writes
			w.run(3)
			assert.Equal(t, writes, w.writes, "and then nothing is written")
		})
	}
}

// What does not release it, though something is changed.
func TestWhatKeepsAnAdoptedTemplate(t *testing.T) {
	for name, change := range map[string]func(*world){
		"a node more":    func(w *world) { w.desired.Sets[0].Replicas++ },
		"a node less":    func(w *world) { w.desired.Sets[0].Replicas-- },
		"a live setting": func(w *world) { w.desired.Settings = []model.Setting{{Name: "stats.jobs_log_size", Value: "7"}} },
		"a password":     func(w *world) { w.putSecret("ada", map[string][]byte{"password": []byte("another")}) },
		"a pod that is evicted": func(w *world) {
			w.pods["crate-data-hot-c-1"].away = 2
		},
		"a text in restartedAt that is as old as the definition": func(*world) {},
		"the record is lost":                      func(w *world) { w.record = model.Record{} },
		"another revision with the same template": func(*world) {},
		"the annotation is taken off by hand": func(w *world) {
			for i := range w.sets {
				w.sets[i].Adopted = ""
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := adoptedWorld(t, wantedCluster(4))
			if name == "a text in restartedAt that is as old as the definition" {
				w.desired.RestartedAt = "please"
			}
			w.run(60)
			w.now = w.now.Add(time.Minute)
			change(w)
			w.desired.Revision += "-changed"
			d := w.run(300)
			checkKept(t, w)
			assert.Len(t, reasonsNamed(d.Waits, adoptedWaits), 1)
			assert.Len(t, w.pods, w.desired.Sets[0].Replicas)
			assert.Equal(t, w.desired.Sets[0].Replicas, d.Effective.Sets[0].Gateway, "its gateway counts are for the nodes that there are")
		})
	}
}

// A template that was changed and changed back before the restart began asks for nothing.
func TestAChangeThatIsTakenBackBeforeTheRestartReleasesNothing(t *testing.T) {
	w := adoptedWorld(t, wantedCluster(3))
	w.run(60)
	before := w.template
	byTemplate(w)
	w.desired.Abort = true // it does not begin
	w.passes(20)
	checkKept(t, w)
	w.template, w.desired.Abort, w.desired.Revision = before, false, "rev-back"
	w.run(100)
	checkKept(t, w)
}

// A pod that somebody evicts in the middle of the restart comes back on what its set has then, and
// those that are left are still restarted.
func TestAPodIsEvictedInTheMiddleOfTheRestart(t *testing.T) {
	for _, victim := range []string{"crate-data-hot-c-1", "crate-data-hot-c-2"} {
		for after := 1; after <= 40; after += 3 {
			t.Run(fmt.Sprintf("%s after %d looks", victim, after), func(t *testing.T) {
				w := adoptedWorld(t, wantedCluster(3))
				w.run(60)
				byAnnotation(w)
				w.passes(after)
				w.pods[victim].away = 2
				w.run(300)
				checkReleased(t, w)
			})
		}
	}
}

// Nodes that are to come in the middle of the restart end it, and what is left is restarted after
// them: a pod without a hash of its template is not taken for one that was made before there were
// any.
func TestAGrowInTheMiddleOfTheRestartLeavesNoPodOnTheAdoptedTemplate(t *testing.T) {
	for after := 1; after <= 60; after += 4 {
		for _, ask := range []func(*world){byTemplate, byAnnotation} {
			t.Run(fmt.Sprintf("after %d looks", after), func(t *testing.T) {
				w := adoptedWorld(t, wantedCluster(3))
				w.run(60)
				ask(w)
				w.passes(after)
				w.desired.Sets = slices.Clone(w.desired.Sets)
				w.desired.Sets[0].Replicas, w.desired.Revision = 4, "rev-grown"
				w.run(300)
				checkReleased(t, w)
				assert.Len(t, w.pods, 4)
			})
		}
	}
}

// Killed before or after any write, with the record kept and lost, the take-over ends without a
// restart, and the restart that is asked for ends with every pod on the desired template.
func TestAnAdoptedClusterKilledAtAnyWriteEndsTheSame(t *testing.T) {
	for name, ask := range map[string]func(*world){"adopted": nil, "a template": byTemplate, "a time": byAnnotation} {
		restarted := func(t *testing.T, c cut) *world {
			w := adoptedWorld(t, tiered(3, 2))
			w.t = t
			if ask == nil {
				w.dies(c)
			}
			w.run(100)
			checkKept(t, w)
			if ask != nil {
				w.now = w.now.Add(time.Minute)
				ask(w)
				w.dies(c)
				w.run(400)
				checkReleased(t, w)
			}
			return w
		}
		whole := restarted(t, cut{})
		total := whole.writes - whole.began
		require.Greater(t, total, 3)
		for c := range cuts(total, 1+total/25) {
			t.Run(name+", "+c.String(), func(t *testing.T) { restarted(t, c) })
		}
	}
}

// The template that a restart brings is on trial like any other: if it does not run, its set goes back
// to the adopted one, and what runs stays as it is until the definition is corrected.
func TestATemplateThatDoesNotRunGivesTheAdoptedOneBack(t *testing.T) {
	w := adoptedWorld(t, wantedCluster(3))
	w.run(60)
	byTemplate(w)
	w.bad = map[string]bool{"t2": true}
	w.passes(1200)
	hash, _ := split(w.live["crate-data-hot-c"])
	assert.Equal(t, model.AdoptedTemplate, hash, "whoever is evicted now comes back on what works")
	on := 0
	for _, p := range w.pods {
		if p.template == model.AdoptedTemplate {
			on++
		}
	}
	assert.Equal(t, 2, on, "one pod tried it")
	w.template, w.desired.Revision = "t3", "rev-t3"
	w.run(300)
	checkReleased(t, w)
}

// A cluster that is stopped starts again on what it was adopted with.
func TestAnAdoptedClusterIsSuspendedAndResumed(t *testing.T) {
	w := adoptedWorld(t, wantedCluster(3))
	w.run(60)
	runs := w.desired
	w.desired = at0(w.desired)
	w.run(60)
	checkSuspended(t, w)
	w.desired = runs
	w.desired.Revision = "rev-resumed"
	d := w.run(200)
	hash, _ := split(w.live["crate-data-hot-c"])
	assert.Equal(t, model.AdoptedTemplate, hash)
	assert.Len(t, reasonsNamed(d.Waits, adoptedWaits), 1)
}

// A definition that is refused is not what the cluster was adopted with: once it is corrected, no pod
// restarts for the correction.
func TestADefinitionThatIsRefusedIsNotTheOneItWasAdoptedWith(t *testing.T) {
	w := adoptedWorld(t, sized(wantedCluster(3), sizeBefore))
	corrected := w.desired
	w.desired, w.template = sized(w.desired, "1Gi"), "t7" // volumes never become smaller like that
	var refused []model.Reason
	for range 20 {
		d, err := w.pass()
		require.NoError(t, err)
		refused = d.Refusals
	}
	require.NotEmpty(t, refused)
	w.desired, w.template, w.desired.Revision = corrected, "t1", "rev-corrected"
	w.run(100)
	checkKept(t, w)
}

// With the record lost in the middle of the restart the annotation says which pods are left.
func TestALostRecordInTheMiddleOfTheRestartLeavesNoPodBehind(t *testing.T) {
	for after := 1; after <= 60; after += 3 {
		t.Run(fmt.Sprintf("after %d looks", after), func(t *testing.T) {
			w := adoptedWorld(t, wantedCluster(3))
			w.run(60)
			byTemplate(w)
			w.passes(after)
			w.record = model.Record{}
			w.run(300)
			checkReleased(t, w)
		})
	}
}

// Other volumes need a restart of each pod, which comes back on the template that it had.
func TestTheVolumesOfAnAdoptedClusterAreReplacedOnItsTemplate(t *testing.T) {
	w := consentingWorld(t)
	w.now = w.now.Add(time.Hour)
	w.adopt()
	w.run(60)
	checkKept(t, w)
	w.desired = classed(w.desired, "slow", sizeBefore)
	w.run(900)
	for name, p := range w.pods {
		assert.Equal(t, model.AdoptedTemplate, p.template, name)
		assert.Equal(t, 1, p.restarts, name)
	}
	for _, c := range w.Claims {
		assert.Equal(t, "slow", c.Class, c.Name)
	}
	assert.NotEmpty(t, w.record.Adopted)
}

// The record is lost, and the definition has changed before another one is there: the StatefulSet says
// what it was adopted with, and the change releases it.
func TestWhatALostRecordKnewOfAnAdoptedSetIsOnIt(t *testing.T) {
	w := adoptedWorld(t, wantedCluster(3))
	w.run(60)
	w.record = model.Record{}
	byTemplate(w)
	w.run(200)
	checkReleased(t, w)
}

// The restart that a person asked for brings the desired template to a group, too, all of whose pods
// were evicted after it was asked for and before their turn: they came back on the adopted one.
func TestAGroupThatWasEvictedMeanwhileIsReleasedToo(t *testing.T) {
	w := adoptedWorld(t, tiered(3, 2))
	w.run(60)
	w.now = w.now.Add(time.Minute)
	byAnnotation(w)
	w.passes(8)
	w.pods["crate-data-cold-c-0"].away = 2
	w.run(400)
	checkReleased(t, w)
}

// Its StatefulSet is recreated around its pods, with larger claim templates, and on its template.
func TestTheVolumesOfAnAdoptedClusterGrowWithoutARestart(t *testing.T) {
	w := adoptedWorld(t, sized(wantedCluster(3), sizeBefore))
	w.run(60)
	w.desired = sized(w.desired, sizeAfter)
	w.desired.Revision = "rev-larger"
	w.run(200)
	checkKept(t, w)
	for _, c := range w.Claims {
		assert.Equal(t, w.desired.Volumes[0].Size, c.Capacity, c.Name)
	}
}
