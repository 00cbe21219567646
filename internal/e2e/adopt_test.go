package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/internal/names"
)

// A cluster of crate-operator's becomes stevedore's while it runs and is written to, survives the
// end of the object that owned it, and then has operations as any other.
func TestAClusterOfCrateOperatorIsAdoptedWithoutARestart(t *testing.T) {
	t.Parallel()
	o := operate(t, "adopt")
	o.writeRows()
	daemon := o.expected()

	plan := o.adopt("--dry-run")
	assert.Contains(t, plan, "no pod restarts")
	assert.Contains(t, plan, "PersistentVolumeClaim data0-crate-data-hot-orders-0: take its owner off")
	o.untouched("after a plan")

	said := o.adoptNamed()
	assert.Contains(t, said, "3 pods, none of them restarted")
	assert.Contains(t, o.adopt(), "adopted", "a second run has nothing to do")
	o.settled(cutCluster)
	o.untouched("after the adoption")
	secret, err := bed.Admin.CoreV1().Secrets(o.ns).Get(o.ctx, "app-password", metav1.GetOptions{})
	require.NoError(t, err)
	assert.NotContains(t, secret.Annotations, "operator.cloud.crate.io/last", "it has the password")

	gone := o.canary()
	o.deleted()
	o.eventually("the garbage collector has taken the canary", restartPatience, gone)
	o.untouched("after the CrateDB object is gone")
	for name, claim := range o.claimsOf() {
		assert.Nil(t, claim.DeletionTimestamp, name)
		assert.Empty(t, claim.OwnerReferences, name)
	}
	for _, template := range o.set(hotSet).Spec.VolumeClaimTemplates {
		assert.Empty(t, template.OwnerReferences, template.Name)
	}
	o.end()
	assert.Zero(t, o.fails, "of %d requests of a client, the last one by: %v", o.tries, o.failed)
	o.noRowLost()

	o.push(with(replicasOfHot, 4), with(diskOfHot, "32GiB"))
	o.eventually("it has grown", restartPatience, func() bool { return o.ready(cutCluster) == 4 && o.grew(4) && o.isSettled(cutCluster) })
	o.push(with(diskOfHot, "32GiB"))
	o.eventually("it has shrunk", restartPatience, func() bool { return o.ready(cutCluster) == 3 && o.isSettled(cutCluster) })
	o.same("after a grow, a shrink and larger volumes")
	assert.Equal(t, "sql-exporter", o.set(hotSet).Spec.Template.Spec.Containers[0].Name, "the pod template is crate-operator's")

	o.mayRestart = true
	hooked := o.hooksMayRun()
	_, errs, code := o.verb("restart", o.ns+"/"+cutCluster)
	require.Zero(t, code, errs)
	o.eventually("every pod has stevedore's template", restartPatience, func() bool {
		return o.set(hotSet).Annotations[names.AdoptedAnnotation] == "" && o.restarted() && o.isSettled(cutCluster)
	})
	assert.Empty(t, hooked(), "pods of crate-operator's that were there while their hooks could run")
	for _, container := range o.set(hotSet).Spec.Template.Spec.Containers {
		assert.Nil(t, container.Lifecycle, "a hook of crate-operator's")
	}
	o.noRowLost()
	o.stop(daemon)
}

// hooksMayRun watches until it is asked, and names the pods with crate-operator's hooks that were
// there while their StatefulSet did not say that hooks do nothing.
func (o *operated) hooksMayRun() func() []string {
	o.Helper()
	seen := map[string]bool{}
	ctx, cancel := context.WithCancel(o.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			set, err := bed.Admin.AppsV1().StatefulSets(o.ns).Get(ctx, hotSet, metav1.GetOptions{})
			pods, failed := bed.Admin.CoreV1().Pods(o.ns).List(ctx, metav1.ListOptions{LabelSelector: names.ManagedByLabel + "=crate-operator"})
			if err != nil || failed != nil || set.Labels[names.HookLabels[0]] == "true" {
				continue
			}
			for _, pod := range pods.Items {
				seen[pod.Name] = true
			}
		}
	}()
	return func() []string { cancel(); <-done; return slices.Sorted(maps.Keys(seen)) }
}

// push writes the definition again.
func (o *operated) push(edits ...edit) {
	o.Helper()
	o.write(map[string]string{"orders.yaml": o.definition(edits...)})
}

// restarted is true when no pod is one of those that were adopted.
func (o *operated) restarted() bool {
	for name, now := range podsOf(o.voyage) {
		if now == o.pods[name] {
			return false
		}
	}
	return o.ready(cutCluster) == len(o.pods)
}

