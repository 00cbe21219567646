package adopt_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"stevedore.dev/stevedore/ops/adopt"
)

// whole is a cluster of crate-operator's of which nothing forbids the adoption.
func whole() *adopt.Reading {
	r := &adopt.Reading{
		Namespace: "shop", Cluster: "orders",
		Object:   &adopt.Object{UID: "cratedb", Version: "7", Finalizers: []string{"operator.cloud.crate.io/finalizer"}},
		Operator: adopt.Operator{Known: true},
		Sets: []adopt.Set{{
			Name: "crate-data-hot-orders", UID: "set", Version: "5", Group: "hot", Replicas: 2, Ready: 2, Current: 2, Observed: true, Strategy: "OnDelete",
		}},
		Expected: adopt.Waiting,
		Database: adopt.Database{Known: true, ClusterID: "id", Health: "green", Nodes: []string{"data-hot-0", "data-hot-1"}},
	}
	for _, name := range []string{"crate-data-hot-orders-0", "crate-data-hot-orders-1"} {
		r.Pods = append(r.Pods, adopt.Pod{Name: name, UID: name, Set: "crate-data-hot-orders", Controller: "set", Theirs: true, Ready: true})
		r.Dependents = append(r.Dependents, adopt.Dependent{Resource: claims, Kind: "PersistentVolumeClaim", Name: "data0-" + name, UID: "claim-" + name, Owned: true})
	}
	return r
}

var claims = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}

// half is one that a killed run has left: its only StatefulSet is away.
func half() *adopt.Reading {
	r := whole()
	r.Saved = &adopt.Saved{UID: "cratedb", ClusterID: "id", Sets: map[string]json.RawMessage{"crate-data-hot-orders": nil}}
	r.Sets = nil
	for i := range r.Pods {
		r.Pods[i].Controller = ""
	}
	return r
}

// taken is one that was adopted and released.
func taken() *adopt.Reading {
	r := whole()
	r.Saved = &adopt.Saved{UID: "cratedb", ClusterID: "id", Sets: map[string]json.RawMessage{"crate-data-hot-orders": nil}, Done: true}
	r.Sets[0].Ours, r.Expected, r.Released = true, adopt.Acting, true
	r.Dependents = nil
	return r
}

func namesOf(refusals []adopt.Refusal) (out []string) {
	for _, one := range refusals {
		out = append(out, one.Name)
	}
	return slices.Compact(out)
}

// refusalCase is a situation in which a refusal speaks, and what makes it silent.
type refusalCase struct {
	name  string
	from  func() *adopt.Reading
	wish  adopt.Wish
	when  func(r *adopt.Reading)
	want  string
	says  string
	cured func(r *adopt.Reading, wish *adopt.Wish)
}

func TestEachRefusalSpeaksInItsSituationAndIsSilentInTheOpposite(t *testing.T) {
	for _, c := range slices.Concat(anyRefusals, beginRefusals, wholeRefusals, backRefusals) {
		t.Run(c.want+"/"+c.name, func(t *testing.T) {
			r, wish := c.from(), c.wish
			assert.Empty(t, adopt.Refusals(r, wish), "nothing forbids it before")
			c.when(r)
			refusals := adopt.Refusals(r, wish)
			assert.Equal(t, []string{c.want}, namesOf(refusals), "it, and no other")
			if assert.NotEmpty(t, refusals) {
				assert.Contains(t, refusals[0].Message, c.says)
			}
			c.cured(r, &wish)
			assert.Empty(t, adopt.Refusals(r, wish), "the opposite is not refused")
		})
	}
}

type reading = adopt.Reading

var back = adopt.Wish{Back: true}

