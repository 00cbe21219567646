package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// named asks for a pod to be replaced, as it is now.
func (s *situation) named(pod string) {
	s.o.Commands.ReplacePod = pod + "/" + s.podOf(pod).UID
}

// alone has a pod that is stuck in a cluster that answers, on its set's template.
func alone(t *testing.T, pod string) *situation {
	s := twoGroups(t)
	s.onTemplate(map[string]string{hot: "t1", warm: "t1"})
	s.away(pod)
	p := s.podOf(pod)
	p.Runs, p.Started = true, s.o.At.Add(-time.Hour)
	s.named(pod)
	return s
}

// votes makes the nodes of a group master-eligible.
func (s *situation) votes(set string) {
	s.d.Sets = slices.Clone(s.d.Sets)
	s.o.Sets = slices.Clone(s.o.Sets)
	for i := range s.d.Sets {
		s.d.Sets[i].MasterEligible = s.d.Sets[i].MasterEligible || s.d.Sets[i].Name == set
	}
	for i := range s.o.Sets {
		s.o.Sets[i].MasterEligible = s.o.Sets[i].MasterEligible || s.o.Sets[i].Name == set
	}
}

// unreachable: nobody answers, since so long.
func (s *situation) unreachable(since time.Duration) {
	s.o.Database.Contact, s.o.Database.Nodes, s.o.Database.Pods = model.No, nil, nil
	s.o.Stable.Unreachable = s.o.At.Add(-since)
}

