package adopt

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/internal/crateoperator"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/adopt"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// Options say where a cluster is and how it is reached.
type Options struct {
	REST    *rest.Config
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	Cluster record.Cluster
	// Database reads CrateDB.
	Database Database
	// Password makes a random password.
	Password func() (string, error)
	// Superuser makes the user that the daemon works as, in a cluster that crate-operator has not made.
	Superuser Superuser
	// Written is the definition of a cluster whose StatefulSets somebody wrote; nil for one of
	// crate-operator's, and where an earlier run has kept what it says.
	Written *Written
	// Compared is what a definition changes, where a person has named one.
	Compared adopt.Comparison
	// Poll is how often a controller is looked at that is waited for; 0: every 200 ms.
	Poll time.Duration
}

// Mover carries out what is decided.
type Mover struct {
	Options

	metadata metadata.Interface
	// kinds are those that are listed: all of the namespace in the first look, and then those of
	// which an object was found.
	kinds   []kind
	cratedb schema.GroupVersionResource
	// userSecrets are the names of the Secrets of the object's users. They are nobody's, and kopf has
	// written their passwords into an annotation of theirs.
	userSecrets map[string]bool
	// objects are the live ones of the last look, by what they are called.
	objects map[string]*unstructured.Unstructured
	saved   *kept
}

// New makes a Mover; it fails where the configuration of the client is wrong.
func New(o Options) (*Mover, error) {
	if o.Poll == 0 {
		o.Poll = 200 * time.Millisecond
	}
	client, err := metadata.NewForConfig(o.REST)
	if err != nil {
		return nil, fmt.Errorf("making the client for the API server: %w", err)
	}
	return &Mover{Options: o, metadata: client, cratedb: schema.GroupVersionResource{Group: names.OperatorGroup, Version: "v1", Resource: "cratedbs"}}, nil
}

// Look reads everything that a decision rests on. An error is one of the API server's that
// leaves nothing to decide on; what only cannot be listed is said in the reading.
func (m *Mover) Look(ctx context.Context, wish adopt.Wish) (*adopt.Reading, error) {
	r := &adopt.Reading{Namespace: m.Cluster.Namespace, Cluster: m.Cluster.Name, Compared: m.Compared}
	m.objects = map[string]*unstructured.Unstructured{}
	var err error
	if m.saved, err = m.load(ctx); err != nil {
		return nil, err
	}
	if m.saved != nil {
		r.Saved = &m.saved.Saved
	}
	if m.Written != nil || m.saved != nil && m.saved.Written != nil {
		return r, m.lookWritten(ctx, r, wish)
	}
	uid, err := m.object(ctx, r)
	if err != nil {
		return nil, err
	}
	if uid == "" && r.Saved != nil {
		uid = r.Saved.UID
	}
	if err := m.dependents(ctx, r, uid); err != nil {
		return nil, err
	}
	if err := m.expectation(ctx, r); err != nil {
		return nil, err
	}
	m.operator(ctx, r)
	reset := r.Saved == nil || len(r.Saved.Settings) > 0 && !r.Saved.Adopted()
	if reset && len(r.Sets) > 0 && !r.Suspended() && m.Database != nil {
		r.Database = m.Database.Read(ctx, m.sqlPods(r))
	}
	return r, nil
}

// object reads the CrateDB object.
func (m *Mover) object(ctx context.Context, r *adopt.Reading) (uid string, err error) {
	live, err := m.Dynamic.Resource(m.cratedb).Namespace(r.Namespace).Get(ctx, r.Cluster, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil // the kind may be gone, too
	}
	if err != nil {
		return "", fmt.Errorf("reading the CrateDB object %s/%s: %w", r.Namespace, r.Cluster, err)
	}
	m.objects["CrateDB "+r.Cluster] = live
	m.userSecrets = map[string]bool{}
	users, _, _ := unstructured.NestedSlice(live.Object, "spec", "users")
	for _, user := range users {
		if fields, ok := user.(map[string]any); ok {
			name, _, _ := unstructured.NestedString(fields, "password", "secretKeyRef", "name")
			m.userSecrets[name] = true
		}
	}
	r.Object = objectOf(live)
	return r.Object.UID, nil
}

func objectOf(live *unstructured.Unstructured) *adopt.Object {
	o := &adopt.Object{UID: string(live.GetUID()), Version: live.GetResourceVersion(), Deleting: live.GetDeletionTimestamp() != nil, Finalizers: live.GetFinalizers()}
	o.Unfinished = crateoperator.Unfinished(live.GetAnnotations())
	pending, _, _ := unstructured.NestedSlice(live.Object, "status", "pendingPods")
	for _, p := range pending {
		o.Pending = append(o.Pending, podNamed(p))
	}
	o.AppliedBy = appliedBy(live)
	if snapshot, _, _ := unstructured.NestedString(live.Object, "spec", "cluster", "restoreSnapshot", "snapshot"); snapshot != "" && restoring(live) {
		o.Restores = snapshot
	}
	return o
}

