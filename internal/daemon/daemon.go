package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/internal/podresize"
	"stevedore.dev/stevedore/internal/receiver"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/internal/storageclass"
	"stevedore.dev/stevedore/internal/telemetry"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/sources"
)

// daemon is one term of leadership: everything in it is made when the Lease is
// taken and gone when it is lost.
type daemon struct {
	options    Options
	leadership *leadership
	following  *following
	fleet      *fleet
	// plain reaches the API server for what no fence is for (exec is fenced by
	// its own wrapper); kube, live and applier are fenced.
	plain       *rest.Config
	kube        kubernetes.Interface
	storage     *storageclass.Cache
	resizes     *podresize.Cache
	live        *apply.Live
	applier     *apply.Applier
	store       *record.Store
	targets     *reports.Targets
	statuses    *statuses
	reporter    *reports.Reporter
	metrics     *telemetry.Metrics
	writers     chan struct{}
	otherLeases *otherLeases
	// explaining bounds how many workers ask at the same time why a pod is stuck.
	explaining chan struct{}
	// firstPasses and passes bound how many clusters are worked on at once.
	firstPasses, passes *places
	// newcomers go first.
	newcomers newcomers

	// admitting is held while a source's build is taken, or held back in pending;
	// settledOne says that a source before it may be done.
	admitting  sync.Mutex
	pending    map[string]pendingBuild
	settledOne chan struct{}
	// historyKnown are the sources whose first build followed from the records.
	historyKnown map[string]bool

	// disrupting is held by the one worker that may begin to disrupt its cluster.
	disrupting sync.Mutex
	// removing is held by the one worker that counts how many clusters are gone.
	removing sync.Mutex

	mu      sync.Mutex
	workers map[record.Cluster]*worker
	outcome map[record.Cluster]string // of --once: "" while it goes on
	// undone is why a cluster is not as it is desired, where its record does not say so.
	undone map[record.Cluster]string
	// lookedElsewhere: clusters of the sources were looked for in other namespaces, for --once.
	lookedElsewhere bool
	start           func(*worker)
	unknown         chan record.Cluster
	ended           context.CancelCauseFunc
	// onceOver is why --once is over.
	onceOver chan error
}

// Run keeps the clusters that the sources name until ctx ends, whenever it
// holds the Lease. With Options.Once it returns nil once each cluster is as it
// is desired, or an error that names those that are not, or says that ctx ended first.
func Run(ctx context.Context, o Options, targets []reports.Config) error {
	o = o.withDefaults()
	if err := checkDependencies(o.Sources); err != nil {
		return err
	}
	receivers, err := reports.NewReceivers(targets, o.Version)
	if err != nil {
		return err
	}
	defer func() {
		for _, receiver := range receivers {
			receiver.Close()
		}
	}()
	metrics := telemetry.NewMetrics(telemetry.Build{Version: o.Version}, nil)
	ready := &telemetry.Checks{}
	l := &leadership{usable: o.Lease.Duration - o.Lease.Duration/5}

	group, ctx := errgroup.WithContext(ctx)
	if o.Listen != "" {
		server := &telemetry.Server{Addr: o.Listen, Metrics: metrics, Ready: ready}
		listener, err := server.Listen(ctx)
		if err != nil {
			return err
		}
		o.Log.Info("serving metrics and health", "address", listener.Addr().String())
		group.Go(func() error { return server.Serve(ctx, listener) })
	}
	if o.Receiver != nil {
		server := pushes(&o, l, metrics)
		listener, err := server.Listen(ctx)
		if err != nil {
			return err
		}
		o.Lease.Identity = identityWith(o.Lease.Identity, o.Receiver.Advertised, listener.Addr())
		o.Log.Info("receiving pushes", "address", listener.Addr().String(), "path", receiver.Path, "repositories", len(server.Targets))
		group.Go(func() error { return server.Serve(ctx, listener) })
	}
	o.Sources = slices.Clone(o.Sources)
	for i := range o.Sources {
		ahead := sources.NewAhead(o.Sources[i].Source)
		o.Sources[i].ahead = ahead
		group.Go(func() error { ahead.Look(ctx); return nil })
	}
	group.Go(func() error {
		defer metrics.Leading(false)
		following := newFollowing(o.Lease.Identity, o.Sources)
		err := lead(ctx, o.REST, o.Lease, l, o.Log, following.says, func(ctx context.Context) error {
			metrics.Leading(true)
			return term(ctx, o, l, following, receivers, metrics, ready)
		})
		if err == nil {
			// --once is done: end the server too.
			return errDone
		}
		return err
	})
	err = group.Wait()
	switch {
	case errors.Is(err, errDone):
		return nil
	case !errors.Is(err, context.Canceled):
		return err
	case o.Once:
		return endedEarly(o.Lease, l.holder())
	}
	return nil
}

