package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"stevedore.dev/stevedore/internal/attendance"
	"stevedore.dev/stevedore/internal/daemon"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

const nobodyWhy = "the daemon that held Lease stevedore-system/a-lease-of-another-name has renewed it no more"

// A terminal broke lines wherever they were too long: in the middle of words.
func TestNoWordOfAStatusIsBroken(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	statuses := []clusterStatus{
		{
			Cluster: "production/orders-of-the-north", State: "working", Version: "6.4.2", UpgradingTo: "6.4.3", Since: now.Add(-95 * time.Second),
			Commit: "main@sha1:0123456789abcdef", Operation: &model.Operation{Kind: "upgrade", Step: "pod"},
			Groups:   []groupStatus{{RecordedSet: model.RecordedSet{Group: "hot", Replicas: 4}, Ready: new(3)}, {RecordedSet: model.RecordedSet{Group: "cold", Replicas: 2}}},
			Looked:   &attendance.Attendance{By: "stevedore-5d9c7bfd4c-x2v7k-1-123456", At: now.Add(-4 * time.Second)},
			Reasons:  []model.ShownReason{{Kind: "wait", Name: "health-green", Message: "the tables " + strings.Repeat("doc.measurements, ", 20) + "are yellow"}},
			Problems: []string{"clusters/production/orders.yaml:12:5: " + strings.Repeat("the field is not known and ", 9) + "that is all"},
			Progress: &model.Progress{Subject: "crate-data-hot-orders-of-the-north-3", Done: 1, Total: 4, ShardsLeft: 12, ShardsTotal: 40, BytesLeft: 1 << 30, BytesTotal: 4 << 30},
		},
		{Cluster: "prod/metrics", State: "done", Looked: &attendance.Attendance{At: now.Add(-time.Hour), Nobody: true, Why: nobodyWhy}},
	}
	for _, nobody := range []bool{false, true} {
		statuses[0].Looked.Nobody, statuses[0].Looked.Why = nobody, ""
		if nobody {
			statuses[0].Looked.Why, statuses[0].Looked.At = nobodyWhy, statuses[1].Looked.At
		}
		for _, width := range []int{80, 100, 200} {
			var out strings.Builder
			require.NoError(t, printStatuses(&out, statuses, "", width, now))
			for line := range strings.Lines(out.String()) {
				assert.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), width, line)
			}
			words := strings.Join(strings.Fields(out.String()), " ")
			for _, status := range statuses {
				for _, cell := range append(status.cells(now), status.remarks(now)...) {
					assert.Contains(t, words, cell, "all is said, at %d columns", width)
				}
			}
			want := "NOBODY LOOKS AFTER prod/metrics: " + nobodyWhy
			if nobody {
				want = "NOBODY LOOKS AFTER THESE CLUSTERS: " + nobodyWhy
			}
			assert.True(t, strings.HasPrefix(words, want+", last renewed "), words)
		}
	}
}

// Who is called at night looks at the first line.
func TestAStatusSaysFirstThatTablesAreRed(t *testing.T) {
	const message = "the cluster is RED: 2 shard(s) have no primary, of doc.a"
	red := func(r *model.Record) {
		because("information", "budget-closed", "no pod may be evicted")(r)
		because("information", "tables-red", message)(r)
	}
	for state, change := range map[string]func(*model.Record){
		"done":   func(*model.Record) {},
		"paused": because("wait", "paused", "by command"),
	} {
		t.Run(state, func(t *testing.T) {
			rec := doneRecord()
			change(&rec)
			red(&rec)
			api := newAPIServer(t, "prod")
			api.follows(attendance.Followed{}, 0)
			api.record(record.Cluster{Namespace: "prod", Name: "orders"}, rec)
			api.record(record.Cluster{Namespace: "prod", Name: "plain"}, doneRecord())

			end := stevedore(t, "status", "-n", "prod")
			require.Zero(t, end.code, end.err)
			assert.Regexp(t, `(?m)^prod/orders +`+state+`, RED +`, end.out)
			assert.Regexp(t, `(?m)^prod/plain +done +`, end.out)
			first := strings.Index(end.out, "prod/orders: ")
			assert.True(t, strings.HasPrefix(end.out[first:], "prod/orders: information tables-red: "+message), end.out)

			end = stevedore(t, "status", "-n", "prod", "-o", "json")
			var found []clusterStatus
			require.NoError(t, json.Unmarshal([]byte(end.out), &found))
			slices.SortFunc(found, func(a, b clusterStatus) int { return strings.Compare(a.Cluster, b.Cluster) })
			assert.Equal(t, []string{state, "red"}, []string{found[0].State, found[0].Health})
			assert.Equal(t, []string{"done", ""}, []string{found[1].State, found[1].Health})
			assert.True(t, strings.HasPrefix(statusLine(found[0]), state+", RED | tables-red: "+message), statusLine(found[0]))
		})
	}
}

// An abort of a cluster in which nothing was in progress showed as done and no more.
func TestAStatusSaysWhatAnAbortKeepsFromBeginning(t *testing.T) {
	api := newAPIServer(t, "prod")
	api.record(record.Cluster{Namespace: "prod", Name: "orders"}, doneRecord())
	require.Zero(t, stevedore(t, "abort", "prod/orders").code)
	end := stevedore(t, "status", "orders")
	assert.Regexp(t, `(?m)^prod/orders +done `, end.out, "nothing is left to do")
	assert.Contains(t, end.out, "prod/orders: command abort=true: nothing of this definition begins, until `stevedore resume prod/orders` or until the definition changes")
}

