package adopt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/adopt"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/render/definition"
)

// Written is what the definition says of a cluster whose StatefulSets somebody wrote.
type Written struct {
	// ClusterName is spec.cluster.name.
	ClusterName string
	// Sets are the StatefulSets as they are rendered, those with other names than stevedore's.
	Sets []*unstructured.Unstructured
}

// WrittenOf is that of a rendered definition; nil where it has no group with names of others.
func WrittenOf(db *definition.CrateDB, objects []*unstructured.Unstructured) *Written {
	w := &Written{ClusterName: db.Spec.Cluster.Name}
	for _, o := range objects {
		if o.GetKind() == "StatefulSet" && o.GetAnnotations()[names.NamesAnnotation] != "" {
			w.Sets = append(w.Sets, o)
		}
	}
	if len(w.Sets) == 0 {
		return nil
	}
	return w
}

// targets say what each StatefulSet becomes: what an earlier run has kept, or what the definition says.
func (m *Mover) targets() (map[string]adopt.Target, error) {
	if m.saved != nil {
		return m.saved.Written.Targets, nil
	}
	return m.Written.targets()
}

// AsAdopted is a StatefulSet that somebody wrote as the adoption makes it again; any other one stays as it is.
func (w *Written) AsAdopted(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	targets, err := w.targets()
	if err != nil {
		return nil, err
	}
	target, named := targets[live.GetName()]
	if !named || live.GetKind() != "StatefulSet" || live.GetLabels()[names.ClusterLabel] != "" {
		return live, nil
	}
	set := live.DeepCopy()
	return set, become(set, target)
}

func (w *Written) targets() (map[string]adopt.Target, error) {
	out := map[string]adopt.Target{}
	for _, o := range w.Sets {
		text := o.GetAnnotations()[names.NamesAnnotation]
		var n definition.Names
		if err := json.Unmarshal([]byte(text), &n); err != nil {
			return nil, fmt.Errorf("reading the names of StatefulSet %s: %w", o.GetName(), err)
		}
		claims, _, _ := unstructured.NestedSlice(o.Object, "spec", "volumeClaimTemplates")
		packed, err := json.Marshal(claims)
		if err != nil {
			return nil, fmt.Errorf("reading the claims of StatefulSet %s: %w", o.GetName(), err)
		}
		t := adopt.Target{Group: n.Group, Labels: o.GetLabels(), Names: text, Claims: packed, NodePrefix: n.NodePrefix}
		t.PodLabels, _, _ = unstructured.NestedStringMap(o.Object, "spec", "template", "metadata", "labels")
		if len(claims) == 1 {
			claim, _ := claims[0].(map[string]any)
			t.ClaimLabels, _, _ = unstructured.NestedStringMap(claim, "metadata", "labels")
		}
		out[o.GetName()] = t
	}
	return out, nil
}

// lookWritten reads a cluster whose StatefulSets somebody wrote.
func (m *Mover) lookWritten(ctx context.Context, r *adopt.Reading, wish adopt.Wish) error {
	targets, err := m.targets()
	if err != nil {
		return err
	}
	r.Written = &adopt.Written{}
	if m.Written != nil {
		r.Written.Asked = m.Written.ClusterName
	}
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		live, err := m.Dynamic.Resource(setResource).Namespace(r.Namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			r.Written.Missing = append(r.Written.Missing, name)
			continue
		case err != nil:
			return fmt.Errorf("reading StatefulSet %s/%s: %w", r.Namespace, name, err)
		}
		set, err := m.writtenSet(live, targets[name])
		if err != nil {
			return err
		}
		r.Sets = append(r.Sets, *set)
	}
	for _, read := range []func(context.Context, *adopt.Reading, map[string]adopt.Target) error{m.writtenPods, m.writtenClaims, m.writtenBudgets, m.added} {
		if err := read(ctx, r, targets); err != nil {
			return err
		}
	}
	if err := m.expectation(ctx, r); err != nil {
		return err
	}
	asked := wish.Back || m.saved == nil || !m.saved.Adopted()
	if len(r.Pods) == 0 {
		r.Database.Why = "no pod is there that could be asked"
	} else if m.Superuser != nil && asked {
		r.Database = m.Superuser.Look(ctx, m.writtenPodsNamed(r, targets), r.Written)
	}
	return nil
}

