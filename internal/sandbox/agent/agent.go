// Package agent is the sandbox's node agent: what a kubelet and a container
// runtime are on a cluster. One agent serves all Node objects of a sandbox,
// inside the sandbox's process. It runs CrateDB containers as processes, each
// pod on a loopback address of its own, and answers every other command itself.
package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"stevedore.dev/stevedore/internal/cratehome"
	"stevedore.dev/stevedore/internal/sandbox/process"
)

// Node is one Node object that the agent serves.
type Node struct {
	Name    string
	Address netip.Addr
	Zone    string
}

// Options are all required, but for CrateDBHome, HubSocket, RunNode and
// ProbePause.
type Options struct {
	Client kubernetes.Interface
	// Dir gets the folders pods (gone with each pod) and volumes (gone with
	// each claim).
	Dir   string
	Nodes []Node
	// TakePodAddress and ReleasePodAddress deal out the pods' addresses.
	TakePodAddress    func() (netip.Addr, error)
	ReleasePodAddress func(netip.Addr)
	Starter           *process.Starter
	// Kubelet are listeners on the nodes' addresses; the agent closes them.
	Kubelet    []net.Listener
	KubeletTLS *tls.Config
	// NodeCommand starts a simulated node, HubSocket is the hub it joins.
	NodeCommand []string
	HubSocket   string
	// RunNode runs a simulated node inside this process, with what would follow
	// NodeCommand, until its context ends; nil: NodeCommand is a process a node.
	RunNode func(ctx context.Context, args, env []string, out io.Writer) int
	// ProbePause is the longest pause between two probes of one that has succeeded;
	// 0: a second.
	ProbePause time.Duration
	// CrateDBHome is a release or a folder of releases; empty: simulated.
	CrateDBHome string
	Log         *slog.Logger
}

// Agent runs the pods of a sandbox until Stop.
type Agent struct {
	o        Options
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup
	identity *process.Identity // of CrateDB's processes; nil: ours

	pods     cache.SharedIndexInformer
	services listers.ServiceLister
	nodes    listers.NodeLister
	claims   listers.PersistentVolumeClaimLister
	volumes  listers.PersistentVolumeLister
	events   record.EventRecorder
	byName   map[string]Node
	server   *http.Server

	seedsChanged chan struct{}

	mu       sync.Mutex
	unseeded map[string]bool // namespaces whose seed files are to be written again
	workers  map[types.UID]*worker
	mounted  map[string]types.UID // a volume's folder and the pod that has it
}

// Start begins to serve. The caller adds the Node objects afterwards.
func Start(o Options) (*Agent, error) {
	for _, name := range []string{"pods", "volumes"} {
		if err := os.MkdirAll(filepath.Join(o.Dir, name), 0o711); err != nil {
			return nil, fmt.Errorf("making the agent's folders: %w", err)
		}
	}
	a := &Agent{
		o:            o,
		byName:       map[string]Node{},
		workers:      map[types.UID]*worker{},
		mounted:      map[string]types.UID{},
		seedsChanged: make(chan struct{}, 1),
		unseeded:     map[string]bool{},
	}
	for _, node := range o.Nodes {
		a.byName[node.Name] = node
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	if o.CrateDBHome != "" {
		owner, err := cratehome.Unprivileged()
		if err != nil {
			return nil, err
		}
		if owner != nil {
			a.identity = &process.Identity{User: owner.ID, Group: owner.Group}
		}
	}
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: o.Client.CoreV1().Events("")})
	a.events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "stevedore-sandbox"})
	a.background(func() {
		<-a.ctx.Done()
		broadcaster.Shutdown()
	})
	if err := a.startInformers(); err != nil {
		a.Stop(context.Background())
		for _, listener := range o.Kubelet {
			_ = listener.Close()
		}
		return nil, err
	}
	a.background(a.keepSeeds)
	a.background(a.provision)
	a.background(a.loseNodes)
	a.serveKubelet()
	return a, nil
}

// background runs f; Stop waits for it.
func (a *Agent) background(f func()) {
	a.running.Add(1)
	go func() {
		defer a.running.Done()
		f()
	}()
}