// anyRefusals hold for a run that goes on, too.
var anyRefusals = []refusalCase{
	{"secrets are not listed", half, adopt.Wish{}, func(r *reading) {
		r.Unread = []adopt.Unread{{Resource: "secrets", Why: "forbidden", Needed: true}}
	}, "not-readable", "secrets cannot be listed (forbidden)", func(r *reading, _ *adopt.Wish) { r.Unread[0].Needed = false }},
	{"before the first write", whole, adopt.Wish{}, func(r *reading) { r.Missing = []string{"delete statefulsets.apps"} }, "rights-missing", "delete statefulsets.apps",
		func(r *reading, _ *adopt.Wish) { r.Missing = nil }},
	{"on the way back", taken, back, func(r *reading) { r.Missing = []string{"patch services"} }, "rights-missing", "patch services",
		func(r *reading, _ *adopt.Wish) { r.Missing = nil }},
	{"a Deployment", whole, adopt.Wish{}, func(r *reading) { r.Operator.Running = []string{"Deployment crate-operator/crate-operator"} }, "operator-running", "Deployment crate-operator/crate-operator",
		func(r *reading, _ *adopt.Wish) { r.Operator.Running = nil }},
	{"the word of a person does not help against what is seen", whole, adopt.Wish{Stopped: true}, func(r *reading) { r.Operator.Running = []string{"pod crate-operator/x"} }, "operator-running", "pod crate-operator/x",
		func(r *reading, _ *adopt.Wish) { r.Operator.Running = nil }},
	{"in the middle", half, adopt.Wish{}, func(r *reading) { r.Operator.Running = []string{"pod crate-operator/x"} }, "operator-running", "", func(r *reading, _ *adopt.Wish) { r.Operator.Running = nil }},
	{"on the way back", taken, back, func(r *reading) { r.Operator.Running = []string{"pod crate-operator/x"} }, "operator-running", "", func(r *reading, _ *adopt.Wish) { r.Operator.Running = nil }},
	{"until it is seen", whole, adopt.Wish{}, func(r *reading) { r.Operator = adopt.Operator{Why: "forbidden"} }, "operator-unknown", "forbidden", func(r *reading, _ *adopt.Wish) { r.Operator.Known = true }},
	{"or a person says it", whole, adopt.Wish{}, func(r *reading) { r.Operator = adopt.Operator{Why: "forbidden"} }, "operator-unknown", "--operator-stopped", func(_ *reading, wish *adopt.Wish) { wish.Stopped = true }},
	{"Argo CD", whole, adopt.Wish{}, func(r *reading) { r.Object.AppliedBy = "Argo CD" }, "applied-by-another", "Argo CD still applies", func(r *reading, _ *adopt.Wish) { r.Object.AppliedBy = "" }},
	{"in the middle, and giving it back is not refused", half, adopt.Wish{}, func(r *reading) { r.Object.AppliedBy = "Argo CD" }, "applied-by-another", "", func(_ *reading, wish *adopt.Wish) { wish.Back = true }},
	{"while it was adopted", half, adopt.Wish{}, func(r *reading) { r.Object.UID = "another" }, "another-object", "recreated since the adoption began", func(r *reading, _ *adopt.Wish) { r.Object.UID = "cratedb" }},
	{"and one that is gone is none", half, adopt.Wish{}, func(r *reading) { r.Object.UID = "another" }, "another-object", "", func(r *reading, _ *adopt.Wish) { r.Object = nil }},
}

