package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"stevedore.dev/stevedore/deploy"
	"stevedore.dev/stevedore/ops/model"
)

// orders is a cluster of so many nodes with a CPU each, one a Kubernetes node.
func orders(replicas int32, change ...func(*appsv1.StatefulSet)) Cluster {
	class := "fast"
	set := appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "crate-data-hot-orders"}}
	set.Spec.Replicas = &replicas
	set.Spec.Template.Spec = corev1.PodSpec{
		Containers: []corev1.Container{{Name: "crate", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("2Gi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")},
		}}},
		Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname}},
		}},
		Tolerations: []corev1.Toleration{{Key: "cratedb", Operator: corev1.TolerationOpEqual, Value: "any", Effect: corev1.TaintEffectNoSchedule}},
	}
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data0"}, Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class, Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("64Gi")}},
	}}}
	for _, c := range change {
		c(&set)
	}
	return Cluster{Namespace: "prod", Name: "orders", Sets: []appsv1.StatefulSet{set}, Classes: []model.ClaimClass{{Set: set.Name, Class: "fast", Claims: []string{"data0"}}}}
}

func node(name string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}, Status: corev1.NodeStatus{
		Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("8Gi")},
		Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}}
	for _, c := range change {
		c(n)
	}
	return n
}

func taint(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule})
	}
}

func forbid(client *fake.Clientset, verb, what string) {
	client.PrependReactor(verb, what, func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: what}, "", nil)
	})
}

// found are the findings of one check.
func found(t *testing.T, one func(*checker), clusters []Cluster, client *fake.Clientset) []Finding {
	t.Helper()
	c := &checker{Options: Options{Client: client, Clusters: clusters, Namespaces: []string{"prod"}}}
	one(c)
	return c.found
}

func TestWhetherEnoughNodesTakeThePods(t *testing.T) {
	small := func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse("1Gi") }
	shared := func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Affinity = nil }
	for name, c := range map[string]struct {
		cluster Cluster
		nodes   []runtime.Object
		state   State
		says    string
	}{
		"as many as pods":            {orders(2), []runtime.Object{node("a"), node("b")}, OK, "all 2 pods"},
		"one pod more than nodes":    {orders(3), []runtime.Object{node("a"), node("b")}, Problem, "2 of its 3 pods find a Node, of 2 Nodes"},
		"several pods may share one": {orders(4, shared), []runtime.Object{node("a"), node("b")}, OK, "all 4 pods"},
		"more than their CPU":        {orders(5, shared), []runtime.Object{node("a"), node("b")}, Problem, "4 of its 5"},
		"a taint that is tolerated":  {orders(1), []runtime.Object{node("a", taint("cratedb", "any"))}, OK, "all 1 pods"},
		"a taint that is not":        {orders(1), []runtime.Object{node("a", taint("gpu", "yes"))}, Problem, "1 × taint gpu=yes:NoSchedule"},
		"too little memory":          {orders(1), []runtime.Object{node("a", small)}, Problem, "2Gi memory"},
		"cordoned":                   {orders(1), []runtime.Object{node("a", func(n *corev1.Node) { n.Spec.Unschedulable = true })}, Problem, "1 × cordoned"},
		"not ready":                  {orders(1), []runtime.Object{node("a", func(n *corev1.Node) { n.Status.Conditions = nil })}, Problem, "1 × not ready"},
		"only in three zones, and there is no zone": {orders(1, func(s *appsv1.StatefulSet) {
			s.Spec.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule}}
		}), []runtime.Object{node("a")}, Problem, "no label topology.kubernetes.io/zone"},
	} {
		t.Run(name, func(t *testing.T) {
			all := found(t, func(c *checker) { c.nodes(t.Context()) }, []Cluster{c.cluster}, fake.NewClientset(c.nodes...))
			require.Len(t, all, 1)
			assert.Equal(t, c.state, all[0].State, all[0].Message)
			assert.Contains(t, all[0].Message, c.says)
		})
	}
	client := fake.NewClientset()
	forbid(client, "list", "nodes")
	all := found(t, func(c *checker) { c.nodes(t.Context()) }, []Cluster{orders(1)}, client)
	require.Len(t, all, 1)
	assert.Equal(t, Unknown, all[0].State, "what may not be read is not known")
}

