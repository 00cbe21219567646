package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// situation is a cluster of three nodes, made and verified, and what is done to
// it before a decision.
type situation struct {
	d model.Desired
	o model.Observed
	r model.Record
}

func made(t testing.TB) *situation {
	w := newWorld(&testing.T{}, wantedCluster(3))
	for range 30 {
		if d, err := w.pass(); err == nil && d.Verdict == model.Done && !d.Save {
			return &situation{d: w.desired, o: w.observe(), r: w.record}
		}
	}
	require.Fail(t, "the cluster was not made")
	return nil
}

func (s *situation) decide() model.Decision {
	return ops.Decide(s.d, s.o, s.r, model.Policy{}, s.o.At)
}

func reasons(list []model.Reason) []string {
	var out []string
	for _, r := range list {
		out = append(out, r.Name)
	}
	return out
}

func kinds(d model.Decision) []model.ActionKind {
	var out []model.ActionKind
	for _, a := range d.Actions() {
		out = append(out, a.Kind)
	}
	return out
}

const hot = "crate-data-hot-c"

func TestWhatIsNotSupportedIsRefusedByNameAndNothingOfItIsApplied(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
		refuse string
		words  string
	}{
		{"fewer replicas", func(s *situation) { s.d.Sets[0].Replicas = 2 }, "master-quorum", "two-masters"},
		{"no replicas at all", func(s *situation) { s.d.Sets[0].Replicas = 0 }, "suspend-without-consent", "look like a mistake"},
		{"new masters", func(s *situation) {
			s.d.Sets = append([]model.Set{{Name: "crate-master-c", Group: "master", Dedicated: true, MasterEligible: true, Replicas: 3}}, s.d.Sets...)
		}, "new-group-not-supported", "dedicated masters"},
		{"a group that is gone", func(s *situation) {
			s.d.Sets = []model.Set{{Name: "crate-data-cold-c", Group: "cold", Data: true, Replicas: 3}}
		}, "master-group-stays", "group hot"},
		{"other names of a group that runs", func(s *situation) { s.d.Sets[0].Names = `{"group":"hot"}` }, "names-stay", "stevedore's own"},
		{"another StatefulSet of a group that runs", func(s *situation) {
			s.o.Sets[0].Names, s.o.Sets[0].Group = `{"group":"hot","statefulSet":"crate"}`, "hot"
			s.d.Sets[0].Name = "crate-data-other-c"
		}, "names-stay", "StatefulSet crate-data-hot-c"},
		{"a minor left out", func(s *situation) {
			s.d.Version = "6.1.4"
			s.d.Changes = []model.Change{{Class: model.ChangeImage, Set: hot, Path: "spec.template.spec.containers[crate].image"}}
		}, "version-path", "5.10.1 runs and 6.1.4"},
		{"tables that the next major refuses", func(s *situation) {
			s.d.Version = "6.0.6"
			s.o.Database.Tables = []model.Table{{Name: "doc.old", Created: "4.8.4", Started: 1}, {Name: "doc.t", Created: "5.1.0", Started: 1}}
		}, "tables-too-old", "1 table(s) were (doc.old of 4.8.4)"},
		{"a release that loses data of old tables", func(s *situation) {
			s.d.Version = "6.0.5"
			s.o.Database.Tables = []model.Table{{Name: "doc.t", Created: "5.4.0", Started: 1}}
		}, "release-loses-data", "doc.t of 5.4.0"},
		{"an older minor", func(s *situation) { s.d.Version = "5.9.0" }, "downgrade-refused", "5.10.1"},
		{"rolling updates by Kubernetes", func(s *situation) {
			s.d.Changes = []model.Change{{Class: model.ChangeRestart, Set: hot, Path: "spec.updateStrategy.type"}}
		}, "update-strategy-change", "spec.updateStrategy.type"},
		{"bigger volumes", func(s *situation) {
			s.d.Changes = []model.Change{{Class: model.ChangeVolumes, Set: hot, Path: "spec.volumeClaimTemplates[data0]", Old: "1Gi", New: "2Gi"}}
		}, "volume-change-not-supported", "1Gi"},
		{"a field that Kubernetes keeps", func(s *situation) {
			s.d.Changes = []model.Change{{Class: model.ChangeImmutable, Set: hot, Path: "spec.serviceName", Old: "cratedb", New: "x"}}
		}, "immutable-field", "spec.serviceName"},
		{"another spec.cluster.name", func(s *situation) { s.d.ClusterName = "other" }, "cluster-name-change", `"crate" and "other"`},
		{"TLS on", func(s *situation) { s.d.TLS = true }, "tls-change-not-supported", "TLS on"},
		{"replicas raised by hand", func(s *situation) { s.o.Sets[0].Replicas = 5 }, "replicas-raised-by-others", "from 3 to 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			s.d.Revision, s.d.Commit = "rev-x", "commit-x"
			s.d.Users = append(slices.Clone(s.d.Users), model.User{Name: "eve", Secret: model.SecretKey{Name: "ada", Key: "password"}})
			c.change(s)
			d := s.decide()
			require.Equal(t, model.Refuse, d.Verdict)
			assert.Contains(t, reasons(d.Refusals), c.refuse)
			i := slices.Index(reasons(d.Refusals), c.refuse)
			assert.Contains(t, d.Refusals[i].Message, c.words)
			assert.True(t, d.Apply, "what is harmless goes on")
			assert.Contains(t, kinds(d), model.ActionSetUser, "a new user waits for none of it")
			assert.Nil(t, d.Disruptive)
			assert.GreaterOrEqual(t, d.Effective.Sets[0].Replicas, 3)
			assert.Equal(t, hot, d.Effective.Sets[0].Name)
			for _, e := range d.Effective.Sets {
				if c.refuse != "replicas-raised-by-others" {
					assert.True(t, e.Absent || e.Template == model.TemplateKept, "%s stays as it was", e.Name)
				}
				if e.Name != hot {
					assert.True(t, e.Absent, "%s is not created", e.Name)
				}
			}
			assert.Equal(t, "5.10.1", d.Record.Version)
			require.Len(t, d.Reports, 1)
			assert.Equal(t, model.StatusFailure, d.Reports[0].Status)
			assert.Contains(t, d.Reports[0].Names, c.refuse)

			s.r = d.Record
			assert.Empty(t, s.decide().Reports, "it is reported once")
		})
	}
}