// beginRefusals hold before the first write alone.
var beginRefusals = []refusalCase{
	{"a class that no claim can get", whole, adopt.Wish{}, func(r *reading) {
		r.Compared = adopt.Comparison{Definition: "clusters/orders", Never: []string{"storageClassName"}}
	}, "differs-for-ever", "clusters/orders asks for what can never be changed in what runs", func(r *reading, _ *adopt.Wish) { r.Compared.Never = nil }},
	{"what runs is not read", whole, adopt.Wish{}, func(r *reading) { r.Compared = adopt.Comparison{Definition: "clusters/orders", Unknown: "forbidden"} },
		"not-compared", "clusters/orders changes in what runs is not known: forbidden", func(r *reading, _ *adopt.Wish) { r.Compared.Unknown = "" }},
	{"no StatefulSet", whole, adopt.Wish{}, func(r *reading) { r.Sets, r.Object = nil, nil }, "no-such-cluster", "namespace shop", func(r *reading, _ *adopt.Wish) { *r = *whole() }},
	{"and one that a killed run has orphaned is none", whole, adopt.Wish{}, func(r *reading) { r.Sets = nil }, "no-such-cluster", "check the name", func(r *reading, _ *adopt.Wish) { *r = *half() }},
	{"of another maker", whole, adopt.Wish{}, func(r *reading) { r.Object = nil }, "no-crate-object", "no CrateDB object orders", func(r *reading, _ *adopt.Wish) { r.Object = whole().Object }},
	{"the object", whole, adopt.Wish{}, func(r *reading) { r.Object.Deleting = true }, "being-deleted", "leave the finalizer on it", func(r *reading, _ *adopt.Wish) { r.Object.Deleting = false }},
	{"a StatefulSet", whole, adopt.Wish{}, func(r *reading) { r.Sets[0].Deleting = true }, "being-deleted", "StatefulSet crate-data-hot-orders", func(r *reading, _ *adopt.Wish) { r.Sets[0].Deleting = false }},
	{"a claim", whole, adopt.Wish{}, func(r *reading) { r.Dependents[0].Deleting = true }, "being-deleted", "PersistentVolumeClaim data0-", func(r *reading, _ *adopt.Wish) { r.Dependents[0].Deleting = false }},
	{"but what it does not own may go", whole, adopt.Wish{}, func(r *reading) { r.Dependents[0].Deleting = true }, "being-deleted", "", func(r *reading, _ *adopt.Wish) { r.Dependents[0].Owned = false }},
	{"a handler", whole, adopt.Wish{}, func(r *reading) { r.Object.Unfinished = []string{"cluster_update"} }, "operator-busy", "cluster_update", func(r *reading, _ *adopt.Wish) { r.Object.Unfinished = nil }},
	{"a restart", whole, adopt.Wish{}, func(r *reading) { r.Object.Pending = []string{"pod crate-data-hot-orders-1"} }, "operator-busy", "pod crate-data-hot-orders-1", func(r *reading, _ *adopt.Wish) { r.Object.Pending = nil }},
	{"a restore", whole, adopt.Wish{}, func(r *reading) { r.Object.Restores = "nightly" }, "operator-busy", "the snapshot nightly", func(r *reading, _ *adopt.Wish) { r.Object.Restores = "" }},
	{"a hook", whole, adopt.Wish{}, func(r *reading) { r.Sets[0].Routing = "pod-1" }, "operator-busy", "dc-util-routing-owner", func(r *reading, _ *adopt.Wish) { r.Sets[0].Routing = "" }},
	{"until a daemon waits", whole, adopt.Wish{}, func(r *reading) { r.Expected = adopt.Nobody }, "no-definition", "stevedore import", func(r *reading, _ *adopt.Wish) { r.Expected = adopt.Waiting }},
	{"or a person wants none", whole, adopt.Wish{}, func(r *reading) { r.Expected = adopt.Nobody }, "no-definition", "--unattended", func(_ *reading, wish *adopt.Wish) { wish.Unattended = true }},
	{"for another reason", whole, adopt.Wish{}, func(r *reading) { r.Objections = []string{"downgrade: 6.4 to 6.3"} }, "definition-refused", "downgrade: 6.4 to 6.3", func(r *reading, _ *adopt.Wish) { r.Objections = nil }},
	{"by a daemon, for long", whole, adopt.Wish{Finish: true}, func(r *reading) { r.Expected, r.Object = adopt.Acting, nil }, "looked-after", "nothing is left to do", func(r *reading, _ *adopt.Wish) { *r = *whole() }},
	{"by a daemon", whole, adopt.Wish{}, func(r *reading) { r.Expected = adopt.Acting }, "looked-after", "", func(r *reading, _ *adopt.Wish) { r.Expected = adopt.Waiting }},
	{"set by somebody", whole, adopt.Wish{}, func(r *reading) { r.Sets[0].Strategy = "RollingUpdate" }, "rolling-update", "RollingUpdate", func(r *reading, _ *adopt.Wish) { r.Sets[0].Strategy = "OnDelete" }},
}

