package daemon

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/password"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// liveView is what observing reads; apply.Live is one.
type liveView interface {
	Get(key compare.Key) (*unstructured.Unstructured, bool)
	Pods(ns, cluster string) []*corev1.Pod
	Claims(ns, cluster string) []*corev1.PersistentVolumeClaim
	Secret(ns, name string) (*corev1.Secret, bool)
	Objects(ns, cluster string) []*unstructured.Unstructured
}

// observeKubernetes reads the cluster's live objects as Decide sees them.
func observeKubernetes(live liveView, desired model.Desired) model.Observed {
	ns, cluster := desired.Namespace, desired.Name
	observed := model.Observed{}
	hide := redactionOf(live, desired)
	sets := slices.Clone(desired.Sets)
	for i := range sets {
		key := compare.Key{Group: "apps", Kind: "StatefulSet", Namespace: ns, Name: sets[i].Name}
		if object, ok := live.Get(key); ok {
			set := observedSet(object, cluster)
			if set.Ours {
				sets[i].Names = set.Names // what runs has them, whatever the definition says
			}
			observed.Sets = append(observed.Sets, set)
			observed.Volumes = append(observed.Volumes, manifest.VolumeTemplatesOf(object)...)
		}
	}
	for _, object := range live.Objects(ns, cluster) {
		// A group that is gone from the definition runs on until it was drained.
		if set, ok := goneSet(object, cluster, desired.Sets); ok {
			observed.Sets = append(observed.Sets, observedSet(object, cluster))
			sets = append(sets, set)
		}
	}
	groups := map[string]model.Set{}
	for _, set := range sets {
		groups[set.Group] = set
	}
	for _, pod := range live.Pods(ns, cluster) {
		if isNode(pod) {
			out := observedPod(pod, groups)
			sayAdopted(&out, observed.Sets)
			sayLastRun(&out, pod, hide)
			sayLastEnd(&out, pod, hide)
			observed.Pods = append(observed.Pods, out)
		}
	}
	for _, claim := range live.Claims(ns, cluster) {
		observed.Claims = append(observed.Claims, observedClaim(claim, sets))
	}
	for _, name := range secretNames(desired) {
		observed.Secrets = append(observed.Secrets, observedSecret(live, ns, name))
	}
	for _, name := range desired.Budgets {
		if object, ok := live.Get(compare.Key{Group: "policy", Kind: "PodDisruptionBudget", Namespace: ns, Name: name}); ok {
			observed.Budgets = append(observed.Budgets, observedBudget(object))
		}
	}
	return observed
}

// sayAdopted marks a pod that has no hash of its template because that was adopted with its
// StatefulSet.
func sayAdopted(pod *model.Pod, sets []model.ObservedSet) {
	if pod.Template == "" && slices.ContainsFunc(sets, func(set model.ObservedSet) bool { return set.Name == pod.Set && set.Adopted != "" }) {
		pod.Template = model.AdoptedTemplate
	}
}

// goneSet is a group's StatefulSet that is not desired: by its name, since others of the user's own may travel
// with the cluster, or by the annotation of one whose names are another's.
func goneSet(object *unstructured.Unstructured, cluster string, wanted []model.Set) (model.Set, bool) {
	group, adopted := manifest.GroupOf(object), object.GetAnnotations()[names.NamesAnnotation]
	dedicated := object.GetName() == names.StatefulSet(cluster, names.MasterGroup, true) && group == names.MasterGroup
	standard := dedicated || object.GetName() == names.StatefulSet(cluster, group, false)
	switch {
	case object.GetKind() != "StatefulSet", group == "", !standard && adopted == "",
		slices.ContainsFunc(wanted, func(set model.Set) bool { return set.Name == object.GetName() }):
		return model.Set{}, false
	}
	return model.Set{Name: object.GetName(), Group: group, Names: adopted, Dedicated: dedicated, Data: !dedicated}, true
}

