package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/internal/attendance"
	"stevedore.dev/stevedore/internal/daemon"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// clusterStatus is an element of `status -o json`.
type clusterStatus struct {
	SchemaVersion int `json:"schemaVersion"`
	// Cluster is NAMESPACE/NAME, as commands take it.
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	State     string `json:"state"`
	// Health is "red" where shards have no primary, however the state is; "" otherwise, also where nobody knows.
	Health string    `json:"health,omitempty"`
	Since  time.Time `json:"since"`
	// At is when the daemon wrote the reasons down.
	At        time.Time `json:"at"`
	Revision  string    `json:"revision,omitempty"`
	Commit    string    `json:"commit,omitempty"`
	Stage     string    `json:"stage,omitempty"`
	Owner     string    `json:"owner,omitempty"`
	ClusterID string    `json:"clusterId,omitempty"`
	Version   string    `json:"version,omitempty"`
	// UpgradingTo is the version of an upgrade that is under way.
	UpgradingTo string           `json:"upgradingTo,omitempty"`
	Operation   *model.Operation `json:"operation,omitempty"`
	Groups      []groupStatus    `json:"groups,omitempty"`
	// Looked is who looks after the cluster; nil where that cannot be told.
	Looked   *attendance.Attendance `json:"looked,omitempty"`
	Progress *model.Progress        `json:"progress,omitempty"`
	Reasons  []model.ShownReason    `json:"reasons,omitempty"`
	Problems []string               `json:"problems,omitempty"`
	Commands map[string]string      `json:"commands,omitempty"`
	// Backups is nil where the definition has no spec.backups.
	Backups *backupsStatus `json:"backups,omitempty"`
	// Undelivered are the targets of reports that have taken nothing for longer than a minute.
	Undelivered []reports.Undelivered `json:"undelivered,omitempty"`
	Error       string                `json:"error,omitempty"`

	attended attendance.Cluster
}

// groupStatus is a group's StatefulSet.
type groupStatus struct {
	model.RecordedSet
	// Ready are the nodes that Kubernetes calls ready now; nil where that may not be read.
	Ready *int `json:"ready,omitempty"`
}

