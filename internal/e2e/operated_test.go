package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/internal/testbed"
)

var cratedbs = schema.GroupVersionResource{Group: "cloud.crate.io", Version: "v1", Resource: "cratedbs"}

var makingKind sync.Mutex

// crateDBKind makes crate-operator's kind known to the API server, where it is not. It has no status
// of its own, as crate-operator's: who writes the status writes the object.
func crateDBKind() error {
	makingKind.Lock()
	defer makingKind.Unlock()
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: cratedbs.cloud.crate.io}
spec:
  group: cloud.crate.io
  names: {kind: CrateDB, listKind: CrateDBList, plural: cratedbs, singular: cratedb}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`), &crd.Object); err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(bed.Config)
	if err != nil {
		return err
	}
	if _, err = client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).Create(context.Background(), crd, metav1.CreateOptions{}); err != nil {
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
	// The garbage collector looks for new kinds twice a minute. It deletes this object once it
	// knows the kind.
	pilot := client.Resource(cratedbs).Namespace("default")
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cloud.crate.io/v1", "kind": "CrateDB", "metadata": map[string]any{"name": "pilot"}}}
	deadline := time.Now().Add(time.Minute)
	for {
		if _, err = pilot.Create(context.Background(), object, metav1.CreateOptions{}); err == nil {
			break
		}
		if time.Now().After(deadline) {
			return err
		}
	}
	foreground := metav1.DeletePropagationForeground
	return pilot.Delete(context.Background(), "pilot", metav1.DeleteOptions{PropagationPolicy: &foreground})
}

// operated is a running cluster that crate-operator has made, and that has ended.
type operated struct {
	*restartVoyage
	client dynamic.Interface
	owner  *unstructured.Unstructured
	pods   map[string]string
}

// operate makes what crate-operator makes of the CrateDB object `orders`, and users as it does.
func operate(t *testing.T, ns string, change ...func([]*unstructured.Unstructured) []*unstructured.Unstructured) *operated {
	t.Helper()
	return operateOver(t, ns, nil, change...)
}

// operateOver is operate with clients that talk TLS; nil for plain text.
func operateOver(t *testing.T, ns string, over *tls.Config, change ...func([]*unstructured.Unstructured) []*unstructured.Unstructured) *operated {
	t.Helper()
	v := &restartVoyage{voyage: &voyage{situation: begin(t, ns), faults: os.Getenv("STEVEDORE_FAULTS_BINARY")}, acked: map[string]int{}}
	v.tls = over
	if v.faults == "" {
		v.faults = "../../bin/stevedore-faults"
	}
	v.appSecret("app-password")
	v.patch("secrets", "app-password", `{"metadata":{"annotations":{"operator.cloud.crate.io/last":"{\"data\":{\"password\":\"cGFzc3dvcmQ=\"}}"}}}`)
	v.receiver = testbed.NewReceiver(nil)
	t.Cleanup(v.receiver.Close)
	require.NoError(t, crateDBKind())
	client, err := dynamic.NewForConfig(bed.Config)
	require.NoError(t, err)
	o := &operated{restartVoyage: v, client: client}
	v.eventually("the kind CrateDB is served", restartPatience, func() bool {
		o.owner, err = client.Resource(cratedbs).Namespace(ns).Create(v.ctx, o.objects("object.yaml")[0], metav1.CreateOptions{FieldManager: "OpenAPI-Generator"})
		return err == nil
	})
	made := o.objects("orders.yaml")
	for _, one := range change {
		made = one(made)
	}
	for _, object := range made {
		_, err := client.Resource(o.resourceOf(object)).Namespace(ns).Create(v.ctx, object, metav1.CreateOptions{FieldManager: "OpenAPI-Generator"})
		require.NoError(t, err, "%s %s", object.GetKind(), object.GetName())
	}
	nodes := 0
	for _, object := range made {
		replicas, _, _ := unstructured.NestedFloat64(object.Object, "spec", "replicas")
		nodes += int(replicas)
	}
	v.eventually("its pods are ready", restartPatience, func() bool { return v.ready(cutCluster) == nodes })
	for _, statement := range []string{
		"CREATE USER system WITH (password = 'system-password')", "GRANT ALL PRIVILEGES TO system",
		"CREATE USER app WITH (password = '" + strings.ReplaceAll(appPassword, "'", "''") + "')", "GRANT ALL PRIVILEGES TO app",
	} {
		crash := []string{"crash", "-c", statement}
		if over != nil {
			crash = append(crash, "--hosts", "https://localhost:4200", "--verify-ssl", "false")
		}
		out, err := bed.Exec(v.ctx, ns, "crate-data-hot-orders-0", crash...)
		require.NoError(t, err, out)
	}
	for i, name := range replicaTables {
		v.rows(cutCluster, fmt.Sprintf("CREATE TABLE doc.%s (id TEXT PRIMARY KEY) CLUSTERED INTO 2 SHARDS WITH (number_of_replicas = %d)", name, i))
	}
	v.eventually("the cluster is green", restartPatience, func() bool {
		rows, err := v.query(cutCluster, "system", "system-password", "SELECT count(*) FROM sys.health WHERE health <> 'GREEN'")
		return err == nil && rows[0][0] == "0"
	})
	o.pods = podsOf(v.voyage)
	return o
}

// recorded are the objects of a file, in this namespace and of this owner.
func (o *operated) objects(name string) (out []*unstructured.Unstructured) {
	o.Helper()
	text, err := os.ReadFile("testdata/crate-operator/" + name)
	require.NoError(o, err)
	all := strings.ReplaceAll(string(text), "NAMESPACE", o.ns)
	if o.owner != nil {
		all = strings.ReplaceAll(all, "OWNER", string(o.owner.GetUID()))
	}
	for _, one := range strings.Split(all, "\n---\n") {
		object := &unstructured.Unstructured{}
		require.NoError(o, yaml.Unmarshal([]byte(one), &object.Object), name)
		out = append(out, object)
	}
	return out
}

func (o *operated) resourceOf(object *unstructured.Unstructured) schema.GroupVersionResource {
	o.Helper()
	kind := object.GroupVersionKind()
	groups, err := restmapper.GetAPIGroupResources(bed.Admin.Discovery())
	require.NoError(o, err)
	mapping, err := restmapper.NewDiscoveryRESTMapper(groups).RESTMapping(kind.GroupKind(), kind.Version)
	require.NoError(o, err)
	return mapping.Resource
}

// expected writes the definition of what runs, and waits until the daemon refuses its objects.
func (o *operated) expected(edits ...edit) *testbed.Daemon {
	o.Helper()
	o.write(map[string]string{"orders.yaml": o.definition(edits...)})
	daemon := o.sail("", "")
	o.refusedFor(cutCluster, "object-not-ours")
	return daemon
}

func (o *operated) definition(edits ...edit) string {
	return definition(o.ns, cutCluster, append([]edit{
		with(replicasOfHot, 3),
		with("spec.operations", map[string]any{"adoption": "always", "stableFor": "1s", "masterStableFor": "1s", "debugVolume": map[string]any{"size": "128Gi", "storageClass": "default"}}),
	}, edits...)...)
}

func (o *operated) adopt(args ...string) string {
	o.Helper()
	out, errs, code := o.verb(append([]string{"adopt", o.ns + "/" + cutCluster}, args...)...)
	require.Zero(o, code, "%s%s", out, errs)
	return out
}

// untouched: no pod is another one, or restarted, or of another revision.
func (o *operated) untouched(when string) {
	o.Helper()
	o.same(when)
	o.noPodRestarted()
}

// same: the pods that were adopted are what they were.
func (o *operated) same(when string) {
	o.Helper()
	now := podsOf(o.voyage)
	for name, was := range o.pods {
		assert.Equal(o, was, now[name], "%s %s", name, when)
	}
}

// canary is an object whose owner is the CrateDB object: the garbage collector takes it once that
// is gone, and by then would have taken whatever else has that owner.
func (o *operated) canary() (gone func() bool) {
	o.Helper()
	canary := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "canary", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "cloud.crate.io/v1", Kind: "CrateDB", Name: cutCluster, UID: o.owner.GetUID(),
	}}}}
	_, err := bed.Admin.CoreV1().ConfigMaps(o.ns).Create(o.ctx, canary, metav1.CreateOptions{})
	require.NoError(o, err)
	return func() bool {
		_, err := bed.Admin.CoreV1().ConfigMaps(o.ns).Get(o.ctx, "canary", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}
}

// deleted deletes the CrateDB object as kubectl does, and everything that still depends on it.
func (o *operated) deleted() {
	o.Helper()
	o.collectorKnows()
	background := metav1.DeletePropagationBackground
	require.NoError(o, o.client.Resource(cratedbs).Namespace(o.ns).Delete(o.ctx, cutCluster, metav1.DeleteOptions{PropagationPolicy: &background}))
	o.unfinalized()
}

// unfinalized takes the finalizers off the CrateDB object.
func (o *operated) unfinalized() {
	o.Helper()
	_, err := o.client.Resource(cratedbs).Namespace(o.ns).Patch(o.ctx, cutCluster, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(o, err)
}

// collectorKnows waits until the garbage collector knows the kind CrateDB.
func (o *operated) collectorKnows() {
	o.Helper()
	o.eventually("the garbage collector knows the kind", restartPatience, func() bool {
		_, err := o.client.Resource(cratedbs).Namespace("default").Get(o.ctx, "pilot", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// dedicatedMasters has three nodes elect the master that have no data.
func dedicatedMasters(objects []*unstructured.Unstructured) (out []*unstructured.Unstructured) {
	for _, object := range objects {
		kind := object.GetKind()
		if kind != "StatefulSet" && kind != "PodDisruptionBudget" {
			out = append(out, object)
			continue
		}
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			panic(err)
		}
		data := strings.NewReplacer("-Cnode.master=true", "-Cnode.master=false", "=data-hot-0,data-hot-1,data-hot-2", "=master-0,master-1,master-2").Replace(string(text))
		masters := strings.NewReplacer(
			"crate-data-hot-orders", "crate-master-orders", "=data-hot-0,data-hot-1,data-hot-2", "=master-0,master-1,master-2", "-Cnode.name=data-hot-", "-Cnode.name=master-",
			"node-name: hot", "node-name: master", `node-data: "true"`, `node-data: "false"`, "-Cnode.data=true", "-Cnode.data=false", "-Cnode.attr.node_name=hot", "-Cnode.attr.node_name=master",
		).Replace(string(text))
		for _, one := range []string{masters, data} {
			made := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(one), &made.Object); err != nil {
				panic(err)
			}
			out = append(out, made)
		}
	}
	return out
}

// theirs is who owns what, which labels it has, and which budgets there are.
func (o *operated) theirs() map[string]string {
	o.Helper()
	out := map[string]string{}
	for _, resource := range []schema.GroupVersionResource{
		{Version: "v1", Resource: "services"}, {Version: "v1", Resource: "secrets"}, {Version: "v1", Resource: "persistentvolumeclaims"}, {Version: "v1", Resource: "pods"},
		{Group: "apps", Version: "v1", Resource: "statefulsets"}, {Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
	} {
		list, err := o.client.Resource(resource).Namespace(o.ns).List(o.ctx, metav1.ListOptions{})
		require.NoError(o, err)
		for _, object := range list.Items {
			if object.GetName() == "app-password" {
				continue // the daemon labels it as crate-operator does
			}
			var owners []string
			for _, owner := range object.GetOwnerReferences() {
				if owner.Kind == "CrateDB" {
					owners = append(owners, string(owner.UID))
				}
			}
			text := fmt.Sprint(object.GetLabels(), owners)
			if resource.Resource == "statefulsets" || resource.Resource == "poddisruptionbudgets" {
				text += fmt.Sprint(object.Object["spec"])
			}
			out[resource.Resource+" "+object.GetName()] = text
		}
	}
	return out
}

// mover is the kubeconfig of somebody who may do only this to Services, and everything else.
func (o *operated) mover(verbs ...string) string {
	o.Helper()
	meta := metav1.ObjectMeta{Name: "mover"}
	_, err := bed.Admin.CoreV1().ServiceAccounts(o.ns).Create(o.ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	require.NoError(o, err)
	all := []string{"get", "list", "create", "delete", "update", "patch"}
	_, err = bed.Admin.RbacV1().Roles(o.ns).Create(o.ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: verbs},
		{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets", "persistentvolumeclaims", "pods", "pods/portforward"}, Verbs: all},
		{APIGroups: []string{"apps", "batch", "policy", "rbac.authorization.k8s.io", "cloud.crate.io"}, Resources: []string{"*"}, Verbs: all},
	}}, metav1.CreateOptions{})
	require.NoError(o, err)
	_, err = bed.Admin.RbacV1().RoleBindings(o.ns).Create(o.ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "mover", Namespace: o.ns}},
		RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "mover"},
	}, metav1.CreateOptions{})
	require.NoError(o, err)
	path := filepath.Join(o.TempDir(), "kubeconfig")
	require.NoError(o, bed.Kubernetes.WriteServiceAccountKubeconfig(o.ctx, o.ns, "mover", path))
	return path
}
