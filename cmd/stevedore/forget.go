package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/internal/attendance"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/ops/model"
)

func newForget() *cobra.Command {
	var (
		kube    kubeFlags
		timeout time.Duration
	)
	cmd := &cobra.Command{
		Use:   "forget CLUSTER",
		Short: "Take away what is recorded of a cluster that was released or never made",
		Long: `forget takes away stevedore's four ConfigMaps beside a cluster: its record, what was
applied, the reports that nobody has taken yet, and the last look at its database.
Nothing else is touched: StatefulSets, volume claims, Secrets and Services stay as they
are. A cluster whose definition is still there is refused, for it would be taken up
again, and so is one that has StatefulSets or volume claims and was not released.

The daemon that looks after the cluster carries it out; where none does, this command.`,
		Example: `  stevedore forget prod/orders`,
		Args:    takesOne("CLUSTER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, cluster, err := kube.clientFor(args[0], 0)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			f := forgetting{client: client, store: record.NewStore(record.OverClient(client.CoreV1(), nil)), cluster: cluster, tick: 500 * time.Millisecond}
			if err := f.run(ctx); err != nil {
				if ctx.Err() != nil && cmd.Context().Err() == nil {
					return fmt.Errorf("cluster %s is not forgotten within %s: %w", cluster, timeout, err)
				}
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "cluster %s: nothing is recorded of it any more\n", cluster)
			return err
		},
	}
	kube.add(cmd, true)
	cmd.ValidArgsFunction = kube.clusterNames
	cmd.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long the daemon may take")
	return cmd
}

// forgetting is one run of forget.
type forgetting struct {
	client  kubernetes.Interface
	store   *record.Store
	cluster record.Cluster
	tick    time.Duration
}

func (f forgetting) run(ctx context.Context) error {
	asked := false
	tick := time.NewTicker(f.tick)
	defer tick.Stop()
	for {
		object, err := f.read(ctx, record.Operation)
		if err != nil {
			return err
		}
		if object == nil && asked {
			return nil
		}
		rec, err := f.decode(object)
		if err != nil {
			return err
		}
		given := object != nil && object.Annotations[names.ForgetAnnotation] != ""
		if asked && !given {
			return fmt.Errorf("cluster %s is not forgotten: %s", f.cluster, rec.Shown.Kept)
		}
		remains, err := f.remains(ctx)
		if err != nil {
			return err
		}
		if why := lifecycle.WhyNotForgotten(&rec, remains); why != "" {
			return fmt.Errorf("cluster %s is not forgotten: %s", f.cluster, why)
		}
		if object == nil {
			// Its record is lost: nobody can be told, and nobody goes by one.
			return f.forgetLost(ctx)
		}
		if !given {
			// It stands before anything goes: a daemon that begins meanwhile finds it.
			err := f.store.Give(ctx, f.cluster, record.Forget(rec.Revision))
			if err != nil && !errors.Is(err, record.ErrConflict) {
				return err
			}
			asked = asked || err == nil
			continue
		}
		asked = true
		who, err := attendance.NewLooker(f.client.CoordinationV1(), time.Now()).Of(ctx, attendedBy(f.cluster, rec))
		if err == nil && who.Nobody {
			done, err := f.forget(ctx, object)
			if done || err != nil {
				return err
			}
			continue
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if who == nil {
				return fmt.Errorf("a daemon has to carry it out, and whether one looks after the cluster cannot be told: %w", err)
			}
			return fmt.Errorf("%s holds Lease %s and has to carry it out, and has not: does it watch the namespace (stevedore run --namespace %s)? It stays asked for", who.By, who.Lease, f.cluster.Namespace)
		}
	}
}

// read is nil where there is none.
func (f forgetting) read(ctx context.Context, kind record.Kind) (*corev1.ConfigMap, error) {
	object, err := f.client.CoreV1().ConfigMaps(f.cluster.Namespace).Get(ctx, kind.Name(f.cluster.Name), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading ConfigMap %s/%s: %w", f.cluster.Namespace, kind.Name(f.cluster.Name), err)
	}
	if of, _, ok := record.IsRecord(object); !ok || of != f.cluster {
		return nil, fmt.Errorf("ConfigMap %s/%s does not carry the labels of a record of cluster %s: it is left as it is", f.cluster.Namespace, object.Name, f.cluster)
	}
	return object, nil
}

