package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/daemon"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/plan"
	"stevedore.dev/stevedore/render"
)

func newDiff() *cobra.Command {
	var (
		kube      kubeFlags
		rendering renderFlags
		filter    string
		output    string
		against   string
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
folder is in, or with another folder; no cluster is asked, and no network.

Exit code 0: nothing differs, 2: something does, 1: an error.`,
		Example: `  stevedore diff clusters/
  stevedore diff clusters/ --cluster prod/orders -o json
  stevedore diff clusters/ --against origin/main`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "" && output != "json" {
				return fmt.Errorf("-o %q is not known: write json", output)
			}
			config, err := rendering.config()
			if err != nil {
				return err
			}
			make := &plansOf{cmd: cmd, path: args[0], filter: filter, config: config, now: time.Now().UTC().Truncate(time.Second)}
			var plans []plan.Plan
			var good bool
			if against != "" {
				plans, good, err = make.offline(against)
			} else {
				plans, good, err = make.live(&kube)
			}
			if err != nil {
				return err
			}
			if output == "json" {
				err = printJSON(cmd.OutOrStdout(), plans)
			} else {
				err = printPlans(cmd.OutOrStdout(), plans)
			}
			switch {
			case err != nil:
				return err
			case !good:
				return exitCode(exitError)
			case len(plans) > 0:
				return exitCode(exitChanges)
			}
			return nil
		},
	}
	kube.add(cmd, false)
	rendering.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&filter, "cluster", "", "only this one: NAME or NAMESPACE/NAME")
	flags.StringVarP(&output, "output", "o", "", "json (default: for people)")
	flags.StringVar(&against, "against", "", "compare with a revision of the work tree that PATH is in, or with another folder; asks no cluster")
	return cmd
}

// plansOf makes the plans of a folder's clusters; those in which nothing happens
// are left out.
type plansOf struct {
	cmd    *cobra.Command
	path   string
	filter string
	config render.Config
	now    time.Time
}

func (p *plansOf) live(kube *kubeFlags) ([]plan.Plan, bool, error) {
	ctx := p.cmd.Context()
	cfg, _, err := kube.config()
	if err != nil {
		return nil, false, err
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, false, fmt.Errorf("making the client for the API server: %w", err)
	}
	store := record.NewStore(record.OverClient(client.CoreV1(), nil))
	var unread error
	pins := func(namespace, name string) render.Pins {
		var rec ops.Record
		if _, err := store.Load(ctx, record.Cluster{Namespace: namespace, Name: name}, record.Operation, &rec); err != nil && !errors.Is(err, record.ErrDamaged) {
			unread = errors.Join(unread, err)
		}
		return render.Pins{Base: rec.Pins.Base, MasterGroup: rec.Pins.MasterGroup}
	}
	clusters, good, err := renderPath(p.cmd, p.path, p.filter, p.config, pins)
	if err = errors.Join(err, unread); err != nil {
		return nil, false, err
	}
	live, err := apply.NewLive(cfg, apply.LiveOptions{Log: slog.New(slog.DiscardHandler), SyncTimeout: 30 * time.Second})
	if err != nil {
		return nil, false, fmt.Errorf("looking at what is live: %w", err)
	}
	defer live.Close()
	applier, err := apply.NewApplier(cfg, live, apply.ApplierOptions{Version: version})
	if err != nil {
		return nil, false, fmt.Errorf("looking at what is live: %w", err)
	}
	planner := &livePlans{
		looker: daemon.Looker{Live: live, Applier: applier, Store: store}, applier: applier, revision: revisionOf(ctx, p.path), now: p.now,
	}
	plans := []plan.Plan{}
	for _, cluster := range clusters {
		one, err := planner.of(ctx, cluster)
		if err != nil {
			return nil, false, fmt.Errorf("comparing cluster %s/%s: %w", cluster.cluster.Namespace, cluster.cluster.Name, err)
		}
		if !one.Empty() {
			plans = append(plans, one)
		}
	}
	return plans, good, nil
}

func (p *plansOf) offline(against string) ([]plan.Plan, bool, error) {
	planner := &offlinePlans{against: against, revision: revisionOf(p.cmd.Context(), p.path), config: p.config, now: p.now}
	problems, root, err := planner.older(p.cmd, p.path)
	if err != nil {
		return nil, false, err
	}
	sayProblems(p.cmd.ErrOrStderr(), root, problems)
	clusters, good, err := renderPath(p.cmd, p.path, p.filter, p.config, noPins)
	if err != nil {
		return nil, false, err
	}
	good = good && len(problems) == 0
	plans := []plan.Plan{}
	var here []render.Cluster
	for _, cluster := range clusters {
		here = append(here, cluster.cluster)
		one, problems, err := planner.of(cluster)
		if err != nil {
			return nil, false, err
		}
		if len(problems) > 0 {
			sayProblems(p.cmd.ErrOrStderr(), p.path, problems)
			good = false
			continue
		}
		if !one.Empty() {
			plans = append(plans, one)
		}
	}
	if good {
		// What could not be read has not vanished.
		plans = append(plans, planner.gone(here, p.filter)...)
	}
	return plans, good, nil
}

// wantedEffect is what would be applied if everything that is wanted were done:
// a founded cluster has no initial_master_nodes, and budgets are as they are.
func wantedEffect(cluster renderedCluster, rec ops.Record) ([]*unstructured.Unstructured, error) {
	desired := ops.NewDesired(cluster.cluster.Definition, ops.Render{
		Objects: cluster.rendered.Objects, Revision: cluster.rendered.Revision,
	}, "", "")
	effective := ops.Effective{Budgets: rec.Budgets}
	for _, set := range desired.Sets {
		effective.Sets = append(effective.Sets, ops.EffectiveSet{
			Name: set.Name, Replicas: set.Replicas, Template: ops.TemplateWanted, InitialMasters: rec.ClusterID == "",
		})
	}
	objects, _, err := ops.Materialise(cluster.rendered.Objects, rec.Saved, effective)
	return objects, err
}

// printPlans is the plan for people.
func printPlans(out io.Writer, plans []plan.Plan) error {
	var text strings.Builder
	for _, one := range plans {
		fmt.Fprintf(&text, "%s/%s\n", one.Namespace, one.Name)
		for _, object := range one.Objects {
			sign := map[plan.Change]string{plan.Added: "+", plan.Changed: "~", plan.Removed: "-", plan.Orphaned: "?", plan.Moved: ">"}[object.Change]
			fmt.Fprintf(&text, "  %s %s %s (%s; %s)\n", sign, object.Kind, object.Key.Name, object.Change, object.Class)
			for _, field := range object.Fields {
				printField(&text, field)
			}
		}
		for i, operation := range one.Operations {
			fmt.Fprintf(&text, "  %d. %s: %s\n", i+1, operation.Kind, operation.Summary)
			for _, gate := range operation.Gates {
				fmt.Fprintf(&text, "       waits: %s: %s\n", gate.Name, gate.Message)
			}
			for _, step := range operation.Steps {
				fmt.Fprintf(&text, "       %s %s", step.Action, step.Target)
				if step.Detail != "" {
					fmt.Fprintf(&text, " (%s)", step.Detail)
				}
				text.WriteByte('\n')
			}
		}
		for _, gate := range one.Refused {
			fmt.Fprintf(&text, "  refused: %s: %s\n", gate.Name, gate.Message)
		}
		for _, risk := range one.AtRisk {
			fmt.Fprintf(&text, "  at risk: %s: %s\n", risk.Subject, risk.Why)
		}
		for _, unknown := range one.Unknown {
			fmt.Fprintf(&text, "  not known: %s\n", unknown)
		}
		if e := one.Estimate; e != nil {
			fmt.Fprintf(&text, "  takes %s to %s: %s\n", e.Least, e.Most, e.Basis)
		}
	}
	if len(plans) == 0 {
		text.WriteString("nothing differs\n")
	}
	_, err := io.WriteString(out, text.String())
	return err
}

func printField(text *strings.Builder, field plan.Field) {
	class := ""
	if field.Class != plan.InPlace {
		class = " (" + string(field.Class) + ")"
	}
	switch field.Op {
	case compare.OpAdd:
		fmt.Fprintf(text, "      + %s: %s%s\n", field.Path, printable(field.To), class)
	case compare.OpRemove:
		fmt.Fprintf(text, "      - %s: %s%s\n", field.Path, printable(field.From), class)
	default:
		if !printElements(text, field.FieldChange) {
			fmt.Fprintf(text, "      ~ %s: %s -> %s%s\n", field.Path, printable(field.From), printable(field.To), class)
		}
	}
}

// printElements prints only the elements in which two lists of plain values
// differ: a command has forty, of which one moves.
func printElements(text *strings.Builder, field compare.FieldChange) bool {
	from, okFrom := field.From.([]any)
	to, okTo := field.To.([]any)
	if !okFrom || !okTo {
		return false
	}
	lacks := func(list []any, item any) bool {
		return !slices.ContainsFunc(list, func(have any) bool { return printable(have) == printable(item) })
	}
	var lines []string
	for _, item := range from {
		if lacks(to, item) {
			lines = append(lines, "- "+printable(item))
		}
	}
	for _, item := range to {
		if lacks(from, item) {
			lines = append(lines, "+ "+printable(item))
		}
	}
	if len(lines) == 0 {
		lines = append(lines, "(another order)")
	}
	fmt.Fprintf(text, "      ~ %s:\n", field.Path)
	for _, line := range lines {
		fmt.Fprintf(text, "          %s\n", line)
	}
	return true
}

// printable keeps a value on one line, quoted where a terminal would act on it.
func printable(value any) string {
	if text, ok := value.(string); ok {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%v", value)
}