func observedSet(object *unstructured.Unstructured, cluster string) model.ObservedSet {
	number := func(fields ...string) int64 {
		value, _, _ := unstructured.NestedInt64(object.Object, fields...)
		return value
	}
	update, _, _ := unstructured.NestedString(object.Object, "status", "updateRevision")
	version := ""
	// No copy is made on the way: it is only read.
	containers, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "template", "spec", "containers")
	list, _ := containers.([]any)
	for _, each := range list {
		if container, _ := each.(map[string]any); container["name"] == manifest.CrateContainer {
			image, _ := container["image"].(string)
			version = imageTag(image)
		}
	}
	return model.ObservedSet{
		Version: version, Resources: manifest.ResourcesOf(object),
		Name: object.GetName(), UID: string(object.GetUID()), ResourceVersion: object.GetResourceVersion(),
		Ours: object.GetLabels()[names.ClusterLabel] == cluster, Terminating: object.GetDeletionTimestamp() != nil,
		Replicas: int(number("spec", "replicas")), Current: int(number("status", "replicas")),
		Ready: int(number("status", "readyReplicas")), Generation: object.GetGeneration(),
		ObservedGeneration: number("status", "observedGeneration"), UpdateRevision: update,
		InitialMasters: manifest.HasInitialMasters(object),
		Group:          manifest.GroupOf(object),
		MasterEligible: manifest.MasterEligible(object), RecoverAfter: manifest.RecoverAfter(object),
		Template: manifest.TemplateOf(object), Hold: object.GetAnnotations()[names.HoldAnnotation],
		Names:     object.GetAnnotations()[names.NamesAnnotation],
		Suspended: object.GetAnnotations()[names.SuspendedAnnotation], Adopted: object.GetAnnotations()[names.AdoptedAnnotation],
		Annotated: object.GetAnnotations()[names.SettingsAnnotation], Settings: manifest.LiveArgumentsOf(object),
		Attributes: manifest.AttributesOf(object), Unused: manifest.UnusedDisksOf(object),
	}
}

// isNode tells the pods of a StatefulSet, also of one that was deleted and left
// them, from others that bear the cluster's labels: a job's pod that has ended
// would count as a node that is down, for ever.
func isNode(pod *corev1.Pod) bool {
	if owner := metav1.GetControllerOf(pod); owner != nil {
		return owner.Kind == "StatefulSet"
	}
	return pod.Labels[names.NodeNameLabel] != ""
}

func observedPod(pod *corev1.Pod, groups map[string]model.Set) model.Pod {
	group := pod.Labels[names.NodeNameLabel]
	set, ordinal := splitOrdinal(pod.Name)
	known, ok := groups[group]
	if !ok {
		known = model.Set{Group: group}
	}
	out := model.Pod{
		Name: pod.Name, Set: set, Ordinal: ordinal, UID: string(pod.UID),
		NodeName:    known.Node(ordinal),
		Terminating: pod.DeletionTimestamp != nil, Phase: string(pod.Status.Phase),
		Revision: pod.Labels["controller-revision-hash"], IP: pod.Status.PodIP,
		Created: pod.CreationTimestamp.Time, Template: pod.Annotations[names.TemplateAnnotation],
		KubernetesNode: pod.Spec.NodeName, Zone: pod.Labels["topology.kubernetes.io/zone"],
	}
	for _, condition := range pod.Status.Conditions {
		switch {
		case condition.Type == corev1.PodReady:
			if out.Ready = condition.Status == corev1.ConditionTrue; !out.Ready {
				out.NotReady = condition.Message
			}
		case condition.Type == corev1.PodReadyToStartContainers:
			out.NoSandbox = condition.Status == corev1.ConditionFalse
		case condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse && pod.Spec.NodeName == "":
			// The kubelet corrects the condition of a scheduled pod up to 40 s later.
			out.Waiting, out.Message = condition.Reason, condition.Message
		}
	}
	out.Lost, out.Volumes = lostOf(pod), volumesOf(pod)
	out.Unused = unusedOf(pod, out.Volumes)
	sayResources(&out, pod)
	if owner := metav1.GetControllerOf(pod); owner != nil {
		out.Controller = string(owner.UID)
	}
	for _, container := range pod.Spec.Containers {
		if container.Name == manifest.CrateContainer {
			out.Version = imageTag(container.Image)
			out.Settings = manifest.LiveArguments(slices.Concat(container.Command, container.Args))
			out.RecoverAfter = manifest.RecoverAfterOf(slices.Concat(container.Command, container.Args))
		}
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if waiting := status.State.Waiting; waiting != nil && tellsMore(status.Name, waiting.Reason, out.Waiting) {
			out.Waiting, out.Message = waiting.Reason, waiting.Message
			if status.Name != manifest.CrateContainer {
				out.Message = "container " + status.Name + ": " + out.Message
			}
		}
		if status.Name != manifest.CrateContainer {
			continue
		}
		out.Restarts = int(status.RestartCount)
		if running := status.State.Running; running != nil {
			out.Started, out.Runs = running.StartedAt.Time, true
		} else if ended := status.State.Terminated; ended != nil {
			out.Started = ended.StartedAt.Time
		} else if last := status.LastTerminationState.Terminated; last != nil {
			out.Started = last.StartedAt.Time
		}
	}
	return out
}