var errDone = errors.New("done")

// term acts while the Lease is held.
func term(ctx context.Context, o Options, l *leadership, following *following, receivers []*reports.Receiver, metrics *telemetry.Metrics, ready *telemetry.Checks) error {
	ctx, ended := context.WithCancelCause(ctx)
	defer ended(nil)
	plain := rest.CopyConfig(o.REST)
	// The server's own fairness bounds us; a second bound here would only make
	// a bootstrap wait behind another cluster's.
	plain.QPS = -1
	plain.WarningHandlerWithContext = apply.NewWarnings(o.Log)
	guarded := rest.CopyConfig(plain)
	guarded.Wrap(func(next http.RoundTripper) http.RoundTripper { return fenced{next, l} })
	kube, err := kubernetes.NewForConfig(guarded)
	if err != nil {
		return fmt.Errorf("making the client for the API server: %w", err)
	}
	d := &daemon{
		options: o, leadership: l, following: following, fleet: newFleet(), plain: plain, kube: kube, metrics: metrics,
		otherLeases: &otherLeases{client: kube.CoordinationV1()},
		explaining:  make(chan struct{}, explainersMost),
		writers:     make(chan struct{}, o.MaxConcurrentWrites), firstPasses: newPlaces(firstPassesAWriter * o.MaxConcurrentWrites), passes: newPlaces(maxPasses),
		pending: map[string]pendingBuild{}, settledOne: make(chan struct{}, 1), historyKnown: map[string]bool{},
		workers: map[record.Cluster]*worker{}, outcome: map[record.Cluster]string{},
		unknown: make(chan record.Cluster, 256), ended: ended, onceOver: make(chan error, 1),
	}
	d.newcomers.told = o.Newcomers
	d.storage = &storageclass.Cache{Client: kube, Unread: func(why string) {
		o.Log.Warn("whether the storage classes of new claims are there is not known, and nothing is refused for it", "why", why)
	}}
	d.resizes = &podresize.Cache{Client: kube}
	d.live, err = apply.NewLive(guarded, apply.LiveOptions{Log: o.Log, OnChange: d.changed})
	if err != nil {
		return fmt.Errorf("setting up the watches: %w", err)
	}
	defer d.live.Close()
	d.applier, err = apply.NewApplier(guarded, d.live, apply.ApplierOptions{Log: o.Log, BeforeWrite: l.mayWrite, Version: o.Version})
	if err != nil {
		return fmt.Errorf("setting up apply: %w", err)
	}
	d.store = record.NewStore(record.OverClient(kube.CoreV1(), d.cachedConfigMap))
	d.targets = reports.NewTargets(reports.Options{
		Store: d.store, Clusters: d.known, Log: o.Log,
		Lead: func() error { return l.check(ctx) },
	}, receivers, func(target string) reports.Measure { return metrics.Target(target) })
	d.statuses = newStatuses(o, d.targets, kube, metrics, func() error { return l.check(ctx) })
	events := reports.NewEvents(kube.CoreV1(), o.Log, metrics.EventDropped)
	d.reporter = &reports.Reporter{Targets: d.targets, Events: events, Log: o.Log}
	ready.Add("sources", func() error {
		if !d.fleet.ready(len(o.Sources)) {
			return errors.New("not every source has been read yet")
		}
		return nil
	})

	var group errgroup.Group
	d.start = func(w *worker) {
		group.Go(func() error { w.run(ctx); return nil })
	}
	group.Go(func() error { return events.Run(ctx) })
	group.Go(func() error { return d.targets.Run(ctx) })
	group.Go(func() error { d.statuses.run(ctx); return nil })
	group.Go(func() error { d.watchNamespaces(ctx); return nil })
	group.Go(func() error { d.endOnce(ctx); return nil })
	group.Go(func() error { d.adoptUnknown(ctx); return nil })
	group.Go(func() error { d.proceed(ctx); return nil })
	for _, source := range o.Sources {
		group.Go(func() error { d.follow(ctx, source); return nil })
	}
	<-ctx.Done()
	_ = group.Wait()
	if cause := context.Cause(ctx); errors.Is(cause, errDone) {
		return nil
	} else if o.Once {
		return cause
	}
	return ctx.Err()
}