// writtenSet is a StatefulSet, and what its definition has otherwise.
func (m *Mover) writtenSet(live *unstructured.Unstructured, target adopt.Target) (*adopt.Set, error) {
	var set appsv1.StatefulSet
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &set); err != nil {
		return nil, fmt.Errorf("reading StatefulSet %s: %w", live.GetName(), err)
	}
	live.SetKind("StatefulSet")
	live.SetAPIVersion("apps/v1")
	m.objects["StatefulSet "+set.Name] = live
	replicas := 1
	if set.Spec.Replicas != nil {
		replicas = int(*set.Spec.Replicas)
	}
	out := &adopt.Set{
		Name: set.Name, UID: string(set.UID), Version: set.ResourceVersion, Group: target.Group,
		Replicas: replicas, Ready: int(set.Status.ReadyReplicas), Current: int(set.Status.Replicas),
		Deleting: set.DeletionTimestamp != nil, Observed: set.Status.ObservedGeneration >= set.Generation,
		Ours: set.Labels[names.ClusterLabel] == m.Cluster.Name, Strategy: string(set.Spec.UpdateStrategy.Type),
		Remade: set.Spec.Template.Annotations[names.TemplateAnnotation] != "", Kept: m.isKept(set.Name),
		Written: &adopt.WrittenSet{AppliedBy: appliedBy(live), Revision: set.Status.UpdateRevision},
	}
	if owners := live.GetOwnerReferences(); len(owners) > 0 && out.Written.AppliedBy == "" {
		out.Written.AppliedBy = owners[0].Kind + " " + owners[0].Name + " (its owner)"
	}
	if policy := set.Spec.PersistentVolumeClaimRetentionPolicy; policy != nil {
		out.Written.Deletes = policy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType || policy.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	if m.Written == nil || out.Ours {
		return out, nil
	}
	if i := slices.IndexFunc(m.Written.Sets, func(o *unstructured.Unstructured) bool { return o.GetName() == set.Name }); i >= 0 {
		var err error
		if out.Written.Wrong, err = wrong(&set, m.Written.Sets[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// wrong is what a rendered StatefulSet has otherwise than the live one, and that can never change or
// that its data or its place in the cluster hang on.
func wrong(live *appsv1.StatefulSet, rendered *unstructured.Unstructured) (out []string, err error) {
	var asked appsv1.StatefulSet
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(rendered.Object, &asked); err != nil {
		return nil, fmt.Errorf("reading the rendered StatefulSet %s: %w", rendered.GetName(), err)
	}
	say := func(what string, is, would any) {
		if fmt.Sprint(is) != fmt.Sprint(would) {
			out = append(out, fmt.Sprintf("%s is %v and would be %v", what, is, would))
		}
	}
	say("serviceName", live.Spec.ServiceName, asked.Spec.ServiceName)
	say("the selector", metav1.FormatLabelSelector(live.Spec.Selector), metav1.FormatLabelSelector(asked.Spec.Selector))
	say("the list of claims", claimsOf(live), claimsOf(&asked))
	is, would := crateOf(live), crateOf(&asked)
	if is == nil {
		return append(out, "it has no container crate"), nil
	}
	for _, claim := range claimsOf(&asked) {
		say("the folder of volume "+claim, mountOf(is, claim), mountOf(would, claim))
	}
	now := slices.Concat(is.Command, is.Args)
	for _, d := range decisive {
		say(d.setting, valueIn(now, d.setting, d.otherwise), valueIn(would.Command, d.setting, d.otherwise))
	}
	if o := live.Spec.Ordinals; o != nil && o.Start != 0 {
		out = append(out, fmt.Sprintf("its ordinals begin with %d, and stevedore counts from 0", o.Start))
	}
	return out, nil
}

// decisive are settings by which nodes find their data and each other, and clients find them, with what
// CrateDB does without them: its image for the folder, else its manual, "Node-specific settings".
var decisive = []struct{ setting, otherwise string }{
	{"path.data", ImageDataPath},
	{"transport.tcp.port", "4300"}, {"http.port", "4200"}, {"psql.port", "5432"},
	{"ssl.psql.enabled", "false"}, {"ssl.http.enabled", "false"}, {"ssl.transport.mode", "legacy"},
}

// valueIn is a setting on a command line. Of a range of ports the first one counts: in a pod it is free.
func valueIn(command []string, setting, otherwise string) string {
	value := cmp.Or(manifest.ArgumentIn(command, setting), otherwise)
	if strings.HasSuffix(setting, ".port") {
		value, _, _ = strings.Cut(value, "-")
	}
	return value
}

// ImageDataPath is path.data in the configuration of CrateDB's image (crate/docker-crate, config/crate.yml).
const ImageDataPath = "/data/data"

func claimsOf(set *appsv1.StatefulSet) (out []string) {
	for _, c := range set.Spec.VolumeClaimTemplates {
		out = append(out, c.Name)
	}
	return out
}

func crateOf(set *appsv1.StatefulSet) *corev1.Container {
	for i := range set.Spec.Template.Spec.Containers {
		if c := &set.Spec.Template.Spec.Containers[i]; c.Name == manifest.CrateContainer {
			return c
		}
	}
	return nil
}

// mountOf is where a container has a volume; "" where it has it nowhere, or a part of it alone.
func mountOf(c *corev1.Container, volume string) string {
	for _, mount := range c.VolumeMounts {
		if mount.Name == volume && mount.SubPath == "" && mount.SubPathExpr == "" {
			return path.Clean(mount.MountPath)
		}
	}
	return ""
}

// ordinalIn is the ordinal of a pod of a StatefulSet; false for another pod.
func ordinalIn(set, pod string) (int, bool) {
	text, ok := strings.CutPrefix(pod, set+"-")
	n, err := strconv.Atoi(text)
	return n, ok && err == nil && strconv.Itoa(n) == text
}

// writtenPods reads the pods of the StatefulSets, by their names: while a StatefulSet is away they have no
// controller.
func (m *Mover) writtenPods(ctx context.Context, r *adopt.Reading, targets map[string]adopt.Target) error {
	list, err := m.Client.CoreV1().Pods(r.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the pods of namespace %s: %w", r.Namespace, err)
	}
	for i := range list.Items {
		p := &list.Items[i]
		for set, target := range targets {
			if _, ours := ordinalIn(set, p.Name); !ours {
				continue
			}
			out := podOf(p)
			out.Set, out.Remade = set, p.Annotations[names.TemplateAnnotation] != ""
			for key, value := range target.PodLabels {
				out.Unmarked = out.Unmarked || p.Labels[key] != value
			}
			out.Marks = len(m.ofOurs(set, target.PodLabels, p.Labels))
			r.Pods = append(r.Pods, out)
			r.Written.NodeNames = append(r.Written.NodeNames, m.nodeOf(target, set, p.Name))
			pod := &unstructured.Unstructured{Object: map[string]any{"kind": "Pod"}}
			pod.SetLabels(p.Labels)
			m.objects["pod "+p.Name] = pod
		}
	}
	return nil
}

func (m *Mover) nodeOf(target adopt.Target, set, pod string) string {
	ordinal, _ := ordinalIn(set, pod)
	return target.NodePrefix + "-" + strconv.Itoa(ordinal)
}

// ofOurs are the labels that an object has of stevedore, and not of whoever wrote its StatefulSet.
func (m *Mover) ofOurs(set string, labels, has map[string]string) (out []string) {
	their := map[string]string{}
	if m.saved != nil {
		if was, err := unpack(m.saved.Sets[set]); err == nil {
			their, _, _ = unstructured.NestedStringMap(was.Object, "spec", "template", "metadata", "labels")
		}
	}
	for key := range labels {
		if _, theirs := their[key]; !theirs {
			if _, there := has[key]; there {
				out = append(out, key)
			}
		}
	}
	slices.Sort(out)
	return out
}

var claimResource = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}

// claimSet is the StatefulSet that a claim is of, by its name; "" for none.
func claimSet(claim string, targets map[string]adopt.Target) string {
	for set, target := range targets {
		var templates []struct{ Metadata struct{ Name string } }
		if json.Unmarshal(target.Claims, &templates) != nil {
			continue
		}
		for _, t := range templates {
			if rest, ok := strings.CutPrefix(claim, t.Metadata.Name+"-"); ok {
				if _, is := ordinalIn(set, rest); is {
					return set
				}
			}
		}
	}
	return ""
}

// classIn is the storage class of claim templates; "" where they say none.
func classIn(claims json.RawMessage) string {
	var templates []struct {
		Spec struct{ StorageClassName string }
	}
	if json.Unmarshal(claims, &templates) != nil || len(templates) == 0 {
		return ""
	}
	return templates[0].Spec.StorageClassName
}

// isOtherwise notes once what a StatefulSet that is not stevedore's yet has otherwise than its definition.
func isOtherwise(r *adopt.Reading, set, words string) {
	for i := range r.Sets {
		s := &r.Sets[i]
		if s.Name == set && !s.Ours && !slices.Contains(s.Written.Wrong, words) {
			s.Written.Wrong = append(s.Written.Wrong, words)
		}
	}
}

// writtenClaims reads the claims of the StatefulSets, those of higher ordinals too.
func (m *Mover) writtenClaims(ctx context.Context, r *adopt.Reading, targets map[string]adopt.Target) error {
	list, err := m.Client.CoreV1().PersistentVolumeClaims(r.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the volume claims of namespace %s: %w", r.Namespace, err)
	}
	for i := range list.Items {
		c := &list.Items[i]
		set := claimSet(c.Name, targets)
		if set == "" {
			continue
		}
		d := adopt.Dependent{Resource: claimResource, Kind: "PersistentVolumeClaim", Name: c.Name, UID: string(c.UID), ClusterID: c.Annotations[names.ClusterIDAnnotation], Deleting: c.DeletionTimestamp != nil}
		for key, value := range targets[set].ClaimLabels {
			d.Unmarked = d.Unmarked || c.Labels[key] != value
		}
		d.Marks = len(m.ofOurs(set, targets[set].ClaimLabels, c.Labels))
		for key := range c.Annotations {
			if strings.HasPrefix(key, names.Prefix) {
				d.Marks++
			}
		}
		if class := classIn(targets[set].Claims); class != "" && c.Spec.StorageClassName != nil && *c.Spec.StorageClassName != class {
			isOtherwise(r, set, fmt.Sprintf("the storage class of its claims is %s and would be %s", *c.Spec.StorageClassName, class))
		}
		live := &unstructured.Unstructured{Object: map[string]any{"kind": d.Kind}}
		live.SetLabels(c.Labels)
		live.SetAnnotations(c.Annotations)
		m.objects[d.String()] = live
		r.Dependents = append(r.Dependents, d)
	}
	return nil
}

// writtenBudgets reads stevedore's budgets of the cluster, and those of others over its pods.
func (m *Mover) writtenBudgets(ctx context.Context, r *adopt.Reading, targets map[string]adopt.Target) error {
	if err := m.budgets(ctx, r); err != nil {
		return err
	}
	list, err := m.Client.PolicyV1().PodDisruptionBudgets(r.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the disruption budgets of namespace %s: %w", r.Namespace, err)
	}
	for i := range list.Items {
		b := &list.Items[i]
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || b.Name == adopt.Guard(r.Cluster) || b.Labels[names.ClusterLabel] == r.Cluster {
			continue
		}
		over := slices.ContainsFunc(r.Pods, func(p adopt.Pod) bool {
			all := maps.Clone(targets[p.Set].PodLabels)
			if pod := m.objects["pod "+p.Name]; pod != nil {
				maps.Copy(all, pod.GetLabels())
			}
			return selector.Matches(labels.Set(all))
		})
		if over {
			r.Written.Over = append(r.Written.Over, b.Name)
		}
	}
	return nil
}

// added reads what stevedore has made of the cluster in addition.
func (m *Mover) added(ctx context.Context, r *adopt.Reading, targets map[string]adopt.Target) error {
	mine := metav1.ListOptions{LabelSelector: names.ClusterLabel + "=" + r.Cluster}
	sets, err := m.Client.AppsV1().StatefulSets(r.Namespace).List(ctx, mine)
	if err != nil {
		return fmt.Errorf("listing the StatefulSets of namespace %s: %w", r.Namespace, err)
	}
	for i := range sets.Items {
		if _, there := targets[sets.Items[i].Name]; !there {
			r.Written.Groups = append(r.Written.Groups, sets.Items[i].Name)
		}
	}
	services, err := m.Client.CoreV1().Services(r.Namespace).List(ctx, mine)
	if err != nil {
		return fmt.Errorf("listing the Services of namespace %s: %w", r.Namespace, err)
	}
	for i := range services.Items {
		if name := services.Items[i].Name; name == names.Service(r.Cluster) || name == names.DiscoveryService(r.Cluster) {
			r.Written.Services = append(r.Written.Services, name)
		}
	}
	secret, err := m.Client.CoreV1().Secrets(r.Namespace).Get(ctx, names.SystemSecret(r.Cluster), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading Secret %s: %w", names.SystemSecret(r.Cluster), errors.New(reason(err)))
	}
	r.Written.Secret = err == nil && len(secret.Data["password"]) > 0
	return nil
}

// writtenPodsNamed are the pods that are asked, with CrateDB's names of their nodes.
func (m *Mover) writtenPodsNamed(r *adopt.Reading, targets map[string]adopt.Target) (out []NamedPod) {
	for i := range r.Pods {
		p := &r.Pods[i]
		out = append(out, NamedPod{Pod: p.Name, Node: m.nodeOf(targets[p.Set], p.Set, p.Name)})
	}
	return out
}

// saveWritten keeps the cluster as the last look saw it.
func (m *Mover) saveWritten(ctx context.Context, r *adopt.Reading) error {
	targets, err := m.targets()
	if err != nil {
		return err
	}
	k := &kept{Saved: adopt.Saved{ClusterID: r.Database.ClusterID, Pods: r.Pods, Sets: map[string]json.RawMessage{}, Written: &adopt.SavedWritten{Targets: targets}}}
	for i := range r.Sets {
		if k.Sets[r.Sets[i].Name], err = packed(m.objects["StatefulSet "+r.Sets[i].Name]); err != nil {
			return err
		}
	}
	return m.keep(ctx, k)
}
