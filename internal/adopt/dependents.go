package adopt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"stevedore.dev/stevedore/internal/crateoperator"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/adopt"
)

// kind is a kind of objects that can be listed in a namespace.
type kind struct {
	resource schema.GroupVersionResource
	name     string
	// found is true once an object of it was one of the cluster's.
	found bool
}

var (
	setResource    = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	budgetResource = schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}
)

// needed are the kinds of objects that crate-operator makes: an owner on one that is not seen
// would have it deleted.
var needed = []string{"statefulsets", "persistentvolumeclaims", "services", "secrets", "configmaps", "poddisruptionbudgets", "roles", "rolebindings", "cronjobs", "deployments"}

// skipped are kinds that are never owned by a CrateDB object and are many.
var skipped = []string{"events", "endpoints", "endpointslices", "leases", "controllerrevisions", "pods"}

// dependents reads the StatefulSets, pods, claims and budgets of the cluster, and whatever else
// names the CrateDB object as an owner.
func (m *Mover) dependents(ctx context.Context, r *adopt.Reading, uid string) error {
	if err := m.sets(ctx, r); err != nil {
		return err
	}
	if err := m.pods(ctx, r); err != nil {
		return err
	}
	if err := m.budgets(ctx, r); err != nil {
		return err
	}
	if m.kinds == nil {
		var err error
		if m.kinds, err = m.namespaced(); err != nil {
			return err
		}
		defer func() {
			m.kinds = slices.DeleteFunc(m.kinds, func(k kind) bool { return !k.found && !slices.Contains(needed, k.resource.Resource) })
		}()
	}
	for i := range m.kinds {
		k := &m.kinds[i]
		list, err := m.metadata.Resource(k.resource).Namespace(r.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
				continue
			}
			r.Unread = append(r.Unread, adopt.Unread{Resource: k.resource.Resource, Why: reason(err), Needed: slices.Contains(needed, k.resource.Resource)})
			continue
		}
		for j := range list.Items {
			if d := m.dependent(&list.Items[j], k, r, uid); d != nil {
				k.found = true
				r.Dependents = append(r.Dependents, *d)
			}
		}
	}
	return m.jobs(ctx, r)
}

// namespaced are the kinds that a namespace may have. What a broken aggregated API hides is none
// of crate-operator's.
func (m *Mover) namespaced() ([]kind, error) {
	lists, err := m.Client.Discovery().ServerPreferredNamespacedResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("asking the API server for its kinds: %w", err)
	}
	var out []kind
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, one := range list.APIResources {
			if strings.Contains(one.Name, "/") || !slices.Contains(one.Verbs, "list") || slices.Contains(skipped, one.Name) || gv.Group == names.OperatorGroup {
				continue
			}
			out = append(out, kind{resource: gv.WithResource(one.Name), name: one.Kind})
		}
	}
	// The API server's order is another one each time, and a plan is read twice.
	slices.SortFunc(out, func(a, b kind) int { return strings.Compare(a.resource.String(), b.resource.String()) })
	return out, nil
}

// dependent is an object of the cluster; nil for one of others.
func (m *Mover) dependent(o *metav1.PartialObjectMetadata, k *kind, r *adopt.Reading, uid string) *adopt.Dependent {
	owned := uid != "" && slices.ContainsFunc(o.OwnerReferences, func(ref metav1.OwnerReference) bool { return string(ref.UID) == uid })
	claim := k.name == "PersistentVolumeClaim" && o.Labels[names.NameLabel] == r.Cluster && o.Labels[names.ComponentLabel] == names.Component
	users := k.name == "Secret" && m.userSecrets[o.Name]
	was := slices.ContainsFunc(m.before(), func(s adopt.SavedObject) bool { return s.Kind == k.name && s.Name == o.Name && s.UID == string(o.UID) })
	if !owned && !claim && !users && !was {
		return nil
	}
	d := &adopt.Dependent{
		Resource: k.resource, Kind: k.name, Name: o.Name, UID: string(o.UID), Owned: owned, ClusterID: o.Annotations[names.ClusterIDAnnotation],
		Ours: o.Labels[names.ClusterLabel] != "", Deleting: o.DeletionTimestamp != nil,
	}
	for key := range o.Annotations {
		if strings.HasPrefix(key, names.OperatorPrefix) {
			d.Diary = append(d.Diary, key)
		}
	}
	slices.Sort(d.Diary)
	live := &unstructured.Unstructured{Object: map[string]any{"kind": k.name}}
	live.SetName(o.Name)
	live.SetUID(o.UID)
	live.SetResourceVersion(o.ResourceVersion)
	live.SetOwnerReferences(o.OwnerReferences)
	live.SetLabels(o.Labels)
	if _, whole := m.objects[d.String()]; !whole {
		m.objects[d.String()] = live
	}
	return d
}

// before are the objects that an earlier run has kept.
func (m *Mover) before() []adopt.SavedObject {
	if m.saved == nil {
		return nil
	}
	return m.saved.Objects
}