// follow renders each new snapshot of a source.
func (d *daemon) follow(ctx context.Context, source Source) {
	log := d.options.Log.With("source", source.Identity())
	last := ""
	_ = sources.Follow(ctx, measured{source.looked(), d.metrics}, sources.FollowOptions{Interval: source.Interval, Log: d.options.Log}, func(state sources.State) {
		if state.Err != nil && last == "" && d.options.Once {
			d.finish(fmt.Errorf("there is nothing to go by: %w", state.Err))
			return
		}
		d.metrics.SourceFailed(source.Identity(), string(sources.ReasonOf(state.Err)))
		d.statuses.unfollowed(ctx, source.Identity(), state.Err)
		defer func() {
			// After what is built of the kept state, which makes the clusters known.
			d.employ(d.fleet.hold(source.Identity(), heldBy(state.Err)))
		}()
		if state.Snapshot.IsZero() || state.Snapshot.Revision == last {
			return
		}
		began := time.Now()
		build, err := d.options.build(ctx, state.Snapshot)
		if err != nil {
			log.Error("the source cannot be built, the last good state stays", "error", err, "commit", state.Snapshot.Revision)
			d.statuses.built(ctx, source.Identity(), state.Snapshot.Revision, nil, err)
			return
		}
		if ctx.Err() != nil {
			return
		}
		last = state.Snapshot.Revision
		count := len(build.Problems)
		for _, problem := range build.Problems {
			log.Error("problem in the source, the last good state stays", "problem", problem.String(), "commit", last)
		}
		for _, warning := range build.Warnings {
			log.Warn("this looks like a mistake", "problem", warning.String(), "commit", last)
		}
		for _, cluster := range build.Clusters {
			count += len(cluster.Problems)
			for _, warning := range cluster.Warnings {
				log.Warn("this looks like a mistake in the definition", "cluster", cluster.Namespace+"/"+cluster.Name, "problem", warning.String(), "commit", last)
			}
			for _, problem := range cluster.Problems {
				log.Error("problem in the definition, the cluster stays as it was", "cluster", cluster.Namespace+"/"+cluster.Name, "problem", problem.String(), "commit", last)
			}
		}
		if len(build.Clusters)+count == 0 {
			log.Warn("there is no CrateDB definition in the source", "commit", last)
		}
		d.metrics.Rendered(source.Identity(), time.Since(began), count)
		d.statuses.built(ctx, source.Identity(), last, build, nil)
		d.admit(ctx, source, last, build)
		d.noteSettled()
		d.adoptAll(ctx)
		d.lookElsewhere(ctx)
		d.endOnceIfOver()
	})
}

// measured counts each look at a source, also one that finds nothing new.
type measured struct {
	sources.Source
	metrics *telemetry.Metrics
}

func (m measured) Fetch(ctx context.Context) (sources.Snapshot, error) {
	began := time.Now()
	snapshot, err := m.Source.Fetch(ctx)
	m.metrics.SourceLooked(m.Identity(), time.Since(began), time.Now(), err)
	return snapshot, err
}

