package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/internal/daemon"
	"stevedore.dev/stevedore/internal/exported"
	"stevedore.dev/stevedore/internal/podresize"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/storageclass"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
	"stevedore.dev/stevedore/render"
)

func newDiff() *cobra.Command {
	var (
		kube      kubeFlags
		rendering renderFlags
		filter    string
		output    diffOutput
		against   string
		observed  observationFlag
	)
	cmd := &cobra.Command{
		Use:   "diff PATH",
		Short: "Say what a folder would do to clusters: to their objects and to their data",
		Long: `diff renders a folder and makes the plan of each cluster: the objects that
differ, field by field, and the operations that follow, in order, as the daemon
would decide them. It writes nothing; values of Secrets are never shown.

Without --against it compares with live clusters. It needs to read their objects
only: numbers of the database come from what the daemon publishes, and where the
role may not read Secrets or not ask what the API server would store, the plan
says so. With --against it compares with a revision of the Git work tree that the
folder is in, or with another folder, written as a path (./before); no cluster is
asked, and no network. --observation then names a file with what the daemon
publishes, so that such a plan has the numbers of the database too:
  ` + exported.Command + ` > FILE`,
		Example: `  stevedore diff clusters/
  stevedore diff clusters/ --cluster prod/orders -o json
  stevedore diff clusters/ --against origin/main -o markdown --fail-on refused
  stevedore diff clusters/ --against origin/main --observation observations.yaml`,
		Args: takesOne("PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := output.check(); err != nil {
				return err
			}
			published, err := observed.read(cmd, against)
			if err != nil {
				return err
			}
			// It ends soon: collecting less often takes a fifth less time.
			defer debug.SetGCPercent(debug.SetGCPercent(300))
			renderer, err := rendering.renderer(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { _ = renderer.Close() }()
			make := &plansOf{cmd: cmd, path: args[0], filter: filter, renderer: renderer, now: time.Now().UTC().Truncate(time.Second)}
			output.notes.begin(cmd)
			var plans []plan.Plan
			var good bool
			if against != "" {
				plans, good, err = make.offline(against, published)
			} else {
				plans, good, err = make.live(&kube)
				err = withAdvice(err)
			}
			if err != nil {
				return errors.Join(err, output.notes.write(cmd, nil))
			}
			return output.print(cmd, plans, args[0], make.clusters, !good)
		},
	}
	kube.add(cmd, false)
	rendering.add(cmd)
	rendering.addTrust(cmd)
	flags := cmd.Flags()
	flags.StringVar(&filter, "cluster", "", "only this one: NAME or NAMESPACE/NAME")
	complete(cmd, "cluster", rendering.inFolder)
	cmd.ValidArgsFunction = oneFolder
	flags.StringVar(&against, "against", "", "compare with a revision of the work tree that PATH is in, or with another folder (./FOLDER); asks no cluster")
	observed.add(cmd)
	output.add(cmd)
	return cmd
}

// withAdvice says what to do where the API server does not answer, or not to us.
func withAdvice(err error) error {
	if err == nil {
		return nil
	}
	if _, unreachable := errors.AsType[*net.OpError](err); unreachable {
		return fmt.Errorf("%w; check --kubeconfig and --context, or compare without a cluster: --against REVISION", err)
	}
	if errors.Is(err, errNoServer) {
		return fmt.Errorf("%w; or compare without a cluster: --against REVISION", err)
	}
	if apply.Forbidden(err) {
		return fmt.Errorf("%w; what diff has to read is in the role of deploy/reader, to be bound in each cluster's namespace", err)
	}
	return err
}

// plansOf makes the plans of a folder's clusters.
type plansOf struct {
	cmd      *cobra.Command
	path     string
	filter   string
	renderer render.Renderer
	now      time.Time
	// clusters are those that plans were made of.
	clusters []renderedCluster
	// vanished are those of this folder that it has no more.
	vanished vanished
}