func TestWhatIsSaidOfStorageClasses(t *testing.T) {
	yes := true
	class := func(provisioner string, expands *bool) runtime.Object {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: provisioner, AllowVolumeExpansion: expands}
	}
	for name, c := range map[string]struct {
		objects []runtime.Object
		state   State
		says    string
	}{
		"there":                 {[]runtime.Object{class("disk.example.com", &yes)}, OK, "it is there, and expands"},
		"does not expand":       {[]runtime.Object{class("disk.example.com", nil)}, OK, "cannot be expanded later"},
		"missing":               {nil, Problem, "the storage class fast does not exist"},
		"makes no volumes":      {[]runtime.Object{class("kubernetes.io/no-provisioner", nil)}, Unknown, "they have to be there"},
		"a removed provisioner": {[]runtime.Object{class("kubernetes.io/glusterfs", nil)}, Problem, "Kubernetes has no more"},
	} {
		t.Run(name, func(t *testing.T) {
			all := found(t, func(c *checker) { c.storage(t.Context()) }, []Cluster{orders(1)}, fake.NewClientset(c.objects...))
			require.Len(t, all, 1)
			assert.Equal(t, c.state, all[0].State, all[0].Message)
			assert.Contains(t, all[0].Message, c.says)
		})
	}
	client := fake.NewClientset()
	forbid(client, "list", "storageclasses")
	all := found(t, func(c *checker) { c.storage(t.Context()) }, []Cluster{orders(1)}, client)
	require.Len(t, all, 1)
	assert.Equal(t, Unknown, all[0].State)
}

func TestWhatIsSaidOfVolumeAttributesClasses(t *testing.T) {
	fast := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "disk.example.com"}
	gold := func(driver string) runtime.Object {
		return &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, DriverName: driver}
	}
	denied := fake.NewClientset(fast)
	forbid(denied, "list", "volumeattributesclasses")
	for name, c := range map[string]struct {
		client *fake.Clientset
		state  State
		says   string
	}{
		"there":               {fake.NewClientset(fast, gold("disk.example.com")), OK, "of the driver of its volumes"},
		"missing":             {fake.NewClientset(fast), Problem, "prod/orders s (data0): the VolumeAttributesClass gold does not exist"},
		"of another driver":   {fake.NewClientset(fast, gold("other")), Problem, "of the driver other"},
		"it may not be asked": {denied, Unknown, "may not be read"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := Cluster{Namespace: "prod", Name: "orders", Classes: []model.ClaimClass{{Set: "s", Class: "fast", Claims: []string{"data0", "debug"}}},
				Volumes: []model.VolumeTemplate{{Set: "s", Name: "data0", Class: "fast", Attributes: "gold"}, {Set: "s", Name: "debug", Class: "fast"}}}
			all := found(t, func(c *checker) { c.storage(t.Context()) }, []Cluster{cluster}, c.client)
			require.Len(t, all, 2)
			all = slices.DeleteFunc(all, func(r Finding) bool { return r.Check != "volume-attributes-class" })
			require.Len(t, all, 1)
			assert.Equal(t, c.state, all[0].State, all[0].Message)
			assert.Contains(t, all[0].Message, c.says)
		})
	}
}

func TestWhetherThePasswordOfEachUserIsThere(t *testing.T) {
	secret := func(data map[string]string) runtime.Object {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "app-password"}, Data: map[string][]byte{}}
		for key, value := range data {
			s.Data[key] = []byte(value)
		}
		return s
	}
	for name, c := range map[string]struct {
		objects []runtime.Object
		brings  []string
		forbid  bool
		state   State
		says    string
	}{
		"there":                   {[]runtime.Object{secret(map[string]string{"password": "s3cret"})}, nil, false, OK, "each of 1 user(s)"},
		"comes with the push":     {nil, []string{"app-password"}, false, OK, "each of 1 user(s)"},
		"missing":                 {nil, nil, false, Problem, "Secret app-password, key password (the password of user app) does not exist"},
		"under another key":       {[]runtime.Object{secret(map[string]string{"pw": "s3cret"})}, nil, false, Problem, "has no value under the key password"},
		"empty":                   {[]runtime.Object{secret(map[string]string{"password": ""})}, nil, false, Problem, "has no value under the key password"},
		"who asks may not see it": {nil, nil, true, Unknown, "you may not read Secret app-password"},
		"made of a file that ends in a line break": {[]runtime.Object{secret(map[string]string{"password": "s3cret\n"})}, nil, false, Problem, "it ends in a line break"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := orders(1)
			cluster.Users, cluster.Brings = []model.User{{Name: "app", Secret: model.SecretKey{Name: "app-password", Key: "password"}}}, c.brings
			client := fake.NewClientset(c.objects...)
			if c.forbid {
				forbid(client, "get", "secrets")
			}
			all := found(t, func(c *checker) { c.secrets(t.Context()) }, []Cluster{cluster}, client)
			require.Len(t, all, 1)
			assert.Equal(t, c.state, all[0].State, all[0].Message)
			assert.Contains(t, all[0].Message, c.says)
			assert.NotContains(t, all[0].Message+all[0].Do, "s3cret")
		})
	}
}

