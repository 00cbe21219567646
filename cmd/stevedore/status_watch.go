package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"stevedore.dev/stevedore/internal/attendance"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// watchStatuses writes a line whenever what is said of a cluster has changed,
// until the context ends. An informer lists anew by itself after a lost watch.
func watchStatuses(ctx context.Context, client kubernetes.Interface, namespace, name string, out, problems io.Writer) error {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.LabelSelector = record.Label + "=" + string(record.Operation)
		}))
	informer := factory.Core().V1().ConfigMaps().Informer()
	if err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		fmt.Fprintf(problems, "watching the records of clusters: %v; trying again\n", err)
	}); err != nil {
		return fmt.Errorf("watching the records of clusters: %w", err)
	}
	var mutex sync.Mutex
	said := map[string]string{}
	clusters := map[string]attendance.Cluster{}
	show := func(object any) {
		configMap, ok := object.(*corev1.ConfigMap)
		if !ok {
			return
		}
		status, ok := statusOf(configMap)
		if !ok || name != "" && name != status.Name {
			return
		}
		mutex.Lock()
		defer mutex.Unlock()
		key, line := status.Namespace+"/"+status.Name, statusLine(status)
		clusters[key] = status.attended
		if said[key] == line {
			return
		}
		said[key] = line
		fmt.Fprintf(out, "%s  %s  %s\n", time.Now().Format(time.TimeOnly), key, line)
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    show,
		UpdateFunc: func(_, object any) { show(object) },
		DeleteFunc: func(object any) {
			if configMap, ok := object.(*corev1.ConfigMap); ok {
				if status, ok := statusOf(configMap); ok && (name == "" || name == status.Name) {
					mutex.Lock()
					defer mutex.Unlock()
					delete(said, status.Namespace+"/"+status.Name)
					delete(clusters, status.Namespace+"/"+status.Name)
					fmt.Fprintf(out, "%s  %s/%s  its record is gone\n", time.Now().Format(time.TimeOnly), status.Namespace, status.Name)
				}
			}
		},
	}); err != nil {
		return fmt.Errorf("watching the records of clusters: %w", err)
	}
	factory.StartWithContext(ctx)
	factory.WaitForCacheSync(ctx.Done())
	watchAttendance(ctx, client, attendanceInterval, func() []attendance.Cluster {
		mutex.Lock()
		defer mutex.Unlock()
		var all []attendance.Cluster
		for _, key := range slices.Sorted(maps.Keys(clusters)) {
			all = append(all, clusters[key])
		}
		return all
	}, problems)
	factory.Shutdown()
	return nil
}

// attendanceInterval is the time between two looks at the daemons' Leases.
const attendanceInterval = 15 * time.Second

// watchAttendance says of which clusters nobody looks after any more, and somebody does again, until
// the context ends: a cluster that nobody looks at changes nothing that is said of it.
func watchAttendance(ctx context.Context, client kubernetes.Interface, interval time.Duration, clusters func() []attendance.Cluster, out io.Writer) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	unattended := map[string]bool{}
	for {
		all := clusters()
		found := attendedNow(ctx, client, all)
		if ctx.Err() != nil {
			return
		}
		var again []string
		var news []attended
		for _, one := range found {
			switch nobody := one.who != nil && one.who.Nobody; {
			case nobody && !unattended[one.cluster]:
				unattended[one.cluster] = true
				news = append(news, one)
			case !nobody && one.who != nil && unattended[one.cluster]:
				delete(unattended, one.cluster)
				again = append(again, one.cluster)
			}
		}
		now := time.Now().Format(time.TimeOnly)
		for _, one := range nobodyLooks(news) {
			fmt.Fprintf(out, "%s  %s\n", now, one.words(len(all)))
		}
		if len(again) > 0 {
			fmt.Fprintf(out, "%s  a daemon looks again after %s\n", now, strings.Join(again, ", "))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// statusLine is a cluster in one line.
func statusLine(status clusterStatus) string { return strings.Join(statusLines(status), " | ") }

// statusLines are the state with its operation and its progress, and then each reason for itself.
func statusLines(status clusterStatus) []string {
	lines := []string{status.stateWords()}
	var reasons []string
	for _, reason := range status.Reasons {
		if reason.Name == status.State && status.Health == "" {
			lines[0] += ": " + reason.Message // the gate has the name of the state
			continue
		}
		reasons = append(reasons, reason.Name+": "+reason.Message)
	}
	if status.Operation != nil {
		lines[0] += " | " + operationWords(status.Operation)
	}
	if words := progressWords(status.Progress); words != "" {
		lines[0] += " | " + words
	}
	lines = slices.Concat(lines, status.Problems, reasons)
	if status.Error != "" {
		lines = append(lines, status.Error)
	}
	return lines
}

func operationWords(operation *model.Operation) string {
	return strings.TrimSuffix(string(operation.Kind)+"/"+operation.Step, "/")
}

// progressWords are "data-hot-3: 1 of 2, 12 of 40 shards and 1.2 GiB of 4.0 GiB
// left, 80.0 MiB/s, about 35s"; "" without progress.
func progressWords(p *model.Progress) string {
	if p == nil {
		return ""
	}
	at := p.Subject
	if p.Total > 0 {
		at = fmt.Sprintf("%d of %d done", p.Done, p.Total)
		if p.Subject != "" {
			at += ", now " + p.Subject
		}
	}
	var parts []string
	if p.ShardsTotal > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d shards and %s of %s left", p.ShardsLeft, p.ShardsTotal, gates.Bytes(p.BytesLeft), gates.Bytes(p.BytesTotal)))
	}
	if p.BytesPerSecond > 0 {
		parts = append(parts, gates.Bytes(p.BytesPerSecond)+"/s")
	}
	if p.ETA > 0 {
		parts = append(parts, "about "+p.ETA.Round(time.Second).String())
	}
	words := strings.Join(parts, ", ")
	if at == "" || words == "" {
		return at + words
	}
	return at + ": " + words
}
