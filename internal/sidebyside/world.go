package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"

	"stevedore.dev/stevedore/internal/testbed"
)

// world is a sandbox of its own for each that is measured, so that nobody works in
// what another has left: namespaces with the shipped rights, the users' Secrets, and
// nodes that take no pods until they are opened.
type world struct {
	*testbed.Testbed
	size int
	// home is the home folder of kubectl and kapp: what they cache stays in this world.
	home string
}

func (b *bench) newWorld(ctx context.Context, size int) (_ *world, err error) {
	bed, err := testbed.Start(ctx, testbed.Options{Binary: b.binary, Deploy: b.deploy, OneProcess: true, Nodes: 12})
	if err != nil {
		return nil, err
	}
	w := &world{Testbed: bed, size: size, home: filepath.Join(bed.Dir, "home")}
	defer func() {
		if err != nil {
			err = errors.Join(err, bed.Stop())
		}
	}()
	if err := os.MkdirAll(w.home, 0o755); err != nil {
		return nil, err
	}
	if err := w.schedulable(ctx, false); err != nil {
		return nil, err
	}
	for c := cluster(0); int(c) < size; c += perNamespace {
		if err := bed.Namespace(ctx, c.namespace()); err != nil {
			return nil, err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for c := range cluster(size) {
		group.Go(func() error {
			return bed.Secret(ctx, c.namespace(), c.secret(), map[string]string{"password": "a password of " + c.name()})
		})
	}
	return w, group.Wait()
}

// schedulable opens the nodes for pods, or closes them.
func (w *world) schedulable(ctx context.Context, open bool) error {
	nodes, err := w.Admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the nodes: %w", err)
	}
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, !open)
	for _, node := range nodes.Items {
		if _, err := w.Admin.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("changing node %s: %w", node.Name, err)
		}
	}
	return nil
}

// env is what kubectl and kapp are told.
func (w *world) env() []string {
	return []string{"KUBECONFIG=" + w.Sandbox.Kubeconfig(), "HOME=" + w.home}
}

// arrivals waits until objects are there, by watching their kinds.
type arrivals struct {
	mu      sync.Mutex
	missing map[string]bool
	done    chan struct{}
	// at is when the last one came.
	at   time.Time
	stop context.CancelFunc
	ends sync.WaitGroup
}

func key(resource, namespace, name string) string { return resource + " " + namespace + "/" + name }

// watchFor begins to wait for objects.
func (w *world) watchFor(ctx context.Context, objects []*unstructured.Unstructured) (*arrivals, error) {
	client, err := metadata.NewForConfig(w.Config)
	if err != nil {
		return nil, err
	}
	a := &arrivals{missing: map[string]bool{}, done: make(chan struct{})}
	resources := map[string]schema.GroupVersionResource{}
	for _, object := range objects {
		kind := object.GroupVersionKind()
		// The kinds of a cluster's objects have regular plurals.
		resource := kind.GroupVersion().WithResource(strings.ToLower(kind.Kind) + "s")
		resources[resource.Resource] = resource
		a.missing[key(resource.Resource, object.GetNamespace(), object.GetName())] = true
	}
	ctx, a.stop = context.WithCancel(ctx)
	for _, resource := range resources {
		list, err := client.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			a.stop()
			return nil, fmt.Errorf("listing %s: %w", resource.Resource, err)
		}
		for _, item := range list.Items {
			a.came(key(resource.Resource, item.Namespace, item.Name))
		}
		events, err := client.Resource(resource).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		if err != nil {
			a.stop()
			return nil, fmt.Errorf("watching %s: %w", resource.Resource, err)
		}
		a.ends.Go(func() {
			defer events.Stop()
			for event := range events.ResultChan() {
				if object, ok := event.Object.(metav1.Object); ok && event.Type != watch.Deleted {
					a.came(key(resource.Resource, object.GetNamespace(), object.GetName()))
				}
			}
		})
	}
	return a, nil
}

func (a *arrivals) came(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.missing[key] {
		return
	}
	delete(a.missing, key)
	if len(a.missing) == 0 {
		a.at = time.Now()
		close(a.done)
	}
}

func (a *arrivals) close() {
	a.stop()
	a.ends.Wait()
}

// wait gives the moment at which the last object was there.
func (a *arrivals) wait(ctx context.Context, within time.Duration, stopped <-chan struct{}) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	select {
	case <-a.done:
		return a.at, nil
	case <-stopped:
		return time.Time{}, errors.New("the daemon has ended")
	case <-ctx.Done():
		a.mu.Lock()
		defer a.mu.Unlock()
		return time.Time{}, fmt.Errorf("%d objects did not come within %s", len(a.missing), within)
	}
}

// told counts clusters that a daemon's log has called as wanted.
type told struct {
	mu       sync.Mutex
	rest     string
	clusters map[string]bool
	// address is where pushes are taken.
	address string
	changed chan struct{}
}

func newTold() *told { return &told{clusters: map[string]bool{}, changed: make(chan struct{}, 1)} }

var (
	asWanted  = regexp.MustCompile(`msg="the cluster is as its definition says" namespace=(\S+) cluster=(\S+)`)
	receiving = regexp.MustCompile(`msg="receiving pushes" address=(\S+)`)
)

func (t *told) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rest += string(p)
	for {
		line, rest, whole := strings.Cut(t.rest, "\n")
		if !whole {
			break
		}
		t.rest = rest
		if match := asWanted.FindStringSubmatch(line); match != nil {
			t.clusters[match[1]+"/"+match[2]] = true
		}
		if match := receiving.FindStringSubmatch(line); match != nil {
			t.address = match[1]
		}
	}
	select {
	case t.changed <- struct{}{}:
	default:
	}
	return len(p), nil
}

// until waits for a word in the log.
func (t *told) until(ctx context.Context, what string, within time.Duration, stopped <-chan struct{}, said func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		t.mu.Lock()
		ok := said()
		count := len(t.clusters)
		t.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-t.changed:
		case <-stopped:
			return fmt.Errorf("waiting for %s: the daemon has ended", what)
		case <-ctx.Done():
			return fmt.Errorf("waiting %s for %s: %d clusters are as they are desired", within, what, count)
		}
	}
}