func TestWhetherTheKeysOfTheRepositoryAreThere(t *testing.T) {
	keys := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "s3"}, Data: map[string][]byte{"id": []byte("AKIA"), "secret": []byte("t0p")}}
	for name, c := range map[string]struct {
		objects []runtime.Object
		brings  []string
		states  []State
		says    string
	}{
		"there":               {[]runtime.Object{keys}, nil, []State{OK}, "each of the 2 key(s) of spec.backups"},
		"comes with the push": {nil, []string{"s3"}, []State{OK}, "each of the 2 key(s) of spec.backups"},
		"missing":             {nil, nil, []State{Problem}, "Secret s3, key id, key secret (the repository of spec.backups) does not exist → kubectl -n prod create secret generic s3 --from-file=id=FILE1 --from-file=secret=FILE2"},
		"without the keys":    {[]runtime.Object{&corev1.Secret{ObjectMeta: keys.ObjectMeta}}, nil, []State{Problem, Problem}, "Secret s3 has no value under the key id (the repository of spec.backups) → kubectl -n prod patch secret s3"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := orders(1)
			cluster.Repository, cluster.Brings = []model.SecretKey{{Name: "s3", Key: "id"}, {Name: "s3", Key: "secret"}}, c.brings
			all := found(t, func(c *checker) { c.secrets(t.Context()) }, []Cluster{cluster}, fake.NewClientset(c.objects...))
			var states []State
			for _, f := range all {
				states = append(states, f.State)
				assert.Equal(t, "backup-secrets", f.Check)
				assert.NotContains(t, f.Message+f.Do, "t0p")
			}
			assert.Equal(t, c.states, states)
			assert.Contains(t, all[0].Message+" → "+all[0].Do, c.says)
		})
	}
}

// A pod that mounts a Secret which is not there never starts, and only its events say so.
func TestWhetherTheKeystoreIsThere(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "tls"}, Data: map[string][]byte{"keystore": []byte("JKS\n"), "password": []byte("t0p")}}
	for name, c := range map[string]struct {
		objects []runtime.Object
		states  []State
		says    string
	}{
		"there":   {[]runtime.Object{secret}, []State{OK}, "each of the 2 key(s) of spec.cluster.ssl"},
		"missing": {nil, []State{Problem}, "Secret tls, key keystore, key password (the keystore of spec.cluster.ssl) does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := orders(1)
			cluster.TLS = []model.SecretKey{{Name: "tls", Key: "keystore"}, {Name: "tls", Key: "password"}}
			all := found(t, func(c *checker) { c.secrets(t.Context()) }, []Cluster{cluster}, fake.NewClientset(c.objects...))
			var states []State
			for _, f := range all {
				states = append(states, f.State)
				assert.Equal(t, "tls-secrets", f.Check)
				assert.NotContains(t, f.Message+f.Do, "t0p")
			}
			assert.Equal(t, c.states, states)
			assert.Contains(t, all[0].Message, c.says)
		})
	}
}

// A pod that mounts a claim which is not there never starts, and nothing says so before the push.
func TestWhetherTheClaimThatPodsShareIsThere(t *testing.T) {
	claim := func(modes ...corev1.PersistentVolumeAccessMode) runtime.Object {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "backups"}, Spec: corev1.PersistentVolumeClaimSpec{AccessModes: modes}}
	}
	mounts := func(s *appsv1.StatefulSet) {
		s.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "b", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "backups"}}}}
	}
	for name, c := range map[string]struct {
		replicas int32
		objects  []runtime.Object
		brings   []string
		forbid   bool
		state    State
		says     string
	}{
		"there":                     {3, []runtime.Object{claim(corev1.ReadWriteMany)}, nil, false, OK, "PersistentVolumeClaim backups is there"},
		"comes with the push":       {3, nil, []string{"backups"}, false, OK, "comes with the push"},
		"missing":                   {3, nil, nil, false, Problem, "a.yaml:12: PersistentVolumeClaim backups does not exist"},
		"for one Node only":         {3, []runtime.Object{claim(corev1.ReadWriteOnce)}, nil, false, Problem, "a.yaml:12: PersistentVolumeClaim backups has ReadWriteOnce"},
		"for one Node, of one node": {1, []runtime.Object{claim(corev1.ReadWriteOnce)}, nil, false, OK, "is there"},
		"who asks may not see it":   {3, nil, nil, true, Unknown, "you may not read PersistentVolumeClaim backups in namespace prod, which a.yaml:12 names"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := orders(c.replicas, mounts)
			cluster.BringsClaims, cluster.Places = c.brings, map[string]string{"backups": "a.yaml:12"}
			client := fake.NewClientset(c.objects...)
			if c.forbid {
				forbid(client, "get", "persistentvolumeclaims")
			}
			all := found(t, func(c *checker) { c.claims(t.Context()) }, []Cluster{cluster}, client)
			require.Len(t, all, 1)
			assert.Equal(t, c.state, all[0].State, all[0].Message)
			assert.Contains(t, all[0].Message, c.says)
		})
	}
	assert.Empty(t, found(t, func(c *checker) { c.claims(t.Context()) }, []Cluster{orders(3)}, fake.NewClientset()))
}