// decode is empty for a record that cannot be read: what stands in Kubernetes decides.
// One of another release is left as it is.
func (f forgetting) decode(object *corev1.ConfigMap) (rec model.Record, err error) {
	if object == nil {
		return rec, nil
	}
	err = record.Decode(record.Operation, object.Data[names.DataKey], &rec)
	if version, ok := errors.AsType[*record.SchemaVersionError](err); ok {
		version.Name = f.cluster.Namespace + "/" + object.Name
		return rec, version
	}
	if err != nil {
		return model.Record{}, nil
	}
	return rec, nil
}

// remains are the cluster's StatefulSets and volume claims. Whether a source still names
// it only the daemon knows.
func (f forgetting) remains(ctx context.Context) (r lifecycle.Remains, err error) {
	of := metav1.ListOptions{LabelSelector: names.ClusterLabel + "=" + f.cluster.Name}
	sets, err := f.client.AppsV1().StatefulSets(f.cluster.Namespace).List(ctx, of)
	if err != nil {
		return r, fmt.Errorf("listing the StatefulSets of cluster %s: %w", f.cluster, err)
	}
	for i := range sets.Items {
		r.Sets = append(r.Sets, sets.Items[i].Name)
	}
	of.LabelSelector = names.ComponentLabel + "=" + names.Component + "," + names.NameLabel + "=" + f.cluster.Name
	claims, err := f.client.CoreV1().PersistentVolumeClaims(f.cluster.Namespace).List(ctx, of)
	if err != nil {
		return r, fmt.Errorf("listing the volume claims of cluster %s: %w", f.cluster, err)
	}
	for i := range claims.Items {
		r.Claims = append(r.Claims, claims.Items[i].Name)
	}
	return r, nil
}

// forget removes the records as nobody else does; false where the record was written
// since it was read. It goes last: what is left after a kill is found by it.
func (f forgetting) forget(ctx context.Context, decidedOn *corev1.ConfigMap) (bool, error) {
	for _, kind := range []record.Kind{record.Observation, record.Reports, record.Inventory} {
		if _, err := f.remove(ctx, kind, nil); err != nil {
			return false, err
		}
	}
	return f.remove(ctx, record.Operation, decidedOn)
}

// forgetLost removes what stands beside a cluster without a record.
func (f forgetting) forgetLost(ctx context.Context) error {
	any := false
	for _, kind := range []record.Kind{record.Observation, record.Reports, record.Inventory} {
		object, err := f.read(ctx, kind)
		if err != nil {
			return err
		}
		any = any || object != nil
	}
	if !any {
		return noRecord(ctx, f.client, f.cluster, fmt.Errorf("there is no record of a cluster %s: check its name and namespace (%w)",
			f.cluster, apierrors.NewNotFound(corev1.Resource("configmaps"), names.OperationConfigMap(f.cluster.Name))))
	}
	for _, kind := range []record.Kind{record.Observation, record.Reports, record.Inventory} {
		if _, err := f.remove(ctx, kind, nil); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes one as it was read, now or before.
func (f forgetting) remove(ctx context.Context, kind record.Kind, object *corev1.ConfigMap) (bool, error) {
	if object == nil {
		var err error
		if object, err = f.read(ctx, kind); err != nil || object == nil {
			return err == nil, err
		}
	}
	err := f.client.CoreV1().ConfigMaps(object.Namespace).Delete(ctx, object.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &object.UID, ResourceVersion: &object.ResourceVersion},
	})
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return true, nil
	case apierrors.IsConflict(err):
		if kind == record.Operation {
			return false, nil
		}
		return false, fmt.Errorf("deleting ConfigMap %s/%s: somebody else writes it, try again: %w", object.Namespace, object.Name, err)
	}
	return false, fmt.Errorf("deleting ConfigMap %s/%s: %w", object.Namespace, object.Name, err)
}