func (p *plansOf) live(kube *kubeFlags) ([]plan.Plan, bool, error) {
	ctx := p.cmd.Context()
	// Whoever mistyped the folder may have no cluster either.
	if err := folderAt(p.path); err != nil {
		return nil, false, err
	}
	cfg, namespace, err := kube.config()
	if err != nil {
		return nil, false, err
	}
	// The server's own fairness bounds us: five requests a second would make a fleet
	// wait for minutes.
	cfg.QPS = -1
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, false, fmt.Errorf("making the client for the API server: %w", err)
	}
	// The lists would try a server that is not there for as long as they may.
	if _, err := client.Discovery().ServerVersion(); err != nil {
		if _, unreachable := errors.AsType[*net.OpError](err); unreachable {
			return nil, false, fmt.Errorf("asking the API server: %w", err)
		}
	}
	live, err := apply.NewLive(cfg, apply.LiveOptions{Once: true, Log: slog.New(slog.DiscardHandler), SyncTimeout: 30 * time.Second})
	if err != nil {
		return nil, false, fmt.Errorf("looking at what is live: %w", err)
	}
	defer live.Close()
	// Records come with the lists: asking for each would be most of all requests.
	store := record.NewStore(record.OverClient(client.CoreV1(), func(namespace, name string) (*corev1.ConfigMap, error) {
		if object, ok := live.ConfigMap(namespace, name); ok {
			return object, nil
		}
		return nil, apierrors.NewNotFound(corev1.Resource("configmaps"), name)
	}))
	var unread error
	pins := func(namespace, name string) render.Pins {
		var rec model.Record
		if err := live.EnsureNamespace(ctx, namespace); err != nil {
			unread = errors.Join(unread, fmt.Errorf("looking at namespace %s: %w", namespace, err))
			return render.Pins{}
		}
		if _, err := store.Load(ctx, record.Cluster{Namespace: namespace, Name: name}, record.Operation, &rec); err != nil && !errors.Is(err, record.ErrDamaged) {
			unread = errors.Join(unread, err)
		}
		return daemon.PinsOf(rec, live, namespace, name)
	}
	clusters, good, err := renderPath(p.cmd, p.renderer, p.path, p.filter, pins)
	empty := error(nil)
	if isGone(err) {
		// It may have been there before, and that it is gone is the plan.
		empty, err, good = err, nil, true
	}
	if err = errors.Join(err, unread); err != nil {
		return nil, false, err
	}
	p.clusters, p.vanished = clusters, vanished{}
	revision := revisionOf(ctx, p.path)
	applier, err := apply.NewApplier(cfg, live, apply.ApplierOptions{Version: version})
	if err != nil {
		return nil, false, fmt.Errorf("looking at what is live: %w", err)
	}
	looker := daemon.Looker{Live: live, Applier: applier, Store: store, Storage: &storageclass.Cache{Client: client, For: time.Hour}, Kube: client, Resizes: &podresize.Cache{Client: client}}
	gone := []plan.Plan{}
	if good {
		// What could not be read has not vanished.
		if gone, err = p.orphans(ctx, client, looker.LookRemoved, namespace, revision); err != nil {
			return nil, false, fmt.Errorf("looking for clusters without a definition: %w", err)
		}
	}
	if empty != nil && len(gone) == 0 {
		if p.filter != "" {
			return nil, false, empty
		}
		fmt.Fprintf(p.cmd.ErrOrStderr(), "%v, and no live cluster belongs to it\n", empty)
	}
	planner := &livePlans{looker: looker, applier: applier, revision: revision, now: p.now, vanished: p.vanished}
	plans := []plan.Plan{}
	for _, cluster := range clusters {
		one, err := planner.of(ctx, cluster)
		if err != nil {
			return nil, false, fmt.Errorf("comparing cluster %s/%s: %w", cluster.cluster.Namespace, cluster.cluster.Name, err)
		}
		plans = append(plans, one)
	}
	return append(plans, gone...), good, nil
}

func (p *plansOf) offline(against string, readings *readings) ([]plan.Plan, bool, error) {
	planner := &offlinePlans{against: against, revision: revisionOf(p.cmd.Context(), p.path), root: rootOf(p.cmd), renderer: p.renderer, now: p.now, readings: readings}
	problems, root, err := planner.older(p.cmd, p.path)
	if err != nil {
		return nil, false, err
	}
	sayProblems(p.cmd, root, problems)
	clusters, good, err := renderTouched(p.cmd, p.renderer, p.path, p.filter, noPins, planner.touches)
	if isGone(err) && planner.had(p.filter) {
		good, err = true, nil // it was there before, and that it is gone is the plan
	}
	if err != nil {
		return nil, false, err
	}
	p.clusters = clusters
	if p.filter == "" {
		planner.vanished = planner.vanishedFrom(clusters)
	}
	good = good && len(problems) == 0
	plans := []plan.Plan{}
	var here []render.Cluster
	for _, cluster := range clusters {
		here = append(here, cluster.cluster)
		one, problems, err := planner.of(p.cmd.Context(), cluster)
		if err != nil {
			return nil, false, err
		}
		if len(problems) > 0 {
			sayProblems(p.cmd, cluster.root, problems)
			good = false
			continue
		}
		plans = append(plans, one)
	}
	if good {
		// What could not be read has not vanished.
		gone, problems, err := planner.gone(p.cmd.Context(), here, p.filter)
		if err != nil {
			return nil, false, err
		}
		sayProblems(p.cmd, root, problems)
		plans, good = append(plans, gone...), len(problems) == 0
		readings.noteOthers(func(cluster record.Cluster) bool {
			return !selects(p.filter, cluster.Namespace, cluster.Name) || planner.knows(here, cluster)
		}, p.path)
	}
	return plans, good, nil
}

// wantedEffect is what would be applied if everything that is wanted were done:
// a founded cluster has no initial_master_nodes, and budgets are as they are.
func wantedEffect(cluster renderedCluster, rec model.Record) ([]*unstructured.Unstructured, error) {
	desired := manifest.NewDesired(cluster.cluster.Definition, manifest.Render{
		Objects: cluster.rendered.Objects, Revision: cluster.rendered.Revision,
	}, "", "")
	effective := model.Effective{Budgets: rec.Budgets}
	for _, set := range desired.Sets {
		effective.Sets = append(effective.Sets, model.EffectiveSet{
			Name: set.Name, Replicas: set.Replicas, Template: model.TemplateDesired, InitialMasters: rec.ClusterID == "",
		})
	}
	objects, _, err := manifest.Materialise(cluster.rendered.Objects, rec.Saved, effective)
	return objects, err
}

// withoutGuard has budgets be as they are live that the daemon holds to every pod while a StatefulSet is recreated:
// that comes and goes with the operation, and no definition has it.
func withoutGuard(rec model.Record, live []model.ObservedBudget) model.Record {
	rec.Budgets = slices.Clone(rec.Budgets)
	for i := range rec.Budgets {
		b := &rec.Budgets[i]
		j := slices.IndexFunc(live, func(l model.ObservedBudget) bool { return l.Name == b.Name })
		if j >= 0 && b.MinAvailable > 0 {
			b.MaxUnavailable, b.MinAvailable = live[j].MaxUnavailable, live[j].MinAvailable
		}
	}
	return rec
}