// Whoever runs the command may be killed after any of its writes: the next run goes on, there and
// back, and no pod could have been evicted meanwhile.
//
// A soak only: make test kills the adoption of what was handwritten.
func anAdoptionThatIsKilledGoesOn(t *testing.T) {
	t.Parallel()
	o := operate(t, "adopt-killed", dedicatedMasters)
	before := o.theirs()
	daemon := o.expected(with("spec.nodes.master", map[string]any{"replicas": 3, "resources": resources()}))
	o.killed()
	o.settled(cutCluster)
	o.untouched("after the adoption")
	_, _, code := o.verb("release", o.ns+"/"+cutCluster, "--wait")
	require.Zero(t, code)
	o.killed("--back")
	o.untouched("after it was given back")
	assert.Equal(t, before, o.theirs())
	o.stop(daemon)
}

// adoptNamed runs adopt, and compares its dry run with what the API server was asked for: each step that is
// no wait and not CrateDB's is one write to the object that it names, and there is no other.
func (o *operated) adoptNamed(args ...string) string {
	o.Helper()
	named := o.adopt(append([]string{"--dry-run", "-o", "json"}, args...)...)
	var plan struct {
		Steps []struct{ Step, Object string }
	}
	require.NoError(o, json.Unmarshal([]byte(named), &plan), named)
	want := map[string]int{}
	for _, s := range plan.Steps {
		if _, name, ok := strings.Cut(s.Object, " "); ok && s.Step != "await" && s.Step != "keep-set" {
			want[name]++
		} else if s.Step == "keep-set" {
			want[names.AdoptionConfigMap(cutCluster)]++
		}
	}
	front := newRecordingAPIServer(o.T)
	said := o.adopt(append([]string{"--operator-stopped", "--kubeconfig", front.before(o.T, o.mover("get", "list", "create", "delete", "update", "patch"))}, args...)...)
	require.NoError(o, bed.Admin.RbacV1().RoleBindings(o.ns).Delete(o.ctx, "mover", metav1.DeleteOptions{}))
	require.NoError(o, bed.Admin.RbacV1().Roles(o.ns).Delete(o.ctx, "mover", metav1.DeleteOptions{}))
	require.NoError(o, bed.Admin.CoreV1().ServiceAccounts(o.ns).Delete(o.ctx, "mover", metav1.DeleteOptions{}))
	done := map[string]int{}
	for a, n := range front.requests() {
		if writes(a) && a.resource != "pods/portforward" && a.namespace == o.ns {
			done[a.name] += n
		}
	}
	// An object that is created by POST has its name in the body.
	for name, n := range want {
		if missing := n - done[name]; missing > 0 && done[""] >= missing {
			done[name], done[""] = n, done[""]-missing
		}
	}
	delete(done, "")
	assert.Equal(o, want, done, "the writes that the dry run names, and those that were sent, by object")
	return said
}

// killed runs adopt to its end, and tries an eviction wherever it was killed.
func (o *operated) killed(args ...string) {
	o.Helper()
	o.adoptKilled("nothing is kept of an adoption", func(runs int, said string) {
		guard, err := bed.Admin.PolicyV1().PodDisruptionBudgets(o.ns).Get(o.ctx, names.AdoptionConfigMap(cutCluster), metav1.GetOptions{})
		if err == nil && guard.Status.ObservedGeneration == guard.Generation {
			eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "crate-data-hot-orders-0", Namespace: o.ns}}
			// 429 by the guard, 500 while a pod is under two budgets.
			assert.Error(o, bed.Admin.PolicyV1().Evictions(o.ns).Evict(o.ctx, eviction), "after run %d, which said:\n%s", runs, said)
		}
	}, args...)
}

// adoptKilled runs adopt until it has ended. It kills each run after its fifth write, in a soak after its first.
// A way back that was killed after its very last write, that what was kept goes, answers ended in the next run.
func (o *operated) adoptKilled(ended string, killed func(runs int, said string), args ...string) {
	o.Helper()
	writes, least := 5, 2
	if soaks() {
		writes, least = 1, 10
	}
	for runs := 1; ; runs++ {
		cmd := exec.CommandContext(o.ctx, o.faults, append([]string{"adopt", o.ns + "/" + cutCluster}, args...)...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+bed.Kubernetes.Kubeconfig(), "KUBERNETES_SERVICE_HOST=", fmt.Sprint("STEVEDORE_DIE=after:", writes))
		out, err := cmd.CombinedOutput()
		if err == nil || args != nil && args[0] == "--back" && strings.Contains(string(out), ended) {
			assert.Greater(o, runs, least, "it was killed less often than that")
			return
		}
		require.Equal(o, -1, cmd.ProcessState.ExitCode(), "%s", out)
		require.Less(o, runs, 200, "%s", out)
		killed(runs, string(out))
	}
}

