package main

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"stevedore.dev/stevedore/internal/daemon"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

func TestProgressIsSaidInOneLine(t *testing.T) {
	for _, c := range []struct {
		name string
		of   *model.Progress
		says string
	}{
		{"nothing to count", nil, ""},
		{"a restart", &model.Progress{Subject: "crate-data-hot-orders-1", Done: 1, Total: 3, ETA: 95 * time.Second}, "1 of 3 done, now crate-data-hot-orders-1: about 1m35s"},
		{"a drain", &model.Progress{
			Subject: "data-hot-3", Total: 2, ShardsLeft: 12, ShardsTotal: 40,
			BytesLeft: 1288490188, BytesTotal: 4 << 30, BytesPerSecond: 80 << 20, ETA: 15400 * time.Millisecond,
		}, "0 of 2 done, now data-hot-3: 12 of 40 shards and 1.2 GiB of 4.0 GiB left, 80.0 MiB/s, about 15s"},
		{"a drain of empty shards", &model.Progress{ShardsLeft: 3, ShardsTotal: 9, BytesLeft: 700, BytesTotal: 2 << 10}, "3 of 9 shards and 700 B of 2.0 KiB left"},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.says, progressWords(c.of)) })
	}
}

type lines struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

func TestWatchWritesALineForEachChangeAndNoneTwice(t *testing.T) {
	recorded := func(name string, r model.Record) *corev1.ConfigMap {
		text, err := record.Encode(record.Operation, r)
		require.NoError(t, err)
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "prod", Name: record.Operation.Name(name),
				Labels: map[string]string{record.Label: string(record.Operation), names.ClusterLabel: name},
			},
			Data: map[string]string{names.DataKey: text},
		}
	}
	r := model.Record{SchemaVersion: model.RecordVersion, Shown: model.Shown{Verdict: "done"}}
	client := fake.NewClientset(recorded("orders", r), recorded("other", r), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: names.DaemonNamespace, Name: names.FieldManager},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("a"), RenewTime: &metav1.MicroTime{Time: time.Now().Add(time.Hour)}},
	})
	ctx, stop := context.WithCancel(t.Context())
	var out lines
	ended := make(chan error, 1)
	go func() { ended <- watchStatuses(ctx, client, "prod", "orders", &out, &out) }()
	says := func(words string) {
		t.Helper()
		require.Eventually(t, func() bool { return bytes.Contains([]byte(out.String()), []byte(words)) }, 10*time.Minute, 5*time.Millisecond, "%s: %s", words, &out)
	}
	says("prod/orders  done\n")

	r.Operation = &model.Operation{Kind: model.OperationShrink, Step: "drain", Shrink: &model.Shrink{Set: "crate-data-hot-orders"}}
	r.Sets = []model.RecordedSet{{Name: "crate-data-hot-orders", Group: "data-hot", Replicas: 4}}
	r.Exclusions = &model.Exclusions{Set: "crate-data-hot-orders", IDs: "id-3"}
	r.Shown = model.Shown{Verdict: "wait", Progress: &model.Progress{Subject: "data-hot-3", ShardsLeft: 2, ShardsTotal: 8}}
	for range 2 { // the second says nothing new
		_, err := client.CoreV1().ConfigMaps("prod").Update(ctx, recorded("orders", r), metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	says("prod/orders  waiting | shrink/drain | data-hot-3: 2 of 8 shards and 0 B of 0 B left\n")
	r.Operation, r.Exclusions, r.Shown = nil, nil, model.Shown{Verdict: "done"}
	_, err := client.CoreV1().ConfigMaps("prod").Update(ctx, recorded("orders", r), metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return bytes.Count([]byte(out.String()), []byte("  done\n")) == 2 }, 10*time.Minute, 5*time.Millisecond)
	stop()
	require.NoError(t, <-ended)
	assert.Equal(t, 3, bytes.Count([]byte(out.String()), []byte("\n")), "%s", out.String())
	assert.NotContains(t, out.String(), "prod/other")
}

// An operation that has just begun was called done, until the next words were written.
func TestAClusterInAnOperationIsNotDone(t *testing.T) {
	for _, c := range []struct {
		name string
		rec  model.Record
		want string
	}{
		{"at rest", model.Record{Shown: model.Shown{Verdict: "done"}}, "done"},
		{"an operation has begun", model.Record{Operation: &model.Operation{Kind: model.OperationGrow}, Shown: model.Shown{Verdict: "done"}}, "working"},
		{"its definition is gone", model.Record{Shown: model.Shown{Verdict: "refuse", Reasons: []model.ShownReason{{Name: "orphaned"}}}}, "orphaned"},
		{"a part of it is refused", model.Record{Shown: model.Shown{Verdict: "refuse", Reasons: []model.ShownReason{{Name: "downgrade"}}}}, "refused"},
		{"it waits", model.Record{Operation: &model.Operation{Kind: model.OperationGrow}, Shown: model.Shown{Verdict: "wait"}}, "waiting"},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, daemon.StateOf(&c.rec)) })
	}
}
