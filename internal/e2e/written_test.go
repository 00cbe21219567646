package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/testbed"
)

// writtenSet is the StatefulSet of Crate's guide.
const writtenSet = "crate"

// handwritten is a running cluster as the guide of CrateDB on Kubernetes has it.
type handwritten struct{ *operated }

// handwrite makes the objects of the guide, a user and tables. It calls its cluster my-crate.
func handwrite(t *testing.T, ns string) *handwritten {
	t.Helper()
	v := &restartVoyage{voyage: &voyage{situation: begin(t, ns), faults: os.Getenv("STEVEDORE_FAULTS_BINARY")}, acked: map[string]int{}}
	if v.faults == "" {
		v.faults = "../../bin/stevedore-faults"
	}
	v.appSecret("app-password")
	v.receiver = testbed.NewReceiver(nil)
	t.Cleanup(v.receiver.Close)
	client, err := dynamic.NewForConfig(bed.Config)
	require.NoError(t, err)
	s := &handwritten{&operated{restartVoyage: v, client: client}}
	text, err := os.ReadFile("testdata/written/crate.yaml")
	require.NoError(t, err)
	for _, one := range strings.Split(string(text), "\n---\n") {
		object := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(one), &object.Object))
		_, err := client.Resource(s.resourceOf(object)).Namespace(ns).Create(v.ctx, object, metav1.CreateOptions{FieldManager: "kubectl-create"})
		require.NoError(t, err, "%s %s", object.GetKind(), object.GetName())
	}
	s.eventually("its pods are ready", restartPatience, func() bool { return s.set(writtenSet).Status.ReadyReplicas == 3 })
	crash := func(statement string) error {
		out, err := bed.Exec(v.ctx, ns, "crate-0", "crash", "-c", statement)
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	s.eventually("it takes statements", restartPatience, func() bool {
		return crash("CREATE USER app WITH (password = '"+strings.ReplaceAll(appPassword, "'", "''")+"')") == nil
	})
	require.NoError(t, crash("GRANT ALL PRIVILEGES TO app"))
	for i, name := range replicaTables {
		require.NoError(t, crash(fmt.Sprintf("CREATE TABLE doc.%s (id TEXT PRIMARY KEY) CLUSTERED INTO 2 SHARDS WITH (number_of_replicas = %d)", name, i)))
	}
	s.eventually("the cluster is green", restartPatience, func() bool {
		pod, err := bed.Admin.CoreV1().Pods(ns).Get(v.ctx, "crate-0", metav1.GetOptions{})
		require.NoError(t, err)
		rows, err := s.ask(v.ctx, pod.Status.PodIP, "app", appPassword, "SELECT count(*) FROM sys.health WHERE health <> 'GREEN'")
		return err == nil && rows[0][0] == "0"
	})
	s.pods = s.podsNow()
	return s
}