func (m *Mover) sets(ctx context.Context, r *adopt.Reading) error {
	list, err := m.Dynamic.Resource(setResource).Namespace(r.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: names.ComponentLabel + "=" + names.Component + "," + names.NameLabel + "=" + r.Cluster,
	})
	if err != nil {
		return fmt.Errorf("listing the StatefulSets of namespace %s: %w", r.Namespace, err)
	}
	for i := range list.Items {
		live := &list.Items[i]
		var set appsv1.StatefulSet
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &set); err != nil {
			return fmt.Errorf("reading StatefulSet %s/%s: %w", r.Namespace, live.GetName(), err)
		}
		live.SetKind("StatefulSet")
		live.SetAPIVersion("apps/v1")
		m.objects["StatefulSet "+set.Name] = live
		replicas := 1
		if set.Spec.Replicas != nil {
			replicas = int(*set.Spec.Replicas)
		}
		r.Sets = append(r.Sets, adopt.Set{
			Name: set.Name, UID: string(set.UID), Version: set.ResourceVersion, Group: set.Labels[names.NodeNameLabel],
			Replicas: replicas, Ready: int(set.Status.ReadyReplicas), Current: int(set.Status.Replicas),
			Deleting: set.DeletionTimestamp != nil, Observed: set.Status.ObservedGeneration >= set.Generation,
			Ours: set.Labels[names.ClusterLabel] == r.Cluster, Strategy: string(set.Spec.UpdateStrategy.Type),
			Routing: set.Labels["dc-util-routing-owner"], Remade: set.Spec.Template.Labels[names.ManagedByLabel] != crateoperator.Name,
			Kept: m.isKept(set.Name),
		})
	}
	slices.SortStableFunc(r.Sets, func(a, b adopt.Set) int {
		return boolOrder(a.Group == names.MasterGroup, b.Group == names.MasterGroup)
	})
	return nil
}

// boolOrder puts what is true first.
func boolOrder(a, b bool) int {
	switch {
	case a && !b:
		return -1
	case b && !a:
		return 1
	}
	return 0
}

func (m *Mover) pods(ctx context.Context, r *adopt.Reading) error {
	list, err := m.Client.CoreV1().Pods(r.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: names.ComponentLabel + "=" + names.Component + "," + names.NameLabel + "=" + r.Cluster + "," + names.NodeNameLabel,
	})
	if err != nil {
		return fmt.Errorf("listing the pods of namespace %s: %w", r.Namespace, err)
	}
	for i := range list.Items {
		r.Pods = append(r.Pods, podOf(&list.Items[i]))
	}
	return nil
}

func podOf(p *corev1.Pod) adopt.Pod {
	out := adopt.Pod{
		Name: p.Name, UID: string(p.UID), Revision: p.Labels[appsv1.ControllerRevisionHashLabelKey], Deleting: p.DeletionTimestamp != nil,
		Theirs: p.Labels[names.ManagedByLabel] == crateoperator.Name,
	}
	if i := strings.LastIndex(p.Name, "-"); i > 0 {
		out.Set = p.Name[:i]
	}
	if owner := metav1.GetControllerOf(p); owner != nil {
		out.Controller = string(owner.UID)
	}
	for _, c := range p.Status.ContainerStatuses {
		out.Restarts += int(c.RestartCount)
	}
	out.Ready = slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	return out
}

func (m *Mover) budgets(ctx context.Context, r *adopt.Reading) error {
	list, err := m.Dynamic.Resource(budgetResource).Namespace(r.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the disruption budgets of namespace %s: %w", r.Namespace, err)
	}
	for i := range list.Items {
		live := &list.Items[i]
		var b policyv1.PodDisruptionBudget
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &b); err != nil {
			return fmt.Errorf("reading PodDisruptionBudget %s/%s: %w", r.Namespace, live.GetName(), err)
		}
		if b.Spec.Selector == nil || b.Spec.Selector.MatchLabels[names.NameLabel] != r.Cluster {
			continue
		}
		live.SetKind("PodDisruptionBudget")
		live.SetAPIVersion("policy/v1")
		m.objects["PodDisruptionBudget "+b.Name] = live
		out := adopt.Budget{Name: b.Name, UID: string(b.UID), Seen: b.Status.ObservedGeneration >= b.Generation, Allowed: int(b.Status.DisruptionsAllowed), Ours: b.Labels[names.ClusterLabel] == r.Cluster}
		if b.Spec.MinAvailable != nil {
			out.MinAvailable = b.Spec.MinAvailable.IntValue()
		}
		r.Budgets = append(r.Budgets, out)
	}
	return nil
}

// jobs says which CronJobs are suspended.
func (m *Mover) jobs(ctx context.Context, r *adopt.Reading) error {
	for i := range r.Dependents {
		d := &r.Dependents[i]
		if d.Kind != "CronJob" {
			continue
		}
		live, err := m.Dynamic.Resource(d.Resource).Namespace(r.Namespace).Get(ctx, d.Name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading CronJob %s/%s: %w", r.Namespace, d.Name, err)
		}
		d.Suspended, _, _ = unstructured.NestedBool(live.Object, "spec", "suspend")
	}
	return nil
}