func TestWhoMayTouchACluster(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
		reason string
		refuse bool
	}{
		{"another source owns it", func(s *situation) { s.d.Owner = "git:b" }, "another-owner", true},
		{"its definition is gone", func(s *situation) { s.d.Removed = true }, "orphaned", true},
		{"a pod of another cluster", func(s *situation) { s.o.Database.Pods[1].ClusterID = "id-2" }, "foreign-cluster-id", true},
		{"an object of another", func(s *situation) { s.o.Foreign = []model.Foreign{{Object: "Service crate-c", Owner: "the cluster d"}} }, "object-not-ours", true},
		{"paused in the definition", func(s *situation) { s.d.Paused = true }, "paused", false},
		{"paused by command", func(s *situation) { s.o.Commands.Paused = "true" }, "paused", false},
		{"released by command", func(s *situation) { s.o.Commands.Released = "true" }, "released", false},
		{"released in the definition", func(s *situation) { s.d.Released = true }, "released", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			s.d.Sets[0].Replicas = 5
			c.change(s)
			d := s.decide()
			assert.False(t, d.Apply)
			assert.Nil(t, d.Disruptive)
			for _, a := range d.Harmless {
				assert.Equal(t, model.ActionSetBudget, a.Kind)
			}
			assert.Len(t, d.Record.Sets, 1)
			assert.Equal(t, 3, d.Record.Sets[0].Replicas, "no intent is recorded")
			if c.refuse {
				assert.Equal(t, []string{c.reason}, reasons(d.Refusals))
			} else {
				assert.Equal(t, []string{c.reason}, reasons(d.Waits))
			}
		})
	}
}