// wholeRefusals are those of a cluster that is not whole: of one that is taken over by half they are none.
var wholeRefusals = []refusalCase{
	{"a pod that is not ready", whole, adopt.Wish{}, func(r *reading) { r.Sets[0].Ready = 1 }, "not-whole", "1 ready pods of 2", func(r *reading, _ *adopt.Wish) { r.Sets[0].Ready = 2 }},
	{"a pod that is too many", whole, adopt.Wish{}, func(r *reading) { r.Sets[0].Current = 3 }, "not-whole", "", func(r *reading, _ *adopt.Wish) { r.Sets[0].Current = 2 }},
	{"a change that is not observed", whole, adopt.Wish{}, func(r *reading) { r.Sets[0].Observed = false }, "not-whole", "has not observed its last change", func(r *reading, _ *adopt.Wish) { r.Sets[0].Observed = true }},
	{"a pod that says so itself", whole, adopt.Wish{}, func(r *reading) { r.Pods[1].Ready = false }, "not-whole", "pod crate-data-hot-orders-1", func(r *reading, _ *adopt.Wish) { r.Pods[1].Ready = true }},
	{"a pod that ends", whole, adopt.Wish{}, func(r *reading) { r.Pods[1].Deleting = true }, "not-whole", "", func(r *reading, _ *adopt.Wish) { r.Pods[1].Deleting = false }},
	{"a node that has not joined", whole, adopt.Wish{}, func(r *reading) { r.Database.Nodes = r.Database.Nodes[:1] }, "not-whole", "1 nodes have joined", func(r *reading, _ *adopt.Wish) { r.Database.Nodes = whole().Database.Nodes }},
	{"yellow", whole, adopt.Wish{}, func(r *reading) { r.Database.Health = "yellow" }, "not-green", "yellow", func(r *reading, _ *adopt.Wish) { r.Database.Health = "green" }},
	{"nobody answers", whole, adopt.Wish{}, func(r *reading) { r.Database = adopt.Database{Why: "connection refused"} }, "database-unknown", "connection refused", func(r *reading, _ *adopt.Wish) { r.Database = whole().Database }},
	{"no pods are desired", whole, adopt.Wish{}, func(r *reading) {
		r.Sets[0].Replicas, r.Sets[0].Ready, r.Sets[0].Current, r.Pods, r.Database = 0, 0, 0, nil, adopt.Database{}
	}, "suspended", "scale statefulset crate-data-hot-orders --replicas=N", func(r *reading, _ *adopt.Wish) { *r = *whole() }},
	{"an exclusion", whole, adopt.Wish{}, leftBehind, "settings-left", "exclude._name = 'data-hot-3'", func(r *reading, _ *adopt.Wish) { r.Database.Left = nil }},
	{"or a person has it taken off", whole, adopt.Wish{}, leftBehind, "settings-left", "--reset-settings", func(_ *reading, wish *adopt.Wish) { wish.Reset = true }},
}

func leftBehind(r *reading) {
	r.Database.Left = []adopt.Setting{{Name: "cluster.routing.allocation.exclude._name", Value: "data-hot-3"}}
}

