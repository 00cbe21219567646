package main

import (
	"context"
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
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/render"
)

// clusterDiff is an element of `diff -o json`.
type clusterDiff struct {
	SchemaVersion int          `json:"schemaVersion"`
	Namespace     string       `json:"namespace"`
	Name          string       `json:"name"`
	Objects       []objectDiff `json:"objects"`
}

type objectDiff struct {
	compare.Key
	// Change is added, changed or orphaned.
	Change string                `json:"change"`
	Fields []compare.FieldChange `json:"fields,omitempty"`
}

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
		Short: "Compare what a folder makes with what is live",
		Long: `diff renders a folder and compares each object with the live one, field by
field; defaults and fields that others own are silent, values of Secrets are
never shown. It writes nothing.

Exit code 0: nothing differs, 2: something does, 1: an error.`,
		Example: `  stevedore diff clusters/
  stevedore diff clusters/ --cluster prod/orders -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "" && output != "json" {
				return fmt.Errorf("-o %q is not known: write json", output)
			}
			if against != "" {
				return errors.New("--against is not supported yet: diff compares with a live cluster")
			}
			config, err := rendering.config()
			if err != nil {
				return err
			}
			cfg, _, err := kube.config()
			if err != nil {
				return err
			}
			client, err := kubernetes.NewForConfig(cfg)
			if err != nil {
				return fmt.Errorf("making the client for the API server: %w", err)
			}
			store := record.NewStore(record.OverClient(client.CoreV1(), nil))
			records := map[record.Cluster]ops.Record{}
			var unread error
			pins := func(namespace, name string) render.Pins {
				key := record.Cluster{Namespace: namespace, Name: name}
				var rec ops.Record
				if _, err := store.Load(cmd.Context(), key, record.Operation, &rec); err != nil {
					unread = errors.Join(unread, err)
				}
				records[key] = rec
				return render.Pins{Base: rec.Pins.Base, MasterGroup: rec.Pins.MasterGroup}
			}
			clusters, good, err := renderPath(cmd, args[0], filter, config, pins)
			if err = errors.Join(err, unread); err != nil {
				return err
			}
			live, err := apply.NewLive(cfg, apply.LiveOptions{Log: slog.New(slog.DiscardHandler), SyncTimeout: 30 * time.Second})
			if err != nil {
				return fmt.Errorf("looking at what is live: %w", err)
			}
			defer live.Close()
			applier, err := apply.NewApplier(cfg, live, apply.ApplierOptions{Version: version})
			if err != nil {
				return fmt.Errorf("looking at what is live: %w", err)
			}
			diffs := []clusterDiff{}
			for _, cluster := range clusters {
				key := record.Cluster{Namespace: cluster.cluster.Namespace, Name: cluster.cluster.Name}
				diff, err := diffCluster(cmd.Context(), live, applier, cluster, records[key])
				if err != nil {
					return fmt.Errorf("comparing cluster %s: %w", key, err)
				}
				if len(diff.Objects) > 0 {
					diffs = append(diffs, diff)
				}
			}
			if output == "json" {
				err = printJSON(cmd.OutOrStdout(), diffs)
			} else {
				err = printDiffs(cmd.OutOrStdout(), diffs)
			}
			switch {
			case err != nil:
				return err
			case !good:
				return exitCode(exitError)
			case len(diffs) > 0:
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
	flags.StringVar(&against, "against", "", "compare with a revision or a folder (not supported yet)")
	return cmd
}

func diffCluster(ctx context.Context, live *apply.Live, applier *apply.Applier, cluster renderedCluster, rec ops.Record) (clusterDiff, error) {
	ns, name := cluster.cluster.Namespace, cluster.cluster.Name
	diff := clusterDiff{SchemaVersion: names.SchemaVersion, Namespace: ns, Name: name}
	if err := live.EnsureNamespace(ctx, ns); err != nil {
		return diff, err
	}
	objects, err := wantedEffect(cluster, rec)
	if err != nil {
		return diff, err
	}
	if err := live.EnsureObjects(ctx, ns, objects); err != nil {
		return diff, err
	}
	wanted := map[compare.Key]bool{}
	for _, object := range objects {
		key := compare.KeyOf(object)
		wanted[key] = true
		if _, ok := live.Get(key); !ok {
			diff.Objects = append(diff.Objects, objectDiff{Key: key, Change: "added"})
			continue
		}
		if fields := applier.Diff(object); len(fields) > 0 {
			diff.Objects = append(diff.Objects, objectDiff{Key: key, Change: "changed", Fields: compare.MaskChanges(key, fields)})
		}
	}
	for _, object := range live.Objects(ns, name) {
		key := compare.KeyOf(object)
		if _, _, ours := record.IsRecord(object); ours || wanted[key] || key.Name == names.SystemSecret(name) || key.Name == names.InventoryConfigMap(name) || object.GetLabels()[record.Label] != "" {
			continue
		}
		if key.Kind == "PersistentVolumeClaim" || key.Kind == "Pod" {
			continue
		}
		diff.Objects = append(diff.Objects, objectDiff{Key: key, Change: "orphaned"})
	}
	return diff, nil
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
	objects, _, err := ops.Materialise(cluster.rendered.Objects, nil, effective)
	return objects, err
}

func printDiffs(out io.Writer, diffs []clusterDiff) error {
	var text strings.Builder
	for _, diff := range diffs {
		fmt.Fprintf(&text, "%s/%s\n", diff.Namespace, diff.Name)
		for _, object := range diff.Objects {
			sign := map[string]string{"added": "+", "changed": "~", "orphaned": "?"}[object.Change]
			fmt.Fprintf(&text, "  %s %s %s (%s)\n", sign, object.Kind, object.Key.Name, object.Change)
			fields := slices.Clone(object.Fields)
			for _, field := range fields {
				switch field.Op {
				case compare.OpAdd:
					fmt.Fprintf(&text, "      + %s: %s\n", field.Path, printable(field.To))
				case compare.OpRemove:
					fmt.Fprintf(&text, "      - %s: %s\n", field.Path, printable(field.From))
				default:
					if printElements(&text, field) {
						continue
					}
					fmt.Fprintf(&text, "      ~ %s: %s -> %s\n", field.Path, printable(field.From), printable(field.To))
				}
			}
		}
	}
	if len(diffs) == 0 {
		text.WriteString("nothing differs\n")
	}
	_, err := io.WriteString(out, text.String())
	return err
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