// words are "hot 3/4".
func (g groupStatus) words() string {
	ready := "?"
	if g.Ready != nil {
		ready = strconv.Itoa(*g.Ready)
	}
	return fmt.Sprintf("%s %s/%d", g.Group, ready, g.Replicas)
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
		Long: `status reads what the daemon has recorded beside each cluster; the daemon need not run,
and no database is asked. NODES are those that Kubernetes calls ready, of those that are
wanted. LOOKED is when the Lease of the daemon that looks after the cluster was last
renewed, and by whom; where nobody does any more, that is said first. COMMIT is the newest
one that changed the definition of the cluster: a commit that does not touch a cluster
does not show here. STATE says whether the cluster is like that already: one that is
refused or waits is in part as it was before. RED behind it: shards have no primary, and
what is in them can be neither read nor written. --watch writes a line whenever what is
said has changed: the step of an operation, the shards and bytes that are left and how
long that will take.`,
		Example: `  stevedore status -n prod
  stevedore status prod/orders -o yaml
  stevedore status prod/orders --watch
  stevedore status -A`,
		Args: takesAtMostOne("CLUSTER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if watch && output != "" {
				return fmt.Errorf("--watch writes lines for people: leave -o out")
			}
			if output != "" && output != "json" && output != "yaml" {
				return fmt.Errorf("-o %q is not known: write json or yaml", output)
			}
			if all && kube.namespace != "" {
				return fmt.Errorf("%s: either -n %s or --all-namespaces: the two name different clusters", cmd.CommandPath(), kube.namespace)
			}
			of, err := kube.selected(args, all)
			if err != nil {
				return err
			}
			client, namespace := of.client, of.namespace
			if watch {
				if namespace != metav1.NamespaceAll {
					if err := namespaceThere(cmd.Context(), client, namespace); err != nil {
						return err
					}
				}
				return watchStatuses(cmd.Context(), client, namespace, of.only.Name, cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			objects, err := of.records(cmd.Context())
			if err != nil {
				return err
			}
			statuses := []clusterStatus{}
			for _, object := range objects {
				if status, ok := statusOf(object); ok {
					statuses = append(statuses, status)
				}
			}
			if err := addNow(cmd.Context(), client, namespace, statuses); err != nil {
				return err
			}
			if err := addUndelivered(cmd.Context(), client, namespace, statuses, time.Now()); err != nil {
				return err
			}
			if output != "" {
				return encodeStatuses(cmd.OutOrStdout(), output, statuses)
			}
			_, width := terminalOf(cmd.OutOrStdout(), "never")
			return printStatuses(cmd.OutOrStdout(), statuses, namespace, width, time.Now())
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
		return fmt.Errorf("namespace %s does not exist: is it mistyped? `kubectl get namespaces` lists those that are there", namespace)
	}
	return nil
}

func statusOf(object *corev1.ConfigMap) (clusterStatus, bool) {
	cluster, kind, ok := record.IsRecord(object)
	if !ok || kind != record.Operation {
		return clusterStatus{}, false
	}
	status := clusterStatus{SchemaVersion: names.SchemaVersion, Cluster: cluster.String(), Namespace: cluster.Namespace, Name: cluster.Name}
	var rec model.Record
	if err := record.Decode(record.Operation, object.Data[names.DataKey], &rec); err != nil {
		status.State, status.Error = "unreadable", err.Error()
		return status, true
	}
	status.attended = attendedBy(cluster, rec)
	status.State, status.Since, status.At = daemon.StateOf(&rec), rec.Shown.Since, rec.Shown.At
	status.Revision, status.Commit, status.Stage, status.Owner = rec.Revision, cmp.Or(rec.Shown.Commit, rec.Commit), string(rec.Stage), rec.Owner
	status.ClusterID, status.Version, status.Operation = rec.ClusterID, rec.Version, rec.Operation
	for _, set := range rec.Sets {
		status.Groups = append(status.Groups, groupStatus{RecordedSet: set})
	}
	if o := rec.Operation; o != nil && o.Upgrade != nil && o.Upgrade.NewVersion != o.Upgrade.OldVersion {
		status.Version, status.UpgradingTo = o.Upgrade.OldVersion, o.Upgrade.NewVersion
	}
	status.Progress = rec.Shown.Progress
	status.Reasons, status.Problems = slices.Clone(rec.Shown.Reasons), rec.Shown.Problems
	if waitsFor(rec, gates.TablesRedRule) {
		status.Health = model.Red.String()
		slices.SortStableFunc(status.Reasons, func(a, b model.ShownReason) int { return redFirst(b) - redFirst(a) })
	}
	status.Backups = backupsOf(rec, time.Now())
	for _, command := range record.CommandsOf(object.Annotations) {
		if status.Commands == nil {
			status.Commands = map[string]string{}
		}
		status.Commands[strings.TrimPrefix(command.Key, names.Prefix)] = command.Value
	}
	return status, true
}

// redFirst is 1 for what is said before all else.
func redFirst(r model.ShownReason) int {
	if r.Name == gates.TablesRedRule.Name {
		return 1
	}
	return 0
}

// stateWords are the state for people, who have to see at once that tables are red.
func (s clusterStatus) stateWords() string {
	if s.Health == model.Red.String() {
		return s.State + ", RED"
	}
	return s.State
}

// addNow adds what no record says: which nodes are ready, and who looks.
func addNow(ctx context.Context, client kubernetes.Interface, namespace string, statuses []clusterStatus) error {
	sets, err := client.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{LabelSelector: names.ClusterLabel})
	if err != nil && !apply.Forbidden(err) {
		return fmt.Errorf("listing the StatefulSets of clusters: %w", err)
	}
	known := err == nil
	ready := map[[2]string]int{}
	if known {
		for i := range sets.Items {
			ready[[2]string{sets.Items[i].Namespace, sets.Items[i].Name}] = int(sets.Items[i].Status.ReadyReplicas)
		}
	}
	looker := attendance.NewLooker(client.CoordinationV1(), time.Now())
	for i := range statuses {
		if looked, err := looker.Of(ctx, statuses[i].attended); err == nil {
			statuses[i].Looked = looked
		}
		for j := range statuses[i].Groups {
			if known {
				statuses[i].Groups[j].Ready = new(ready[[2]string{statuses[i].Namespace, statuses[i].Groups[j].Name}])
			}
		}
	}
	return nil
}

// addUndelivered adds what the receivers of reports have not taken: a webhook that nobody answers
// holds nothing back, so that no reason says it.
func addUndelivered(ctx context.Context, client kubernetes.Interface, namespace string, statuses []clusterStatus, now time.Time) error {
	list, err := client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{LabelSelector: record.Label + "=" + string(record.Reports)})
	if err != nil {
		return fmt.Errorf("listing the reports of clusters that wait: %w", err)
	}
	found := map[record.Cluster][]reports.Undelivered{}
	for i := range list.Items {
		if cluster, kind, ok := record.IsRecord(&list.Items[i]); ok && kind == record.Reports {
			found[cluster] = reports.UndeliveredIn(&list.Items[i], now)
		}
	}
	for i := range statuses {
		statuses[i].Undelivered = found[record.Cluster{Namespace: statuses[i].Namespace, Name: statuses[i].Name}]
	}
	return nil
}

func waitsFor(rec model.Record, rule gates.Rule) bool {
	return slices.ContainsFunc(rec.Shown.Reasons, func(r model.ShownReason) bool { return r.Name == rule.Name })
}