var backRefusals = []refusalCase{
	{"nothing is kept", taken, back, func(r *reading) { r.Saved = nil }, "not-adopted", "nothing to give back", func(r *reading, _ *adopt.Wish) { *r = *taken() }},
	{"the object is gone", taken, back, func(r *reading) { r.Object = nil }, "last-step-taken", "no way back", func(r *reading, _ *adopt.Wish) { *r = *taken() }},
	{"the object goes", taken, back, func(r *reading) { r.Object.Deleting = true }, "last-step-taken", "", func(r *reading, _ *adopt.Wish) { r.Object.Deleting = false }},
	{"the object is another one", taken, back, func(r *reading) { r.Object.UID = "another" }, "another-object", "", func(r *reading, _ *adopt.Wish) { r.Object.UID = "cratedb" }},
	{"a daemon acts", taken, back, func(r *reading) { r.Released = false }, "not-released", "stevedore release shop/orders", func(r *reading, _ *adopt.Wish) { r.Released = true }},
	{"no daemon acts", taken, back, func(r *reading) { r.Released = false }, "not-released", "", func(r *reading, _ *adopt.Wish) { r.Expected = adopt.Nobody }},
	{"a daemon that waits for the rest does not act yet", taken, back, func(r *reading) { r.Released = false }, "not-released", "", func(r *reading, _ *adopt.Wish) {
		r.Saved.Done, r.Sets = false, nil
	}},
	{"the template", taken, back, func(r *reading) { r.Sets[0].Remade = true }, "pods-remade", "StatefulSet crate-data-hot-orders", func(r *reading, _ *adopt.Wish) { r.Sets[0].Remade = false }},
	{"a pod", taken, back, func(r *reading) { r.Pods[0].Theirs = false }, "pods-remade", "pod crate-data-hot-orders-0", func(r *reading, _ *adopt.Wish) { r.Pods[0].Theirs = true }},
}

// Going on is what repairs a cluster that is taken over by half.
func TestAnAdoptionByHalfIsNeverRefusedForItsHealth(t *testing.T) {
	for _, wish := range []adopt.Wish{{}, back} {
		for _, c := range wholeRefusals {
			r := whole()
			r.Saved = half().Saved
			c.when(r)
			assert.Empty(t, adopt.Refusals(r, wish), "%s, back: %v", c.name, wish.Back)
		}
		for name, when := range map[string]func(*reading){
			"the object is being deleted": func(r *reading) { r.Object.Deleting = !wish.Back },
			"a handler has not ended":     func(r *reading) { r.Object.Unfinished = []string{"cluster_update"} },
			"the definition is gone":      func(r *reading) { r.Expected = adopt.Nobody },
			"another refusal has come":    func(r *reading) { r.Objections = []string{"downgrade"} },
			"a StatefulSet is ending":     func(r *reading) { r.Sets = whole().Sets; r.Sets[0].Deleting = true },
			"a claim is ending":           func(r *reading) { r.Dependents[0].Deleting = true },
		} {
			r := half()
			when(r)
			assert.Empty(t, adopt.Refusals(r, wish), "%s, back: %v", name, wish.Back)
		}
	}
}

// An adoption was begun and left, and crate-operator started again: what it had begun then nobody
// would end. Where a StatefulSet is away already, to make it again comes first.
func TestCrateOperatorThatWasStartedAgainInBetweenIsSeen(t *testing.T) {
	r := whole()
	r.Saved = &adopt.Saved{UID: r.Object.UID, Sets: map[string]json.RawMessage{}}
	for i := range r.Sets {
		r.Saved.Sets[r.Sets[i].Name] = nil
	}
	r.Object.Unfinished = []string{"cluster_update"}
	assert.Equal(t, []string{"operator-busy"}, namesOf(adopt.Refusals(r, adopt.Wish{})))
	r.Sets = r.Sets[1:]
	assert.Empty(t, adopt.Refusals(r, adopt.Wish{}))
}

func TestAllReasonsAreSaidAtOnce(t *testing.T) {
	r := whole()
	r.Operator.Running = []string{"pod crate-operator/x"}
	r.Database.Health, r.Expected = "red", adopt.Nobody
	assert.Equal(t, []string{"operator-running", "no-definition", "not-green"}, namesOf(adopt.Refusals(r, adopt.Wish{})))
}