func TestAPodThatAPersonNamesIsReplacedOnlyWhereItIsNoMember(t *testing.T) {
	const pod = warm + "-0"
	claim := func(s *situation, version string) {
		s.o.Claims = append(s.o.Claims, model.Claim{Name: "data-" + pod, Set: warm, Ordinal: 0, Version: version, ClusterID: s.r.ClusterID})
	}
	for _, c := range []struct {
		name   string
		change func(*situation)
		// words of the gate; "" where the pod goes.
		words string
	}{
		{"no member knows it, and its process runs on its set's template", func(*situation) {}, ""},
		{"its process does not run", func(s *situation) { s.podOf(pod).Waiting, s.podOf(pod).Runs = "CrashLoopBackOff", false }, ""},
		{"the definition is refused", func(s *situation) {
			s.d.Changes = append(s.d.Changes, model.Change{Class: model.ChangeVolumes, Set: hot})
		}, ""},
		{"its claim is being deleted", claimOf(pod, false, nil), "replace-volume"},
		{"its claim, agreed, and each shard is whole without it", claimOf(pod, true, nil), ""},
		{"its claim, agreed, and a shard is missing", claimOf(pod, true, func(s *situation) { s.o.Database.Health.Colour = model.Red }), "started primary elsewhere"},
		{"its claim, agreed, and a hidden one may be", claimOf(pod, true, func(s *situation) { s.o.Database.DeniedKnown = false }), "not all tables are visible"},
		{"its claim, agreed, it votes, and most of the others are members", claimOf(pod, true, func(s *situation) { s.votes(warm) }), ""},
		{"its claim, agreed, it votes, and of three others one is a member", claimOf(pod, true, func(s *situation) {
			s.votes(warm)
			s.away(hot + "-1")
			s.away(hot + "-2")
		}), "started primary elsewhere"},
		{"its claim, agreed, and nobody answers", claimOf(pod, true, func(s *situation) {
			s.unreachable(time.Minute)
			s.podOf(pod).Waiting, s.podOf(pod).Runs = "CrashLoopBackOff", false
		}), "started primary elsewhere"},
		{"its claim, and no node was ever on it", claimOf(pod, false, func(s *situation) {
			s.o.Claims[len(s.o.Claims)-1].ClusterID, s.podOf(pod).Started, s.podOf(pod).Runs, s.podOf(pod).Waiting = "", time.Time{}, false, "ImagePullBackOff"
			s.o.Claims[len(s.o.Claims)-1].Made = s.podOf(pod).Created
		}), ""},
		{"its claim, which was never bound", claimOf(pod, false, func(s *situation) {
			s.o.Claims[len(s.o.Claims)-1].ClusterID, s.podOf(pod).Started, s.podOf(pod).Runs, s.podOf(pod).Waiting = "", time.Time{}, false, "ImagePullBackOff"
			s.o.Claims[len(s.o.Claims)-1].Phase = "Pending"
		}), ""},
		{"its claim is older than the pod, and says of no node: one may have gone before it said so", claimOf(pod, false, func(s *situation) {
			s.o.Claims[len(s.o.Claims)-1].ClusterID, s.podOf(pod).Started, s.podOf(pod).Runs, s.podOf(pod).Waiting = "", time.Time{}, false, "ImagePullBackOff"
			s.o.Claims[len(s.o.Claims)-1].Made = s.podOf(pod).Created.Add(-time.Minute)
		}), "stays: if copies on other nodes suffice"},
		{"its volume was written by the same version", func(s *situation) { claim(s, s.r.Version) }, ""},
		{"it is ready", func(s *situation) { s.joins(pod) }, "it is ready"},
		{"it is not ready, and its node is a member", func(s *situation) { s.joins(pod); s.podOf(pod).Ready = false }, "is a member"},
		{"its process does not run, and its node is a member still", func(s *situation) {
			s.joins(pod)
			s.podOf(pod).Ready, s.podOf(pod).Runs, s.podOf(pod).Waiting = false, false, "CrashLoopBackOff"
		}, "is a member"},
		{"the nodes could not be read", func(s *situation) { s.o.Database.NodesKnown, s.o.Database.Nodes = false, nil }, "has to be asked for its nodes"},
		{"there is no master, and it has just started", func(s *situation) {
			s.o.Database.MasterNode, s.podOf(pod).Started = "", s.o.At.Add(-time.Minute)
		}, "still has time until"},
		{"there is no master, and it has had its time", func(s *situation) { s.o.Database.MasterNode = "" }, ""},
		{"nobody answers, and its process runs", func(s *situation) { s.unreachable(time.Minute) }, "nobody answers"},
		{"nobody answers, and its process does not run", func(s *situation) {
			s.unreachable(time.Minute)
			s.podOf(pod).Waiting, s.podOf(pod).Runs = "CrashLoopBackOff", false
		}, ""},
		{"a newer CrateDB has run in it than its set has", func(s *situation) { s.podOf(pod).Version = "99.1.0" }, "written by CrateDB 99.1.0"},
		{"a newer CrateDB has written to its volume", func(s *situation) { claim(s, "99.1.0") }, "written by CrateDB 99.1.0"},
		{"another pod is on its way out", func(s *situation) { s.podOf(hot + "-1").Terminating = true }, "another pod is on its way out"},
		{"the set's controller is behind", func(s *situation) {
			for i := range s.o.Sets {
				s.o.Sets[i].Generation = s.o.Sets[i].ObservedGeneration + 1
			}
		}, "has not seen its newest template"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := alone(t, pod)
			c.change(s)
			d := s.inSync()
			said := ""
			for _, w := range d.Waits {
				if w.Name == "replace-pod-waits" {
					said = w.Message
				}
			}
			if c.words != "" {
				assert.Nil(t, d.Disruptive)
				assert.Contains(t, said, c.words)
				assert.Contains(t, said, pod)
				return
			}
			assert.Empty(t, said)
			require.NotNil(t, d.Disruptive, "%v", d.Waits)
			assert.Equal(t, model.ActionReplaceStuckPod, d.Disruptive.Kind)
			assert.Equal(t, pod, d.Disruptive.Pod)
			assert.Equal(t, s.podOf(pod).UID, d.Disruptive.PodUID)
			if s.o.Database.Contact == model.Yes {
				assert.NotEmpty(t, d.Disruptive.Ask, "who can be asked is asked right before")
				assert.NotEqual(t, pod, d.Disruptive.Ask)
			}
		})
	}
}

// The next pod of the same name is another pod: nobody has looked at that.
func TestACommandToReplaceAPodIsForNoOtherPod(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
	}{
		{"there is another pod of its name", func(s *situation) { s.podOf(warm + "-0").UID = "after" }},
		{"it names no UID", func(s *situation) { s.o.Commands.ReplacePod = warm + "-0" }},
		{"it names a pod that is not there", func(s *situation) { s.o.Commands.ReplacePod = "x-0/uid" }},
		{"its pod is on its way out", func(s *situation) { s.podOf(warm + "-0").Terminating = true }},
		{"the cluster is paused", func(s *situation) { s.o.Commands.Paused = "true" }},
		{"the cluster is released", func(s *situation) { s.o.Commands.Released = "true" }},
		{"the command was given for another definition", func(s *situation) {
			s.r.Command = model.SeenCommand{Commands: s.o.Commands, Revision: "before"}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := alone(t, warm+"-0")
			c.change(s)
			d := s.inSync()
			assert.Nil(t, d.Disruptive)
			assert.NotContains(t, reasons(d.Waits), "replace-pod-waits")
		})
	}
}