// Until the last step the cluster can be given back: it is as it was, and no pod was restarted.
func TestAnAdoptedClusterGoesBackAndCanBeAdoptedAgain(t *testing.T) {
	t.Parallel()
	o := operate(t, "adopt-back")
	before := o.theirs()
	daemon := o.expected()
	o.adopt()
	o.settled(cutCluster)

	out, errs, code := o.verb("adopt", o.ns+"/"+cutCluster, "--back")
	require.Equal(t, 1, code, "%s%s", out, errs)
	assert.Contains(t, errs, "not-released", "the daemon would undo it")
	_, _, code = o.verb("release", o.ns+"/"+cutCluster, "--wait")
	require.Zero(t, code)
	assert.Contains(t, o.adoptNamed("--back"), "crate-operator's again (3 pods, none of them restarted)")
	o.untouched("after it was given back")
	assert.Equal(t, before, o.theirs())

	require.NoError(t, os.Remove(o.dir+"/orders.yaml"))
	o.eventually("it is forgotten", restartPatience, func() bool {
		out, errs, code = o.verb("forget", o.ns+"/"+cutCluster)
		return code == 0
	})
	o.write(map[string]string{"orders.yaml": o.definition()})
	o.refusedFor(cutCluster, "object-not-ours")
	o.adopt()
	o.settled(cutCluster)
	assert.Contains(t, o.adopt("--finish"), "the CrateDB object is gone")
	_, err := o.client.Resource(cratedbs).Namespace(o.ns).Get(o.ctx, cutCluster, metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = bed.Admin.CoreV1().ConfigMaps(o.ns).Get(o.ctx, names.AdoptionConfigMap(cutCluster), metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "what was kept for the way back: %v", err)
	_, errs, code = o.verb("adopt", o.ns+"/"+cutCluster, "--finish")
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "looked-after: a daemon looks after this cluster already")
	o.untouched("after the last step")
	o.stop(daemon)
}

// Each reason against an adoption is said before the first write; once all are gone the same
// command does it.
func TestAnAdoptionThatIsRefusedHasWrittenNothing(t *testing.T) {
	t.Parallel()
	o := operate(t, "adopt-refused")
	before := o.versions()
	refused := func(reason, words string, args ...string) {
		t.Helper()
		out, errs, code := o.verb(append([]string{"adopt", o.ns + "/" + cutCluster}, args...)...)
		assert.Equal(t, 1, code, "%s%s", out, errs)
		assert.Contains(t, errs, reason+": ")
		assert.Contains(t, errs, words)
		assert.Contains(t, errs, "nothing was written")
		assert.Equal(t, 1, strings.Count(errs, "\n")-1, "one reason alone:\n%s", errs)
		assert.Equal(t, before, o.versions())
	}
	object := func(annotations map[string]any) {
		t.Helper()
		text, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
		require.NoError(t, err)
		_, err = o.client.Resource(cratedbs).Namespace(o.ns).Patch(o.ctx, cutCluster, types.MergePatchType, text, metav1.PatchOptions{})
		require.NoError(t, err)
	}
	refused("no-definition", "stevedore import")
	daemon := o.expected()
	refused("rights-missing", "patch services", "--operator-stopped", "--kubeconfig", o.mover("get", "list", "create", "delete", "update"))
	object(map[string]any{"argocd.argoproj.io/tracking-id": "shop:cloud.crate.io/CrateDB:adopt-refused/orders"})
	refused("applied-by-another", "the Argo CD application shop")
	object(map[string]any{"argocd.argoproj.io/tracking-id": nil, "operator.cloud.crate.io/cluster_update.restart": `{"started":"2026-11-23T18:12:40Z","retries":3,"success":false,"failure":false}`})
	refused("operator-busy", "cluster_update.restart")
	object(map[string]any{"operator.cloud.crate.io/cluster_update.restart": nil})
	const left = `"cluster.routing.allocation.exclude._name"`
	o.rows(cutCluster, "SET GLOBAL TRANSIENT "+left+" = 'data-hot-3'")
	refused("settings-left", "exclude._name = 'data-hot-3'")

	o.adopt("--reset-settings")
	o.settled(cutCluster)
	assert.Equal(t, [][]string{{""}}, o.rows(cutCluster, "SELECT settings['cluster']['routing']['allocation']['exclude']['_name'] FROM sys.cluster"))
	o.untouched("after the adoption")
	o.stop(daemon)
}