func TestWhetherAQuotaLeavesRoom(t *testing.T) {
	quota := func(hard, used string) runtime.Object {
		return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "team"}, Status: corev1.ResourceQuotaStatus{
			Hard: corev1.ResourceList{corev1.ResourceRequestsMemory: resource.MustParse(hard)}, Used: corev1.ResourceList{corev1.ResourceRequestsMemory: resource.MustParse(used)},
		}}
	}
	problems := func(objects ...runtime.Object) (out []string) {
		for _, f := range found(t, func(c *checker) { c.quotas(t.Context()) }, []Cluster{orders(3)}, fake.NewClientset(objects...)) {
			if f.State == Problem {
				out = append(out, f.Message)
			}
		}
		return out
	}
	assert.Empty(t, problems())
	assert.Empty(t, problems(quota("8Gi", "2Gi")))
	assert.Equal(t, []string{"requests.memory: 6Gi more are needed, and 5Gi are free of 8Gi"}, problems(quota("8Gi", "3Gi")))
	there := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "crate-data-hot-orders"}}
	assert.Empty(t, problems(quota("8Gi", "6Gi"), there), "what is there has been counted already")
	limit := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "small"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{
		{Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}},
	}}}
	assert.Equal(t, []string{"container crate: 2Gi of memory is outside of what the LimitRange small allows"}, problems(limit))
}

func TestPodsOfOthersAreNeverTakenForOurs(t *testing.T) {
	by := ""
	pod := func(cluster, set string) runtime.Object {
		yes := true
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "prod", Name: set + "-0", Labels: map[string]string{"app.kubernetes.io/component": "cratedb", "app.kubernetes.io/name": cluster, "app.kubernetes.io/managed-by": by},
			OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: set, Controller: &yes}},
		}}
	}
	set := func(name string, labels map[string]string) runtime.Object {
		return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name, Labels: labels}}
	}
	ours := map[string]string{"stevedore.dev/cluster": "orders"}
	byHand, others := pod("orders", "crate-data-hot-orders"), pod("sales", "x")
	by = "crate-operator"
	for name, c := range map[string]struct {
		objects []runtime.Object
		state   State
		says    string
	}{
		"none":                          {nil, OK, "no CrateDB pods but"},
		"ours":                          {[]runtime.Object{set("crate-data-hot-orders", ours), pod("orders", "crate-data-hot-orders")}, OK, "no CrateDB pods but"},
		"another cluster's":             {[]runtime.Object{set("x", nil), others}, OK, "left alone: sales"},
		"crate-operator's":              {[]runtime.Object{set("x", nil), pod("sales", "x")}, OK, "left alone: sales; `stevedore adopt` takes those of crate-operator over: sales"},
		"a cluster of the same name":    {[]runtime.Object{set("crate-data-hot-orders", nil), byHand}, Problem, "spec.operations.adopt"},
		"crate-operator's of that name": {[]runtime.Object{set("crate-data-hot-orders", nil), pod("orders", "crate-data-hot-orders")}, Problem, "`stevedore adopt prod/orders`"},
		"one that was adopted":          {[]runtime.Object{set("crate-data-hot-orders", ours), pod("orders", "crate-data-hot-orders")}, OK, "no CrateDB pods but"},
	} {
		t.Run(name, func(t *testing.T) {
			all := found(t, func(c *checker) { c.others(t.Context()) }, []Cluster{orders(1)}, fake.NewClientset(c.objects...))
			require.NotEmpty(t, all)
			assert.Equal(t, c.state, all[0].State)
			assert.Contains(t, all[0].Message, c.says)
			assert.NotContains(t, all[0].Message+all[0].Do, "label it")
		})
	}
}