func podNamed(pending any) string {
	if p, ok := pending.(map[string]any); ok {
		if name, ok := p["name"].(string); ok {
			return "pod " + name
		}
	}
	return fmt.Sprint("pod ", pending)
}

// restoration is crate-operator's handler of restoreSnapshot, as the status calls it.
const restoration = "cluster_restore/spec.cluster.restoreSnapshot"

// restoring reports whether the restore of an object's snapshot has not ended. Its last step is
// reset_snapshot, of the same ref as the restore; statuses of earlier restores stay for ever. It
// empties the snapshot in the spec, and one that comes back from Git while the operator is stopped
// is restored by nobody (handle_restore_backup.py and kopf.py of crate-operator 2.63.0).
func restoring(live *unstructured.Unstructured) bool {
	begun, _, _ := unstructured.NestedString(live.Object, "status", restoration, "ref")
	last, _, _ := unstructured.NestedMap(live.Object, "status", restoration+"/reset_snapshot")
	return last["success"] != true || last["ref"] != begun
}

// appliers are field managers of tools that apply an object again and again.
var appliers = []struct{ manager, who string }{
	{"argocd", "Argo CD"}, {"kustomize-controller", "Flux (kustomize-controller)"}, {"helm-controller", "Flux (helm-controller)"}, {"fleet", "Fleet"}, {"kapp", "kapp"},
}

// appliedBy is who still applies an object: by marks on it, or by the fields that he owns.
func appliedBy(live *unstructured.Unstructured) string {
	bare := live.DeepCopy()
	bare.SetOwnerReferences(nil)
	if owner := apply.OwnerOf(bare, ""); owner != "" && !strings.Contains(owner, names.ManagedByLabel) {
		return owner
	}
	for _, entry := range live.GetManagedFields() {
		for _, applier := range appliers {
			if strings.HasPrefix(strings.ToLower(entry.Manager), applier.manager) {
				return applier.who + " (field manager " + entry.Manager + ")"
			}
		}
	}
	return ""
}

// expectation reads the record of the daemon.
func (m *Mover) expectation(ctx context.Context, r *adopt.Reading) error {
	var rec model.Record
	entry, err := record.NewStore(record.OverClient(m.Client.CoreV1(), nil)).Load(ctx, m.Cluster, record.Operation, &rec)
	switch {
	case err != nil:
		return err
	case !entry.Exists():
		return nil
	}
	r.Released = rec.ReleaseDone()
	for _, reason := range rec.Shown.Reasons {
		switch {
		case reason.Name == gates.ObjectNotOursRule.Name:
			r.Expected = adopt.Waiting
		case reason.Kind == "refusal":
			r.Objections = append(r.Objections, reason.Name+": "+reason.Message)
		}
	}
	r.Objections = append(r.Objections, rec.Shown.Problems...)
	if r.Expected != adopt.Waiting && (rec.Owner != "" || rec.ClusterID != "") {
		r.Expected = adopt.Acting
	}
	return nil
}

// operator looks for crate-operator in all namespaces, by its Deployments and by its pods: a
// Deployment of 0 replicas may have a pod that still ends.
func (m *Mover) operator(ctx context.Context, r *adopt.Reading) {
	deployments, err := m.Client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
	if err != nil {
		r.Operator.Why = "Deployments of all namespaces: " + reason(err)
		return
	}
	for i := range deployments.Items {
		if d := &deployments.Items[i]; crateoperator.Deployment(d) {
			r.Operator.Running = append(r.Operator.Running, "Deployment "+d.Namespace+"/"+d.Name)
		}
	}
	pods, err := m.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"})
	if err != nil {
		r.Operator.Why = "pods of all namespaces: " + reason(err)
		return
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; crateoperator.Pod(p) {
			r.Operator.Running = append(r.Operator.Running, "pod "+p.Namespace+"/"+p.Name)
		}
	}
	r.Operator.Known = true
}

// sqlPods are those that are asked, with CrateDB's names of their nodes.
func (m *Mover) sqlPods(r *adopt.Reading) []NamedPod {
	var out []NamedPod
	for i := range r.Pods {
		p := &r.Pods[i]
		set := m.objects["StatefulSet "+p.Set]
		if set == nil {
			continue
		}
		_, ordinal, _ := strings.Cut(strings.TrimPrefix(p.Name, p.Set), "-")
		name, _, _ := strings.Cut(manifest.ArgumentOf(set, "node.name"), "$(")
		out = append(out, NamedPod{Pod: p.Name, Node: name + ordinal, TLS: manifest.ArgumentOf(set, "ssl.psql.enabled") == "true"})
	}
	return out
}

// reason is what the API server says, in a few words.
func reason(err error) string {
	if apierrors.IsForbidden(err) {
		return "forbidden"
	}
	return err.Error()
}