// Two faults meet, and the order of the sets waits: a person chooses.
func TestAPodThatAPersonNamesGetsABlockedClusterGoing(t *testing.T) {
	stopped := func(s *situation) {
		s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepStopped, Started: s.o.At.Add(-time.Hour), Revision: s.d.Revision,
			Restart: &model.Restart{Set: hot, Pod: hot + "-0", PodUID: "before", Since: s.o.At.Add(-time.Hour)}}
	}
	for _, c := range []struct {
		name   string
		change func(*situation)
	}{
		{"a restart has stopped at its first pod, and another set is stuck", stopped},
		{"the definition is refused", func(s *situation) {
			s.d.Changes = append(s.d.Changes, model.Change{Class: model.ChangeVolumes, Set: hot})
		}},
		{"all are on the templates of their sets", func(s *situation) { s.onTemplate(map[string]string{hot: "t1", warm: "t1"}) }},
		{"the first pods of both sets have time left on theirs", func(s *situation) {
			for _, pod := range []string{hot + "-2", warm + "-0"} {
				s.podOf(pod).Template, s.podOf(pod).Created = "t2", s.o.At.Add(-time.Minute)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, pod := range []string{hot + "-0", hot + "-1", warm + "-0"} {
				s := twoGroups(t)
				s.onTemplate(map[string]string{hot: "t2", warm: "t2"})
				for i := range s.o.Pods {
					p := &s.o.Pods[i]
					p.Ready, p.Runs, p.Waiting = false, false, "CrashLoopBackOff"
				}
				s.unreachable(time.Minute)
				c.change(s)
				require.Nil(t, s.inSync().Disruptive, "it stands still")
				s.named(pod)
				d := s.inSync()
				require.NotNil(t, d.Disruptive, "%s: %v", pod, d.Waits)
				assert.Equal(t, pod, d.Disruptive.Pod)
			}
		})
	}
}

// What the daemon would replace by itself waits for what the person has named.
func TestAPodThatAPersonNamesGoesBeforeAnyOtherStuckPod(t *testing.T) {
	s := twoGroups(t)
	s.onTemplate(map[string]string{hot: "t2", warm: "t2"})
	for i := range s.o.Pods {
		p := &s.o.Pods[i]
		p.Ready, p.Runs, p.Waiting = false, false, "CrashLoopBackOff"
	}
	s.unreachable(time.Minute)
	require.Equal(t, hot+"-0", s.inSync().Disruptive.Pod)
	s.named(warm + "-0")
	require.Equal(t, warm+"-0", s.inSync().Disruptive.Pod)
}

// It holds nothing else back, and nothing calls the cluster undone for it.
func TestAPodThatIsNotReplacedByCommandHoldsNothingBack(t *testing.T) {
	s := alone(t, warm+"-0")
	s.joins(warm + "-0")
	d := s.inSync()
	assert.Contains(t, reasons(d.Waits), "replace-pod-waits")
	assert.Equal(t, model.Done, d.Verdict, "%v", d.Waits)
}

// Seed 800190992: the watch of pods brought nothing and still showed a pod in which CrateDB had not
// started, nobody had been asked, and its node had joined. It is looked at right before.
func TestAPodThatNobodyIsAskedForGoesOnlyWhileCrateDBHasNotStarted(t *testing.T) {
	const pod = warm + "-0"
	for _, c := range []struct {
		name           string
		started, asked bool
		kind           model.ActionKind
	}{
		{"it has never started, and nobody can be asked", false, false, model.ActionRecreatePod},
		{"it has never started, and another node is asked", false, true, model.ActionReplaceStuckPod},
		{"it has started and ended", true, false, model.ActionReplaceStuckPod},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := alone(t, pod)
			p := s.podOf(pod)
			p.Runs, p.Waiting = false, "ContainerCreating"
			if !c.started {
				p.Started = time.Time{}
			}
			if !c.asked {
				s.unreachable(time.Second)
			}
			d := s.inSync()
			require.NotNil(t, d.Disruptive, "%v", d.Waits)
			assert.Equal(t, []any{c.kind, pod, c.asked}, []any{d.Disruptive.Kind, d.Disruptive.Pod, d.Disruptive.Ask != ""})
		})
	}
}