func TestRightsAreThoseOfTheManifests(t *testing.T) {
	client := fake.NewClientset()
	asked := map[string]bool{}
	client.PrependReactor("create", "selfsubjectaccessreviews", func(a k8stesting.Action) (bool, runtime.Object, error) {
		review := a.(k8stesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		q := *review.Spec.ResourceAttributes
		asked[q.Namespace+" "+words(q)] = true
		review.Status.Allowed = q.Resource != "secrets" || q.Namespace != "prod"
		return true, review, nil
	})
	all := found(t, func(c *checker) { c.rights(t.Context()) }, []Cluster{orders(1)}, client)
	require.Len(t, all, 2)
	assert.Equal(t, OK, all[0].State, all[0].Message)
	assert.Equal(t, Problem, all[1].State)
	assert.Contains(t, all[1].Message, "get secrets, list secrets, watch secrets, create secrets, patch secrets")
	assert.Contains(t, all[1].Subject, "kubectl apply -n prod -k deploy/namespace")
	rules, err := deploy.Rules(deploy.Namespace)
	require.NoError(t, err)
	require.NotEmpty(t, rules)
	for _, rule := range rules {
		assert.True(t, asked["prod "+rule.Verbs[0]+" "+rule.Resources[0]], "%v", rule)
	}
	assert.True(t, asked["stevedore-system create deployments"])
	assert.True(t, asked["prod create rolebindings"])
}

func TestNamesThatAreTooLong(t *testing.T) {
	long := strings.Repeat("x", 60)
	for name, c := range map[string]struct {
		cluster Cluster
		state   State
		says    string
	}{
		"short":         {orders(1), OK, "fit"},
		"a Service":     {Cluster{Namespace: "prod", Name: long}, Problem, "the Service crate-" + long},
		"a StatefulSet": {orders(1, func(s *appsv1.StatefulSet) { s.Name = "crate-data-" + long }), Problem, "no pod of it can be made"},
	} {
		t.Run(name, func(t *testing.T) {
			all := Offline([]Cluster{c.cluster})
			require.NotEmpty(t, all)
			assert.Equal(t, c.state, all[0].State)
			assert.Contains(t, all[0].Message, c.says)
		})
	}
}

func TestTheVersionsThatAreKnown(t *testing.T) {
	for minor, state := range map[string]State{"36": OK, "36+": OK, "35": Unknown, "37": Unknown, "24": Problem, "x": Unknown} {
		client := fake.NewClientset()
		client.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{Major: "1", Minor: minor, GitVersion: "v1." + minor}
		all := found(t, func(c *checker) { c.version(t.Context()) }, nil, client)
		require.Len(t, all, 1)
		assert.Equal(t, state, all[0].State, minor)
	}
}

func TestTheDomainByWhichNodesFindEachOther(t *testing.T) {
	dns := func(corefile string) runtime.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "coredns"}, Data: map[string]string{"Corefile": corefile}}
	}
	for name, c := range map[string]struct {
		objects []runtime.Object
		state   State
	}{
		"the usual one": {[]runtime.Object{dns(".:53 {\n    kubernetes cluster.local in-addr.arpa {\n    }\n}")}, OK},
		"another":       {[]runtime.Object{dns(".:53 {\n    kubernetes example.internal in-addr.arpa {\n    }\n}")}, Problem},
		"not readable":  {nil, Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			all := found(t, func(c *checker) { c.domain(t.Context()) }, nil, fake.NewClientset(c.objects...))
			require.Len(t, all, 1)
			assert.Equal(t, c.state, all[0].State)
		})
	}
}

// After the namespace was created a second problem appeared: what was not looked at was not named.
func TestOfANamespaceThatIsNotThereEachCheckIsNamed(t *testing.T) {
	cluster := orders(1)
	cluster.Users = []model.User{{Name: "app", Secret: model.SecretKey{Name: "app-password", Key: "password"}}}
	all := found(t, func(c *checker) {
		c.Namespaces = []string{"prod"}
		c.namespaces(t.Context())
		c.secrets(t.Context())
	}, []Cluster{cluster}, fake.NewClientset())
	require.Len(t, all, 3)
	assert.Equal(t, Finding{Problem, "namespace", "prod", "it does not exist, and stevedore makes none", "kubectl create namespace prod"}, all[0])
	assert.Equal(t, Unknown, all[1].State)
	assert.Contains(t, all[1].Message, "quota, limit-range, pod-security")
	assert.Equal(t, Problem, all[2].State)
	assert.Contains(t, all[2].Message, "Secret app-password, key password (the password of user app) does not exist")
}