// "orphaned  orphaned: its definition is gone  pods-ready: 2 of 3" was said in one line.
func TestALineOfAStatusSaysNoWordTwiceAndSeparatesItsGates(t *testing.T) {
	rec := doneRecord()
	because("refusal", "orphaned", "its definition is gone")(&rec)
	because("wait", "pods-ready", "2 of 3 pods are ready")(&rec)
	rec.Shown.Verdict = model.Refuse.String()
	assert.Equal(t, "orphaned: its definition is gone | pods-ready: 2 of 3 pods are ready",
		statusLine(clusterStatus{State: daemon.StateOf(&rec), Reasons: rec.Shown.Reasons}))
}

// The commit of a broken definition was that of the last good one.
func TestAStatusOfABrokenDefinitionNamesTheCommitThatBrokeIt(t *testing.T) {
	rec := doneRecord()
	rec.Shown.Problems, rec.Shown.Commit = []string{"orders.yaml:8:7: no"}, "main@sha1:bbbbbbbbbbbb"
	api := newAPIServer(t, "prod")
	api.record(record.Cluster{Namespace: "prod", Name: "orders"}, rec)
	assert.Regexp(t, `(?m)^prod/orders +broken +main@sha1:bbbbbbbbbbbb`, stevedore(t, "status", "orders").out)
}

func TestAStatusSaysWhatRunsAndWhoLooks(t *testing.T) {
	lease := func(holder string, renewed time.Duration) *coordinationv1.LeaseSpec {
		return &coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: new(int32(600)), RenewTime: &metav1.MicroTime{Time: time.Now().Add(-renewed)},
		}
	}
	for _, c := range []struct {
		name   string
		lease  *coordinationv1.LeaseSpec
		by     string
		nobody bool
		says   string
	}{
		{"a daemon acts", lease("stevedore-1", 0), "stevedore-1", false, "s ago by stevedore-1"},
		{"it was killed", lease("stevedore-1", time.Hour), "stevedore-1", true, "NOBODY LOOKS, last 1h0m"},
		{"it was stopped, and gave the Lease back", lease("", time.Second), "", true, "NOBODY LOOKS, last "},
		{"there is no Lease of that name", nil, "", true, "NOBODY LOOKS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := newAPIServer(t, "prod")
			api.record(record.Cluster{Namespace: "prod", Name: "orders"}, model.Record{
				Version: "6.4.2", Sets: []model.RecordedSet{{Name: "crate-data-hot-orders", Group: "hot", Replicas: 4}},
				Operation: &model.Operation{Kind: model.OperationUpgrade, Restart: &model.Restart{}, Upgrade: &model.Upgrade{OldVersion: "6.4.2", NewVersion: "6.4.3"}},
			})
			api.ready("prod", "crate-data-hot-orders", 3)
			if c.lease != nil {
				api.lease(*c.lease)
			}
			end := stevedore(t, "status")
			require.Zero(t, end.code, end.err)
			assert.Contains(t, end.out, "\nprod/orders  working  hot 3/4  6.4.2 -> 6.4.3  upgrade")
			assert.Contains(t, end.out, c.says)
			assert.Equal(t, c.nobody, strings.HasPrefix(end.out, "NOBODY LOOKS AFTER prod/orders: "))

			end = stevedore(t, "status", "-o", "json")
			require.Zero(t, end.code, end.err)
			var statuses []clusterStatus
			require.NoError(t, json.Unmarshal([]byte(end.out), &statuses))
			require.Len(t, statuses, 1)
			got := statuses[0]
			assert.Equal(t, "prod/orders", got.Cluster)
			assert.Equal(t, "6.4.2", got.Version)
			assert.Equal(t, "6.4.3", got.UpgradingTo)
			require.NotNil(t, got.Groups[0].Ready)
			assert.Equal(t, 3, *got.Groups[0].Ready)
			assert.Equal(t, 4, got.Groups[0].Replicas)
			require.NotNil(t, got.Looked)
			assert.Equal(t, c.nobody, got.Looked.Nobody)
			if c.lease != nil {
				assert.Equal(t, c.by, got.Looked.By)
				assert.WithinDuration(t, c.lease.RenewTime.Time, got.Looked.At, time.Second)
			}
		})
	}
}

// Nothing that is said of a cluster changes any more when its daemon is gone.
func TestAWatchSaysWhenNobodyLooksAnyMore(t *testing.T) {
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: names.DaemonNamespace, Name: names.FieldManager},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("stevedore-1"), LeaseDurationSeconds: new(int32(600)), RenewTime: &metav1.MicroTime{Time: time.Now()},
		},
	}
	client := fake.NewClientset(lease)
	var out lines
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	clusters := func() []attendance.Cluster { return []attendance.Cluster{{Name: "prod/orders"}} }
	go func() { watchAttendance(ctx, client, time.Millisecond, clusters, &out); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	renewed := func(at time.Time, says string) {
		t.Helper()
		lease = lease.DeepCopy()
		lease.Spec.RenewTime = &metav1.MicroTime{Time: at}
		_, err := client.CoordinationV1().Leases(lease.Namespace).Update(t.Context(), lease, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.Eventually(t, func() bool { return strings.Contains(out.String(), says) }, 10*time.Minute, time.Millisecond)
	}
	renewed(time.Now().Add(-time.Hour), "NOBODY LOOKS AFTER prod/orders: the daemon that held Lease ")
	renewed(time.Now(), "a daemon looks again after prod/orders\n")
	assert.Equal(t, 2, strings.Count(out.String(), "\n"), "each is said once: %s", out.String())
}