func (a *Agent) startInformers() error {
	factory := informers.NewSharedInformerFactory(a.o.Client, 0)
	a.services = factory.Core().V1().Services().Lister()
	a.nodes = factory.Core().V1().Nodes().Lister()
	a.claims = factory.Core().V1().PersistentVolumeClaims().Lister()
	a.volumes = factory.Core().V1().PersistentVolumes().Lister()
	reseed := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { a.reseed(namespaceOf(object)) },
		UpdateFunc: func(_, object any) { a.reseed(namespaceOf(object)) },
		DeleteFunc: func(object any) { a.reseed(namespaceOf(object)) },
	}
	if _, err := factory.Core().V1().Services().Informer().AddEventHandler(reseed); err != nil {
		return fmt.Errorf("watching services: %w", err)
	}
	a.pods = cache.NewSharedIndexInformer(
		cache.NewListWatchFromClient(a.o.Client.CoreV1().RESTClient(), "pods", corev1.NamespaceAll,
			fields.OneTermNotEqualSelector("spec.nodeName", "")),
		&corev1.Pod{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	if _, err := a.pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { a.podChanged(object.(*corev1.Pod)) },
		UpdateFunc: func(_, object any) { a.podChanged(object.(*corev1.Pod)) },
		DeleteFunc: func(object any) {
			if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			if pod, ok := object.(*corev1.Pod); ok {
				a.podGone(pod)
			}
		},
	}); err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	factory.Start(a.ctx.Done())
	a.background(func() { a.pods.Run(a.ctx.Done()) })
	a.background(func() {
		<-a.ctx.Done()
		factory.Shutdown()
	})
	synced, cancel := context.WithTimeout(a.ctx, time.Minute)
	defer cancel()
	for kind, ok := range factory.WaitForCacheSync(synced.Done()) {
		if !ok {
			return fmt.Errorf("reading %v from the sandbox's API server: no answer within a minute", kind)
		}
	}
	if !cache.WaitForCacheSync(synced.Done(), a.pods.HasSynced) {
		return errors.New("reading pods from the sandbox's API server: no answer within a minute")
	}
	return nil
}

func (a *Agent) podChanged(pod *corev1.Pod) {
	a.reseed(pod.Namespace)
	node, ours := a.byName[pod.Spec.NodeName]
	if !ours || a.ctx.Err() != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.workers[pod.UID]
	if w == nil {
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if ended && pod.DeletionTimestamp == nil {
			return
		}
		w = newWorker(a, pod, node)
		a.workers[pod.UID] = w
		a.background(w.run)
		return
	}
	w.update(pod)
}

func (a *Agent) podGone(pod *corev1.Pod) {
	a.reseed(pod.Namespace)
	a.mu.Lock()
	w := a.workers[pod.UID]
	a.mu.Unlock()
	if w != nil {
		w.gone()
	}
}

// worker finds the worker of a pod by its name; uid may be empty.
func (a *Agent) worker(namespace, name string, uid types.UID) *worker {
	a.mu.Lock()
	defer a.mu.Unlock()
	var found *worker
	for _, w := range a.workers {
		if w.namespace != namespace || w.name != name || uid != "" && w.uid != uid {
			continue
		}
		if found == nil || found.started.Before(w.started) {
			found = w
		}
	}
	return found
}

func (a *Agent) forget(w *worker) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.workers, w.uid)
	for folder, uid := range a.mounted {
		if uid == w.uid {
			delete(a.mounted, folder)
		}
	}
}

// takeVolume gives the folder of a volume to a pod, unless another pod still
// has it: a process that has not ended yet must not share its data. first: the pod
// did not have it before.
func (a *Agent) takeVolume(folder string, uid types.UID) (first, taken bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	holder, held := a.mounted[folder]
	if held && holder != uid {
		return false, false
	}
	a.mounted[folder] = uid
	return !held, true
}

// Stop ends every pod's processes, without telling the API server, and returns
// when nothing of the agent runs any more. A pod that has not ended within two
// seconds, or when ctx ends, is killed.
func (a *Agent) Stop(ctx context.Context) {
	deadline := time.Now().Add(2 * time.Second)
	if given, ok := ctx.Deadline(); ok && given.Before(deadline) {
		deadline = given
	}
	a.mu.Lock()
	for _, w := range a.workers {
		w.killBy(deadline)
	}
	a.mu.Unlock()
	a.cancel()
	if a.server != nil {
		_ = a.server.Close()
	}
	a.running.Wait()
	unmountAll(a.volumesFolder())
}