func TestBothOwnersAreNamedAndTheRecordStaysTheFirsts(t *testing.T) {
	s := made(t)
	s.d.Owner = "git:b"
	d := s.decide()
	assert.Contains(t, d.Refusals[0].Message, "git:a")
	assert.Contains(t, d.Refusals[0].Message, "git:b")
	assert.False(t, d.Save)
	assert.Equal(t, s.r, d.Record)

	s.d.Operations.Consent = []definition.Consent{definition.ConsentTakeOver}
	d = s.decide()
	assert.Empty(t, d.Refusals)
	assert.Equal(t, "git:b", d.Record.Owner)
}

func TestAnOrphanKeepsItsObjectsAndItsBudgetIsReturned(t *testing.T) {
	s := made(t)
	s.d = model.Desired{Namespace: "ns", Name: "c", Owner: "git:a", Removed: true, Revision: s.r.Revision}
	s.o.Budgets[0].MaxUnavailable = 0
	d := s.decide()
	assert.Equal(t, []model.ActionKind{model.ActionSetBudget}, kinds(d))
	assert.Equal(t, 1, d.Harmless[0].Value)
	assert.Equal(t, model.StageRemovalPending, d.Record.Stage)
	require.Len(t, d.Reports, 1)
	s.r = d.Record
	assert.Empty(t, s.decide().Reports)
	assert.Equal(t, []model.ActionKind{model.ActionSetBudget}, kinds(s.decide()))
}

func TestACommandWinsUntilTheRenderChanges(t *testing.T) {
	s := made(t)
	s.o.Commands.Paused = "true"
	d := s.decide()
	require.Equal(t, []string{"paused"}, reasons(d.Waits))
	require.True(t, d.Save)
	s.r = d.Record
	s.d.Commit = "another commit, the same render"
	require.Equal(t, []string{"paused"}, reasons(s.decide().Waits))
	s.d.Revision = "rev-x"
	require.NotContains(t, reasons(s.decide().Waits), "paused")
	s = made(t)
	s.d.Paused = true
	s.o.Commands.Paused = "false"
	require.NotContains(t, reasons(s.decide().Waits), "paused", "resume wins over the annotation")
}

func TestARenameWouldBeAnEmptyDatabase(t *testing.T) {
	d := wantedCluster(3)
	d.RenamedFrom = "ns/old"
	got := ops.Decide(d, model.Observed{}, model.Record{}, model.Policy{}, time.Unix(1, 0))
	assert.Equal(t, []string{"rename"}, reasons(got.Refusals))
	assert.False(t, got.Apply)
	s := made(t)
	s.d.RenamedFrom = "ns/old"
	assert.Empty(t, s.decide().Refusals, "a cluster that exists is none")
}

