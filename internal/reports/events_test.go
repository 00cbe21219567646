package reports_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/ops/model"
)

func TestAReasonIsAGatesNameInKubernetesSpelling(t *testing.T) {
	for name, want := range map[string]string{
		"replicas-do-not-fit": "ReplicasDoNotFit", "upgrade-stopped": "UpgradeStopped", "x": "X", "": "", "a--b-": "AB", "top-3": "Top3",
	} {
		assert.Equal(t, want, reports.EventReason(name))
	}
}

// events runs a writer until the test's end or stop.
func events(t *testing.T, client *fake.Clientset, dropped func()) (writer *reports.Events, stop func()) {
	t.Helper()
	writer = reports.NewEvents(client.CoreV1(), slog.New(slog.DiscardHandler), dropped)
	ctx, cancel := contextOf(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = writer.Run(ctx)
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return writer, stop
}

func stored(t *testing.T, client *fake.Clientset) []corev1.Event {
	t.Helper()
	list, err := client.CoreV1().Events("prod").List(context.Background(), metav1.ListOptions{})
	require.NoError(t, err)
	return list.Items
}

func TestAnEventRegardsTheOperationConfigMap(t *testing.T) {
	client := fake.NewClientset()
	writer, stop := events(t, client, nil)
	regarding := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "stevedore-orders-operation", UID: "u1"}}
	writer.Emit(orders, regarding, model.Report{ID: "1", Reason: "BootstrapSucceeded", Message: "it is up", Revision: "r1"})
	writer.Emit(orders, nil, model.Report{ID: "2", Names: []string{"replicas-do-not-fit"}, Warning: true, Message: strings.Repeat("€", 2000)})
	// Written although the process ends right after it.
	stop()
	got := map[string]corev1.Event{}
	for _, event := range stored(t, client) {
		got[event.Reason] = event
	}
	require.Len(t, got, 2)
	first := got["BootstrapSucceeded"]
	assert.Equal(t, corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "prod", Name: "stevedore-orders-operation", UID: "u1"}, first.InvolvedObject)
	assert.Equal(t, "Normal", first.Type)
	assert.Equal(t, "it is up", first.Message)
	assert.Equal(t, "stevedore", first.Source.Component)
	assert.Equal(t, map[string]string{"stevedore.dev/event-id": "1", "stevedore.dev/revision": "r1"}, first.Annotations)
	assert.Equal(t, "Warning", got["ReplicasDoNotFit"].Type)
	assert.LessOrEqual(t, len(got["ReplicasDoNotFit"].Message), 1024)
}

func TestAReportThatIsMadeAgainAfterAKillMakesNoSecondEvent(t *testing.T) {
	client := fake.NewClientset()
	for range 3 {
		writer, stop := events(t, client, func() { t.Error("dropped") })
		writer.Emit(orders, nil, model.Report{ID: "1", Reason: "Grown", Message: "4 nodes"})
		stop()
	}
	assert.Len(t, stored(t, client), 1)
}

func TestEventsAreBounded(t *testing.T) {
	client := fake.NewClientset()
	var dropped atomic.Int64
	writer, stop := events(t, client, func() { dropped.Add(1) })
	for i := range 500 {
		writer.Emit(orders, nil, model.Report{ID: fmt.Sprint(i), Reason: "Grown", Message: fmt.Sprint("message ", i)})
	}
	stop()
	// client-go's own bound: ten alike, then one that stands for the others.
	assert.LessOrEqual(t, len(stored(t, client)), 11)
	assert.Positive(t, dropped.Load())
}

func TestAnEventIsTriedAgainUnlessItIsRefused(t *testing.T) {
	for name, situation := range map[string]struct {
		err      error
		attempts int64
	}{
		"the API server is away": {errors.New("connection refused"), 3},
		"forbidden":              {apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "x", errors.New("no role")), 1},
		"the server's error":     {apierrors.NewInternalError(errors.New("etcd leader changed")), 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := fake.NewClientset()
			var attempts atomic.Int64
			client.PrependReactor("create", "events", func(kubetesting.Action) (bool, runtime.Object, error) {
				attempts.Add(1)
				return true, nil, situation.err
			})
			dropped := make(chan struct{})
			writer, _ := events(t, client, func() { close(dropped) })
			writer.Emit(orders, nil, model.Report{ID: "1", Reason: "Grown"})
			<-dropped
			assert.Equal(t, situation.attempts, attempts.Load())
		})
	}
}

func TestEachReportIsQueuedThenEmittedAndLoggedOnce(t *testing.T) {
	server := recordtest.NewConfigMaps()
	client := fake.NewClientset()
	writer, stop := events(t, client, nil)
	p := newQueue(t, server, reports.Config{URL: "http://localhost:1/"})
	reporter := &reports.Reporter{Targets: p.targets(), Events: writer, Log: slog.New(slog.NewTextHandler(p.logs, nil))}
	made := []model.Report{feedback("1"), {ID: "2", Names: []string{"not-supported"}, Warning: true, Message: "masters cannot be added", Commit: "main@sha1:12"}}

	server.Before = func(string, string) error { return errors.New("API server away") }
	require.Error(t, reporter.Report(t.Context(), orders, nil, made))
	assert.NotContains(t, p.logs.String(), "masters cannot be added", "not said before it is written")
	server.Before = nil
	for range 2 {
		require.NoError(t, reporter.Report(t.Context(), orders, nil, made))
	}
	stop()
	assert.Equal(t, []string{"1"}, pendingIn(t, server, orders))
	assert.Len(t, stored(t, client), 2)
	assert.Equal(t, 2, strings.Count(p.logs.String(), "msg="))
	assert.Contains(t, p.logs.String(), `level=WARN msg="masters cannot be added" namespace=prod cluster=orders reason=NotSupported id=2 names=not-supported commit=main@sha1:12`)
}
