package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/gates"
)

// clusterStatus is an element of `status -o json`.
type clusterStatus struct {
	SchemaVersion int       `json:"schemaVersion"`
	Namespace     string    `json:"namespace"`
	Name          string    `json:"name"`
	State         string    `json:"state"`
	Since         time.Time `json:"since"`
	// At is when the daemon wrote the reasons down.
	At        time.Time         `json:"at"`
	Revision  string            `json:"revision,omitempty"`
	Commit    string            `json:"commit,omitempty"`
	Stage     string            `json:"stage,omitempty"`
	Owner     string            `json:"owner,omitempty"`
	ClusterID string            `json:"clusterId,omitempty"`
	Version   string            `json:"version,omitempty"`
	Operation *ops.Operation    `json:"operation,omitempty"`
	Groups    []ops.RecordedSet `json:"groups,omitempty"`
	Progress  *ops.Progress     `json:"progress,omitempty"`
	Reasons   []ops.ShownReason `json:"reasons,omitempty"`
	Problems  []string          `json:"problems,omitempty"`
	Commands  map[string]string `json:"commands,omitempty"`
	Error     string            `json:"error,omitempty"`
}

func newStatus() *cobra.Command {
	var (
		kube   kubeFlags
		output string
		all    bool
		watch  bool
	)
	cmd := &cobra.Command{
		Use:   "status [CLUSTER]",
		Short: "Say how clusters are, and why they wait",
		Long: `status reads what the daemon has recorded beside each cluster; the daemon need
not run, and no database is asked. --watch writes a line whenever what is said
has changed: the step of an operation, the shards and bytes that are left and how
long that will take. COMMIT is the last one that changed what the
cluster is made of: a commit that does not touch a cluster does not show here.`,
		Example: `  stevedore status -n prod
  stevedore status -n prod orders -o yaml
  stevedore status -n prod orders --watch
  stevedore status -A`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if watch && output != "" {
				return fmt.Errorf("--watch writes lines for people: leave -o out")
			}
			if output != "" && output != "json" && output != "yaml" {
				return fmt.Errorf("-o %q is not known: write json or yaml", output)
			}
			cfg, namespace, err := kube.config()
			if err != nil {
				return err
			}
			if all {
				namespace = metav1.NamespaceAll
			}
			client, err := kubernetes.NewForConfig(cfg)
			if err != nil {
				return fmt.Errorf("making the client for the API server: %w", err)
			}
			if watch {
				name := ""
				if len(args) == 1 {
					name = args[0]
				}
				return watchStatuses(cmd.Context(), client, namespace, name, cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			list, err := client.CoreV1().ConfigMaps(namespace).List(cmd.Context(), metav1.ListOptions{
				LabelSelector: record.Label + "=" + string(record.Operation),
			})
			if err != nil {
				return fmt.Errorf("listing the records of clusters: %w", err)
			}
			statuses := []clusterStatus{}
			for i := range list.Items {
				status, ok := statusOf(&list.Items[i])
				if ok && (len(args) == 0 || args[0] == status.Name) {
					statuses = append(statuses, status)
				}
			}
			if len(statuses) == 0 && !all {
				if err := namespaceThere(cmd.Context(), client, namespace); err != nil {
					return err
				}
			}
			if len(args) == 1 && len(statuses) == 0 {
				return fmt.Errorf("there is no record of a cluster %s in namespace %s: check the name, -n, and that the daemon has seen its definition", args[0], namespace)
			}
			if output == "" {
				warnIfNobodyActs(cmd.Context(), client, cmd.ErrOrStderr())
			}
			return printStatuses(cmd.OutOrStdout(), output, statuses, namespace)
		},
	}
	kube.add(cmd, true)
	cmd.ValidArgsFunction = kube.clusterNames
	cmd.Flags().StringVarP(&output, "output", "o", "", "json or yaml (default: for people)")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "go on, and write a line at each change")
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "all namespaces")
	return cmd
}

// namespaceThere is an error where the namespace is not there; a role that may not
// ask is told nothing.
func namespaceThere(ctx context.Context, client kubernetes.Interface, namespace string) error {
	if _, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		return errors.New(apply.NamespaceMissing(namespace))
	}
	return nil
}