func TestGrowing(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
		waits  string
		refuse string
	}{
		{"all is well", func(*situation) {}, "", ""},
		{"health is red: a node may be what it needs", func(s *situation) { s.o.Database.Health.Colour = model.Red }, "", ""},
		{"no contact", func(s *situation) { s.o.Database.Contact = model.No }, "no-contact", ""},
		{"a node that has found no cluster", func(s *situation) { s.o.Database.ClusterID = "_na_" }, "no-contact", ""},
		{"not recovered", func(s *situation) { s.o.Database.Recovered = model.No }, "gateway-recovered", ""},
		{"recovery not known", func(s *situation) { s.o.Database.Recovered = model.Unknown }, "gateway-recovered", ""},
		{"an old reading", func(s *situation) { s.o.Database.At = s.o.At.Add(-time.Hour) }, "fresh-reading", ""},
		{"a claim of another cluster", func(s *situation) {
			s.o.Claims = append(s.o.Claims, model.Claim{Name: "data0-x-3", Set: hot, Ordinal: 3, ClusterID: "id-2"})
		}, "", "claim-of-another-cluster"},
		{"a claim that says nothing", func(s *situation) {
			s.o.Claims = append(s.o.Claims, model.Claim{Name: "data0-x-3", Set: hot, Ordinal: 3})
		}, "", "claim-of-another-cluster"},
		{"a claim of a newer version", func(s *situation) {
			s.o.Claims = append(s.o.Claims, model.Claim{Name: "data0-x-3", Set: hot, Ordinal: 3, ClusterID: "id-1", Version: "6.0.0"})
		}, "", "claim-version-unreadable"},
		{"an own claim that is left", func(s *situation) {
			s.o.Claims = append(s.o.Claims, model.Claim{Name: "data0-x-3", Set: hot, Ordinal: 3, ClusterID: "id-1", Version: "5.10.0"})
		}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			s.d.Revision = "rev-4"
			s.d.Sets[0].Replicas = 4
			c.change(s)
			d := s.decide()
			e := d.Effective.Sets[0]
			assert.Equal(t, model.TemplateKept, e.Template, "gateway counts follow the replicas, never lead them")
			switch {
			case c.waits != "":
				assert.Contains(t, reasons(d.Waits), c.waits)
				assert.Equal(t, 3, e.Replicas)
			case c.refuse != "":
				assert.Contains(t, reasons(d.Refusals), c.refuse)
				assert.Equal(t, 3, e.Replicas)
			default:
				assert.Equal(t, 4, e.Replicas)
				require.NotNil(t, d.Record.Operation)
				assert.Equal(t, 3, d.Record.Operation.From[0].Replicas)
				assert.True(t, d.Save, "the intent is recorded before anything is applied")
			}
			if c.waits != "" || c.refuse != "" {
				assert.Nil(t, d.Record.Operation)
			}
		})
	}
}

func TestARevertedGrowIsAShrink(t *testing.T) {
	s := made(t)
	s.d.Revision, s.d.Sets[0].Replicas = "rev-4", 4
	s.r = s.decide().Record
	s.d.Revision, s.d.Sets[0].Replicas = "rev-5", 3
	d := s.decide()
	assert.Empty(t, d.Refusals)
	assert.Nil(t, d.Record.Operation, "the grow has ended, and what was added leaves as in any shrink")
	assert.Equal(t, 4, d.Effective.Sets[0].Replicas)
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name    string
		after   time.Duration
		settled time.Duration
		failed  bool
	}{
		{"within the limit", time.Minute, 0, false},
		{"after the default", 1801 * time.Second, 0, true},
		{"after its own", time.Minute, 30 * time.Second, true},
		{"the clock went back an hour", -time.Hour, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := wantedCluster(3)
			d.Operations.BootstrapTimeout = c.settled
			now := time.Unix(1_000_000, 0)
			r := ops.Decide(d, model.Observed{}, model.Record{}, model.Policy{}, now).Record
			got := ops.Decide(d, model.Observed{}, r, model.Policy{}, now.Add(c.after))
			failures := 0
			for _, r := range got.Reports {
				if r.Status == model.StatusFailure {
					failures++
				}
			}
			assert.Equal(t, c.failed, failures == 1)
			assert.True(t, got.Apply, "it is still tried")
			assert.False(t, got.Record.Operation.Started.After(now.Add(c.after)), "a stored future time is bounded")
			again := ops.Decide(d, model.Observed{}, got.Record, model.Policy{}, now.Add(c.after))
			assert.Empty(t, again.Reports, "it is reported once")
		})
	}
}