// tellsMore: why this container waits goes before what is known so far. CrateDB's own does,
// except while it waits only for an init container that cannot start.
func tellsMore(container, reason, known string) bool {
	switch {
	case known == "":
		return true
	case container == manifest.CrateContainer:
		return reason != podInitializing || known == podInitializing
	}
	return known == podInitializing && reason != podInitializing
}

const podInitializing = "PodInitializing"

// imageTag is what follows the last colon of an image's last path element; ""
// where there is none.
func imageTag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	slash := strings.LastIndexByte(image, '/')
	if colon := strings.LastIndexByte(image, ':'); colon > slash {
		return image[colon+1:]
	}
	return ""
}

func splitOrdinal(name string) (string, int) {
	dash := strings.LastIndexByte(name, '-')
	if dash < 0 {
		return name, -1
	}
	ordinal, err := strconv.Atoi(name[dash+1:])
	if err != nil {
		return name, -1
	}
	return name[:dash], ordinal
}

// claimOf finds the set that a claim "data0-<set>-<ordinal>" is of. The longest name counts: that of
// another's StatefulSet, crate, may be the end of crate-data-hot-crate.
func claimOf(name string, sets []model.Set) (string, int) {
	base, ordinal := splitOrdinal(name)
	found := ""
	for i := range sets {
		if set := sets[i].Name; len(set) > len(found) && strings.HasSuffix(base, "-"+set) {
			found = set
		}
	}
	return found, ordinal
}

// secretNames are all Secrets that the cluster's operations look at, sorted.
func secretNames(desired model.Desired) []string {
	all := []string{names.SystemSecret(desired.Name)}
	for _, user := range desired.Users {
		all = append(all, user.Secret.Name)
	}
	for _, reference := range desired.References {
		all = append(all, reference.Secret)
	}
	if desired.License != nil {
		all = append(all, desired.License.Name)
	}
	if desired.Backups != nil {
		for _, s := range desired.Backups.Repository.Secrets {
			all = append(all, s.Ref.Name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func observedSecret(live liveView, ns, name string) model.Secret {
	secret, ok := live.Secret(ns, name)
	if !ok {
		return model.Secret{Name: name}
	}
	out := model.Secret{
		Name: name, Exists: true,
		Version:  model.SecretVersion{UID: string(secret.UID), ResourceVersion: secret.ResourceVersion},
		Labelled: secret.Labels[names.UserPasswordLabel] == "true",
	}
	for key, value := range secret.Data {
		if len(value) > 0 {
			out.Keys = append(out.Keys, key)
		}
		if why := password.Unusable(value); why != "" {
			if out.Unusable == nil {
				out.Unusable = map[string]string{}
			}
			out.Unusable[key] = why
		}
	}
	slices.Sort(out.Keys)
	return out
}

// readingAgeMax is how old a reading of the database may be when a pass begins.
const readingAgeMax = time.Second