func statusOf(object *corev1.ConfigMap) (clusterStatus, bool) {
	cluster, kind, ok := record.IsRecord(object)
	if !ok || kind != record.Operation {
		return clusterStatus{}, false
	}
	status := clusterStatus{SchemaVersion: names.SchemaVersion, Namespace: cluster.Namespace, Name: cluster.Name}
	var rec ops.Record
	if err := record.Decode(record.Operation, object.Data[names.DataKey], &rec); err != nil {
		status.State, status.Error = "unreadable", err.Error()
		return status, true
	}
	status.State, status.Since, status.At = stateOf(rec), rec.Shown.Since, rec.Shown.At
	status.Revision, status.Commit, status.Stage, status.Owner = rec.Revision, rec.Commit, string(rec.Stage), rec.Owner
	status.ClusterID, status.Version, status.Operation, status.Groups = rec.ClusterID, rec.Version, rec.Operation, rec.Sets
	status.Progress = rec.Shown.Progress
	status.Reasons, status.Problems = rec.Shown.Reasons, rec.Shown.Problems
	for _, command := range record.CommandsOf(object.Annotations) {
		if status.Commands == nil {
			status.Commands = map[string]string{}
		}
		status.Commands[strings.TrimPrefix(command.Key, names.Prefix)] = command.Value
	}
	return status, true
}

// stateOf is one word for people.
func stateOf(rec ops.Record) string {
	switch {
	case len(rec.Shown.Problems) > 0:
		return "broken"
	case waitsFor(rec, gates.ReleasedRule):
		return "released"
	case waitsFor(rec, gates.PausedRule):
		return "paused"
	case rec.Shown.Verdict == ops.Refuse.String():
		return "refused"
	case len(rec.Suspended) > 0 && rec.Operation == nil:
		return "suspended"
	case rec.Shown.Verdict == ops.Wait.String():
		return "waiting"
	case rec.Shown.Verdict == ops.Done.String() && rec.Operation == nil:
		return "done"
	default:
		return "working"
	}
}

func waitsFor(rec ops.Record, rule gates.Rule) bool {
	return slices.ContainsFunc(rec.Shown.Reasons, func(r ops.ShownReason) bool { return r.Name == rule.Name })
}

func printStatuses(out io.Writer, format string, statuses []clusterStatus, namespace string) error {
	switch format {
	case "json":
		return printJSON(out, statuses)
	case "yaml":
		text, err := yaml.Marshal(statuses)
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	}
	if len(statuses) == 0 {
		where := "namespace " + namespace + "; -n names another one, -A all"
		if namespace == "" {
			where = "any namespace"
		}
		_, err := fmt.Fprintf(out, "no clusters are recorded in %s\n", where)
		return err
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "NAMESPACE\tCLUSTER\tSTATE\tNODES\tVERSION\tOPERATION\tCOMMIT\tSINCE")
	for _, status := range statuses {
		var groups []string
		for _, group := range status.Groups {
			groups = append(groups, fmt.Sprintf("%s=%d", group.Group, group.Replicas))
		}
		operation := ""
		if status.Operation != nil {
			operation = operationWords(status.Operation)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", status.Namespace, status.Name, status.State,
			strings.Join(groups, ","), status.Version, operation, shortCommit(status.Commit), age(status.Since))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, status := range statuses {
		for _, problem := range status.Problems {
			fmt.Fprintf(out, "\n%s/%s: the newest definition is not used: %s\n", status.Namespace, status.Name, problem)
		}
		if words := progressWords(status.Progress); words != "" {
			fmt.Fprintf(out, "\n%s/%s: %s\n", status.Namespace, status.Name, words)
		}
		for _, reason := range status.Reasons {
			fmt.Fprintf(out, "\n%s/%s: %s %s: %s\n", status.Namespace, status.Name, reason.Kind, reason.Name, reason.Message)
		}
		for _, key := range slices.Sorted(maps.Keys(status.Commands)) {
			// What was taken back, or done, is for -o yaml.
			if value := status.Commands[key]; value != "false" && (status.State != "done" || key != "restartedAt") {
				fmt.Fprintf(out, "\n%s/%s: command %s=%s\n", status.Namespace, status.Name, key, value)
			}
		}
		if status.Error != "" {
			fmt.Fprintf(out, "\n%s/%s: %s\n", status.Namespace, status.Name, status.Error)
		}
	}
	return nil
}

// shortCommit keeps what tells commits apart: "main@sha1:0123456789ab".
func shortCommit(commit string) string {
	ref, hash, found := strings.Cut(commit, ":")
	if !found {
		return commit
	}
	return ref + ":" + hash[:min(len(hash), 12)]
}

func age(since time.Time) string {
	if since.IsZero() {
		return ""
	}
	return time.Since(since).Round(time.Second).String()
}