func TestALostRecordIsRebuiltFromWhatIsLive(t *testing.T) {
	s := made(t)
	s.r = model.Record{}
	s.o.Sets[0].Replicas = 5
	d := s.decide()
	assert.Equal(t, "id-1", d.Record.ClusterID)
	assert.Equal(t, 5, d.Effective.Sets[0].Replicas, "A: never fewer than are live")
	assert.False(t, d.Effective.Sets[0].InitialMasters)
	assert.Nil(t, d.Disruptive)

	s.o.Claims = nil
	d = s.decide()
	assert.Empty(t, d.Record.ClusterID)
	assert.False(t, d.Effective.Sets[0].InitialMasters, "what has left the live template never comes back")

	s.o.Secrets = nil
	s.o.Claims = []model.Claim{{Name: "data0", Set: hot, ClusterID: "id-1"}}
	assert.Contains(t, reasons(s.decide().Refusals), "system-password-lost")
}

func TestADefinitionThatNeverStartedIsRepaired(t *testing.T) {
	d := wantedCluster(3)
	now := time.Unix(1_000_000, 0)
	r := ops.Decide(d, model.Observed{}, model.Record{}, model.Policy{}, now).Record
	require.NotEmpty(t, r.Sets)
	d.Version, d.Revision = "5.10.9", "rev-fixed"
	d.Changes = []model.Change{{Class: model.ChangeImage, Set: hot, Path: "image"}}
	o := model.Observed{
		Sets: []model.ObservedSet{{Name: hot, Ours: true, Replicas: 3, InitialMasters: true, UpdateRevision: "new"}},
		Pods: []model.Pod{
			{Name: "p0", Set: hot, Ordinal: 0, UID: "u0", Waiting: "ImagePullBackOff", Revision: "old", Phase: "Pending"},
			{Name: "p1", Set: hot, Ordinal: 1, UID: "u1", Waiting: "ImagePullBackOff", Revision: "old", Phase: "Pending"},
		},
		Secrets: []model.Secret{{Name: "user-system-c", Exists: true, Keys: []string{"password"}}},
		Applied: model.Applied{Revision: "rev-fixed"},
	}
	got := ops.Decide(d, o, r, model.Policy{}, now)
	assert.Empty(t, got.Refusals)
	assert.Equal(t, model.TemplateDesired, got.Effective.Sets[0].Template)
	require.NotNil(t, got.Disruptive)
	assert.Equal(t, model.Action{Kind: model.ActionRecreatePod, Pod: "p0", PodUID: "u0"}, *got.Disruptive)

	o.Pods[0].Terminating = true
	assert.Nil(t, ops.Decide(d, o, r, model.Policy{}, now).Disruptive, "one at a time")

	o.Pods[0].Terminating, o.Pods[0].Started, o.Pods[0].Version = false, now, "5.10.1"
	got = ops.Decide(d, o, r, model.Policy{}, now)
	assert.Equal(t, model.TemplateDesired, got.Effective.Sets[0].Template, "one has started and none has come up: there is no data (seed 512328)")

	o.Pods[1].Ready = true
	got = ops.Decide(d, o, r, model.Policy{}, now)
	assert.Nil(t, got.Disruptive)
	assert.Equal(t, model.TemplateKept, got.Effective.Sets[0].Template, "a node has come up: its data is its version's")
	assert.Contains(t, reasons(got.Waits), "bootstrap-first")
}

func TestWhatWasRefusedAndIsGoneIsASuccessAgain(t *testing.T) {
	s := made(t)
	s.o.Sets[0].Replicas = 5
	d := s.decide()
	require.Equal(t, model.StatusFailure, d.Reports[0].Status)
	s.r = d.Record
	s.o.Sets[0].Replicas = 3
	d = s.decide()
	require.Len(t, d.Reports, 1)
	assert.Equal(t, model.StatusSuccess, d.Reports[0].Status)
	s.r = d.Record
	assert.Empty(t, s.decide().Reports)
}