// podsNow are the pods of the namespace, with UID and revision.
func (s *handwritten) podsNow() map[string]string {
	s.Helper()
	list, err := bed.Admin.CoreV1().Pods(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	out := map[string]string{}
	for i := range list.Items {
		out[list.Items[i].Name] = string(list.Items[i].UID) + " " + list.Items[i].Labels["controller-revision-hash"]
	}
	return out
}

// adoptEntry is the group hot in spec.operations.adopt.
func adoptEntry() map[string]any {
	return map[string]any{
		"group": "hot", "statefulSet": writtenSet, "serviceName": "crate-set", "selector": map[string]any{"app": "crate"},
		"claim": "cratedb-data", "mountPath": "/data", "dataPath": "/data", "nodePrefix": "crate",
	}
}

func (s *handwritten) definition(edits ...edit) string {
	return definition(s.ns, cutCluster, append([]edit{
		with(replicasOfHot, 3), with("spec.cluster.name", "my-crate"),
		with("spec.operations", map[string]any{"stableFor": "1s", "masterStableFor": "1s", "adopt": []any{adoptEntry()}}),
	}, edits...)...)
}

func (s *handwritten) push(edits ...edit) {
	s.Helper()
	s.write(map[string]string{"orders.yaml": s.definition(edits...)})
}

// expected pushes the definition, and waits until the daemon refuses the StatefulSet.
func (s *handwritten) expected() *testbed.Daemon {
	s.Helper()
	s.push()
	daemon := s.sail("", "")
	s.refusedFor(cutCluster, "object-not-ours")
	return daemon
}

// Crate's hand-written StatefulSet becomes stevedore's while it is written to, keeps its names, grows, gets
// stevedore's template by a restart with its data, and then has operations as any other.
func TestAStatefulSetThatSomebodyWroteIsAdoptedWithoutARestart(t *testing.T) {
	t.Parallel()
	s := handwrite(t, "written")
	daemon := s.expected()
	plan := s.adopt("--dry-run", "--definition", s.dir)
	assert.Contains(t, plan, "no pod restarts")
	assert.Contains(t, plan, "StatefulSet crate: set its update strategy to OnDelete, and nothing else")
	assert.Equal(t, s.pods, s.podsNow(), "after a plan")
	assert.Equal(t, appsv1.RollingUpdateStatefulSetStrategyType, s.set(writtenSet).Spec.UpdateStrategy.Type)

	s.writeRows()
	said := s.adoptNamed("--definition", s.dir)
	assert.Contains(t, said, "3 pods, none of them restarted")
	assert.Contains(t, s.adopt("--definition", s.dir), "adopted", "a second run has nothing to do")
	s.settled(cutCluster)
	assert.Equal(t, s.pods, s.podsNow(), "after the adoption")
	s.noPodRestarted()
	planned := ""
	s.eventually("no plan sets what CrateDB has by itself", restartPatience, func() bool {
		planned, _, _ = s.verb("diff", s.dir)
		return planned != "" && !strings.Contains(planned, "set stats.enabled")
	})
	set := s.set(writtenSet)
	assert.Equal(t, appsv1.OnDeleteStatefulSetStrategyType, set.Spec.UpdateStrategy.Type)
	assert.Equal(t, map[string]string{"app": "crate"}, set.Spec.Selector.MatchLabels)
	assert.Equal(t, "crate-set", set.Spec.ServiceName)
	assert.NotEmpty(t, set.Spec.Template.Spec.Containers[0].Args, "the pod template is the one that somebody wrote")
	assert.Equal(t, [][]string{{"crate-0"}, {"crate-1"}, {"crate-2"}}, s.rows(cutCluster, "SELECT name FROM sys.nodes ORDER BY name"))

	s.push(with(replicasOfHot, 4))
	s.eventually("it has grown", restartPatience, func() bool { return s.ready(cutCluster) == 4 && s.isSettled(cutCluster) })
	s.push()
	s.eventually("it has shrunk", restartPatience, func() bool { return s.ready(cutCluster) == 3 && s.isSettled(cutCluster) })
	now := s.podsNow()
	assert.Equal(t, s.pods, now, "after a grow and a shrink")

	claims := s.claimsOf()
	s.mayRestart = true
	_, errs, code := s.verb("restart", s.ns+"/"+cutCluster)
	require.Zero(t, code, errs)
	s.eventually("every pod has stevedore's template", restartPatience, func() bool {
		return s.set(writtenSet).Annotations[names.AdoptedAnnotation] == "" && s.restarted() && s.isSettled(cutCluster)
	})
	s.end()
	s.noRowLost()
	assert.Equal(t, claims, s.claimsOf(), "the same volumes")
	assert.Equal(t, [][]string{{"crate-0"}, {"crate-1"}, {"crate-2"}}, s.rows(cutCluster, "SELECT name FROM sys.nodes ORDER BY name"))
	assert.Empty(t, s.set(writtenSet).Spec.Template.Spec.Containers[0].Args)

	s.push(with(diskOfHot, "32GiB"))
	s.eventually("its volumes are larger", restartPatience, func() bool {
		set, err := bed.Admin.AppsV1().StatefulSets(s.ns).Get(s.ctx, writtenSet, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false // it is being recreated
		}
		require.NoError(t, err)
		return len(set.Spec.VolumeClaimTemplates) == 1 && set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage().String() == "32Gi" && s.isSettled(cutCluster)
	})
	s.stop(daemon)
}

// claimsOf are the claims of the StatefulSet, by UID.
func (s *handwritten) claimsOf() map[string]string {
	s.Helper()
	list, err := bed.Admin.CoreV1().PersistentVolumeClaims(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	out := map[string]string{}
	for i := range list.Items {
		if c := &list.Items[i]; !strings.HasSuffix(c.Name, "-3") { // that of the node that came and went
			out[c.Name] = string(c.UID)
		}
	}
	return out
}

// Whoever runs the command may be killed after any of its writes, there and back. Afterwards the StatefulSet
// is as somebody wrote it, with its update strategy, and no pod was restarted.
func TestAHandwrittenSetIsAdoptedAndGoesBackThoughKilled(t *testing.T) {
	t.Parallel()
	s := handwrite(t, "written-back")
	before, services := s.essentials(), s.servicesNow()
	daemon := s.expected()
	s.killed("--definition", s.dir)
	s.settled(cutCluster)
	assert.Equal(t, s.pods, s.podsNow(), "after the adoption")

	out, errs, code := s.verb("adopt", s.ns+"/"+cutCluster, "--back")
	require.Equal(t, 1, code, "%s%s", out, errs)
	assert.Contains(t, errs, "not-released", "the daemon would undo it")
	_, _, code = s.verb("release", s.ns+"/"+cutCluster, "--wait")
	require.Zero(t, code)
	named := s.adopt("--back", "--dry-run")
	assert.Contains(t, named, "CrateDB: DROP USER system")
	s.adoptKilled("no StatefulSet of a CrateDB cluster", func(_ int, said string) {
		for line := range strings.Lines(said) {
			_, step, _ := strings.Cut(strings.TrimSpace(line), "  ")
			if !strings.Contains(step, ": wait until ") {
				assert.Contains(t, named, step, "a step that the dry run has not named")
			}
		}
		assert.Equal(t, s.pods, s.podsNow(), "after a run that said:\n%s", said)
	}, "--back")
	s.eventually("its controller has seen it", restartPatience, func() bool {
		set := s.set(writtenSet)
		return set.Status.ObservedGeneration == set.Generation && set.Status.ReadyReplicas == 3
	})
	assert.Equal(t, before, s.essentials())
	assert.Equal(t, services, s.servicesNow())
	assert.Equal(t, s.pods, s.podsNow(), "after it was given back")
	s.noPodRestarted()
	_, err := bed.Admin.CoreV1().Secrets(s.ns).Get(s.ctx, names.SystemSecret(cutCluster), metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	said, err := bed.Exec(s.ctx, s.ns, "crate-0", "crash", "-c", "SELECT name FROM sys.users ORDER BY name")
	require.NoError(t, err)
	assert.NotContains(t, said, "system")
	s.stop(daemon)
}

// essentials are the StatefulSet, its pods' labels and its claims' labels and annotations.
func (s *handwritten) essentials() map[string]string {
	s.Helper()
	out := map[string]string{}
	set := s.set(writtenSet)
	spec, err := yaml.Marshal(set.Spec)
	require.NoError(s, err)
	out["set"] = string(spec) + fmt.Sprint(set.Labels, set.Annotations)
	pods, err := bed.Admin.CoreV1().Pods(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	for i := range pods.Items {
		out[pods.Items[i].Name] = fmt.Sprint(pods.Items[i].Labels)
	}
	claims, err := bed.Admin.CoreV1().PersistentVolumeClaims(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	for i := range claims.Items {
		c := &claims.Items[i]
		out[c.Name] = fmt.Sprint(c.UID, c.Labels)
		for key := range c.Annotations {
			assert.NotContains(s, key, names.Prefix, c.Name)
		}
	}
	return out
}

func (s *handwritten) servicesNow() (out []string) {
	s.Helper()
	list, err := bed.Admin.CoreV1().Services(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	for i := range list.Items {
		out = append(out, list.Items[i].Name)
	}
	return out
}

// killed runs adopt to its end, and looks at the pods wherever it was killed.
func (s *handwritten) killed(args ...string) {
	s.Helper()
	s.adoptKilled("no StatefulSet of a CrateDB cluster", func(runs int, said string) {
		assert.Equal(s, s.pods, s.podsNow(), "after run %d, which said:\n%s", runs, said)
	}, args...)
}