// employ gives each cluster a worker and wakes it.
func (d *daemon) employ(keys []record.Cluster) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, key := range keys {
		w := d.workers[key]
		if w == nil {
			w = &worker{daemon: d, key: key, wake: make(chan struct{}, 1), log: d.options.Log.With("namespace", key.Namespace, "cluster", key.Name)}
			d.workers[key] = w
			d.outcome[key] = ""
			d.newcomers.came()
			d.start(w)
			// What an earlier process left in the queues goes out now.
			d.targets.Resume(key)
			d.statuses.cluster.Resume(key)
		} else {
			d.outcome[key] = ""
		}
		w.poke()
	}
}

// changed is told by the watches; it must not block.
func (d *daemon) changed(namespace, cluster string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if cluster == "" {
		for key, w := range d.workers {
			if key.Namespace == namespace {
				w.poke()
			}
		}
		return
	}
	key := record.Cluster{Namespace: namespace, Name: cluster}
	if w := d.workers[key]; w != nil {
		w.poke()
		return
	}
	select {
	case d.unknown <- key:
	default: // the scan after the next build finds it
	}
}

// known are the clusters whose reports may wait for a receiver.
func (d *daemon) known() []record.Cluster {
	d.mu.Lock()
	defer d.mu.Unlock()
	keys := make([]record.Cluster, 0, len(d.workers))
	for key := range d.workers {
		keys = append(keys, key)
	}
	return keys
}

// watchNamespaces begins with the namespaces of the configuration, so that a
// cluster whose definition is gone is noticed there.
func (d *daemon) watchNamespaces(ctx context.Context) {
	waiting := slices.Clone(d.options.Namespaces)
	for len(waiting) > 0 {
		waiting = slices.DeleteFunc(waiting, func(namespace string) bool {
			err := d.live.EnsureNamespace(ctx, namespace)
			if err != nil && ctx.Err() == nil {
				d.options.Log.Warn("namespace cannot be watched", "namespace", namespace, "error", err)
			}
			return err == nil
		})
		d.adoptAll(ctx)
		if !sleep(ctx, 10*time.Second) {
			return
		}
	}
}

// adoptUnknown looks after clusters that stand in Kubernetes as ours and that
// no definition names any more.
func (d *daemon) adoptUnknown(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case key := <-d.unknown:
			d.adopt(ctx, key)
		}
	}
}

func (d *daemon) adoptAll(ctx context.Context) {
	namespaces := slices.Clone(d.options.Namespaces)
	for _, key := range d.known() {
		namespaces = append(namespaces, key.Namespace)
	}
	slices.Sort(namespaces)
	for _, namespace := range slices.Compact(namespaces) {
		d.adoptNamespace(ctx, namespace)
	}
}

func (d *daemon) adoptNamespace(ctx context.Context, namespace string) {
	for _, name := range d.live.Recorded(namespace) {
		d.adopt(ctx, record.Cluster{Namespace: namespace, Name: name})
	}
}

func (d *daemon) adopt(ctx context.Context, key record.Cluster) {
	d.mu.Lock()
	employed := d.workers[key] != nil
	d.mu.Unlock()
	if employed {
		return
	}
	var rec model.Record
	entry, err := d.store.Load(ctx, key, record.Operation, &rec)
	if err != nil || !entry.Exists() {
		// Another watch has shown an object of the cluster before its record is there:
		// whose it is, and which name it had, comes with that.
		return
	}
	owner := cmp.Or(rec.Owner, rec.Shown.Source, d.heir(key, rec))
	if owner != "" && d.fleet.adopt(key, owner, rec.ClusterName) {
		d.employ([]record.Cluster{key})
	}
}

// cachedConfigMap reads a record from the watch; what the watch does not have
// does not exist.
func (d *daemon) cachedConfigMap(namespace, name string) (*corev1.ConfigMap, error) {
	if object, ok := d.live.ConfigMap(namespace, name); ok {
		return object, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name)
}

// tell reports transitions, before the record that marks them is saved.
func (w *worker) tell(ctx context.Context, entry record.Entry, transitions []model.Report) error {
	if len(transitions) == 0 {
		return nil
	}
	if err := w.reporter.Report(ctx, w.key, entry.Object(), transitions); err != nil {
		return fmt.Errorf("queueing reports: %w", err)
	}
	return nil
}