func TestChangedCIDRsAreReportedAsCrateOperatorDoes(t *testing.T) {
	s := made(t)
	s.d.Revision, s.d.AllowedCIDRs = "rev-x", []string{"10.0.0.0/8"}
	d := s.decide()
	assert.Empty(t, d.Reports, "not before it is applied")
	assert.Equal(t, model.Act, d.Verdict)
	s.r = d.Record
	s.o.Applied = model.Applied{Revision: "rev-x", Effective: d.Effective}
	d = s.decide()
	require.Len(t, d.Reports, 1)
	assert.Equal(t, "allowed_cidr_update", d.Reports[0].Action)
	assert.Equal(t, model.EventFeedback, d.Reports[0].Event)
	assert.Equal(t, model.StageVerified, d.Record.Stage)
}

func TestAReasonNamesThePod(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
		wait   string
		words  string
	}{
		{"not scheduled", func(s *situation) {
			s.o.Pods[1] = model.Pod{Name: hot + "-1", Set: hot, Ordinal: 1, Waiting: "Unschedulable", Message: "0/3 nodes"}
		}, "pods-ready", "2 of 3 pods are ready; waiting for crate-data-hot-c-1 (Unschedulable: 0/3 nodes; no Node takes it"},
		{"refuses system", func(s *situation) { s.o.Database.Pods[1] = model.PodAnswer{Pod: hot + "-1", LoginRefused: true} }, "nodes-joined", "may run on a volume of another cluster"},
		{"an action failed", func(s *situation) {
			s.o.Claims = []model.Claim{{Name: "data0-" + hot + "-0", Set: hot}}
			s.o.Failures = []model.Failure{{Action: s.decide().Harmless[0], Message: "boom", Count: 2}}
		}, "action-failed", "annotate-claim data0-" + hot + "-0 failed (2 times): boom"},
		{"Kubernetes refused", func(s *situation) { s.o.ApplyErrors = []string{"Service x: denied"} }, "objects-applied", "Service x: denied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			c.change(s)
			d := s.decide()
			i := slices.Index(reasons(d.Waits), c.wait)
			require.GreaterOrEqual(t, i, 0, "%v", d.Waits)
			assert.Contains(t, d.Waits[i].Message, c.words)
			assert.NotEqual(t, model.Done, d.Verdict)
			assert.Positive(t, d.LookAgain)
		})
	}
}

// An answer that was lost on its way: what was asked has been done, so the
// action is not decided again and its failure is over.
func TestAFailureIsOverOnceItsActionIsNotDecidedAnyMore(t *testing.T) {
	s := made(t)
	s.o.Failures = []model.Failure{{Action: model.Action{Kind: model.ActionAnnotateClaim, Claim: "data0-" + hot + "-0"}, Message: "EOF", Count: 1}}
	d := s.decide()
	assert.Empty(t, d.Waits)
	assert.Equal(t, model.Done, d.Verdict)
}

func TestTheArgumentsOfADecisionStayAsTheyWere(t *testing.T) {
	s := made(t)
	s.d.Sets[0].Replicas = 5
	s.r.Budgets = []model.Budget{{Name: "crate-data-c"}}
	before := s.r
	sets, users := slices.Clone(s.r.Sets), slices.Clone(s.r.Bootstrap.Users)
	one, two := s.decide(), s.decide()
	assert.Equal(t, one, two, "the same arguments give the same decision")
	assert.Equal(t, before, s.r)
	assert.Equal(t, sets, s.r.Sets)
	assert.Equal(t, users, s.r.Bootstrap.Users)
	assert.Equal(t, []model.Budget{{Name: "crate-data-c"}}, s.r.Budgets)
}

func BenchmarkDecideIdle(b *testing.B) {
	s := made(b)
	b.ReportAllocs()
	for b.Loop() {
		if d := s.decide(); d.Verdict == model.Refuse {
			b.Fatal(d.Refusals)
		}
	}
}

func BenchmarkDecideGrowing(b *testing.B) {
	s := made(b)
	s.d.Sets[0].Replicas = 4
	s.r = s.decide().Record
	b.ReportAllocs()
	for b.Loop() {
		s.decide()
	}
}
