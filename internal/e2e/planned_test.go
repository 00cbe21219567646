package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/daemon"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
)

// plans of what a folder would do, as `diff -o json` gives them.
func (s *situation) plans(code int, args ...string) []plan.Plan {
	s.Helper()
	out, stderr, got := s.verb(append([]string{"diff", "-o", "json"}, args...)...)
	require.Equal(s, code, got, "%s%s", out, stderr)
	var plans []plan.Plan
	require.NoError(s, json.Unmarshal([]byte(out), &plans), out)
	return plans
}

// wantedOrders are the choices that a definition of the pairs is made of.
type wantedOrders struct {
	hot, cold, masters int
	memory, limit      string
	bob                bool
	version            string
	// requests are of CPU; disk and class are of the group hot, whose volumes may be replaced.
	requests    float64
	disk, class string
}

func (w wantedOrders) definition(ns string) string {
	resources := resources()
	resources["limits"] = map[string]any{"cpu": 1, "memory": w.memory}
	resources["requests"] = map[string]any{"cpu": w.requests, "memory": w.memory}
	disk := maps.Clone(resources["disk"].(map[string]any))
	disk["size"], disk["storageClass"] = w.disk, w.class
	resources["disk"] = disk
	hot := map[string]any{"name": "hot", "replicas": w.hot, "resources": resources}
	groups := []any{hot}
	if w.cold > 0 {
		groups = append(groups, group("cold", w.cold))
	}
	users := []any{user("app")}
	if w.bob {
		users = append(users, user("bob"))
	}
	edits := []edit{
		with("spec.nodes.data", groups), with("spec.users", users), with("spec.cluster.version", w.version),
		with("spec.cluster.settings", map[string]any{"indices.breaker.query.limit": w.limit}),
		with("spec.operations", map[string]any{"stableFor": "1s", "masterStableFor": "1s", "consent": []string{"delete-volumes"}}),
	}
	if w.masters > 0 {
		edits = append(edits, with("spec.nodes.master", map[string]any{"replicas": w.masters, "resources": resources}))
	}
	return definition(ns, "orders", edits...)
}

// pair is two definitions of which the second may differ in several things.
func pair(random *rand.Rand) (from, to wantedOrders) {
	from = wantedOrders{hot: 1 + random.IntN(3), memory: "1Gi", limit: "40%", version: "6.3.7", requests: 0.25, disk: "16GiB", class: "fast"}
	if random.IntN(4) == 0 {
		from.masters = 3
		from.hot = 1 + random.IntN(2)
	}
	if random.IntN(4) == 0 {
		from.cold = 1
	}
	to = from
	for range 1 + random.IntN(2) {
		switch random.IntN(11) {
		case 0:
			to.hot++
		case 1, 2:
			to.hot = max(1, to.hot-1)
		case 3:
			to.memory = "2Gi"
		case 4:
			to.limit = "50%"
		case 5:
			to.bob = true
		case 6:
			to.version = "6.4.3"
		case 7:
			if to.cold > 0 {
				to.cold++
			} else {
				to.version = "6.3.6"
			}
		case 8:
			to.disk = "32GiB"
		case 9:
			to.requests = 0.5
		case 10:
			// Volumes are replaced where enough nodes vote without the one that is drained.
			if from.hot == 3 && to.hot == 3 && from.masters == 0 {
				to.class, to.disk = "slow", []string{"8GiB", "16GiB", "32GiB"}[random.IntN(3)]
			}
		}
	}
	return from, to
}

var (
	didApply = regexp.MustCompile(`msg=applied .*object="StatefulSet [^/]+/([^"]+)" (.*)`)
	didAct   = regexp.MustCompile(`msg=done .*action=(\S+) subject=("(?:[^"]*)"|\S+)`)
)

// deeds are the steps that a daemon's log tells of.
func deeds(log string) (steps []plan.Step) {
	for line := range strings.Lines(log) {
		if found := didApply.FindStringSubmatch(line); found != nil {
			made := strings.Contains(line, "it does not exist")
			if made || strings.Contains(found[2], "spec.replicas") || strings.Contains(found[2], "spec.template") {
				steps = append(steps, plan.Step{Action: plan.ActionApply, Target: found[1]})
			}
		}
		if found := didAct.FindStringSubmatch(line); found != nil {
			steps = append(steps, plan.Step{Action: found[1], Target: strings.Trim(found[2], `"`)})
		}
	}
	return steps
}

func sequence(steps []plan.Step) string {
	var all []string
	for _, s := range steps {
		all = append(all, s.Action+" "+s.Target)
	}
	return strings.Join(all, ", ")
}

// plannedAsDone makes a cluster, plans a change of it, has the change made and
// compares; it returns the kinds of the operations.
func plannedAsDone(t *testing.T, ns string, seed, round uint64) {
	random := rand.New(rand.NewPCG(seed, round))
	from, to := pair(random)
	s := begin(t, ns)
	s.appSecret("app-password")
	s.appSecret("bob-password")
	require.NoError(t, bed.ApplyKustomization(s.ctx, "../../deploy/volumes", s.ns))
	s.write(map[string]string{"orders.yaml": from.definition(s.ns)})
	running := s.run()
	s.eventually("the cluster is made", restartPatience, func() bool { return isDone(s.record("orders")) })
	if random.IntN(2) == 0 {
		// As many as fit the smaller group, too: others would be refused, which a plan
		// cannot know by a reading from before the table.
		replicas := random.IntN(max(1, min(2, from.hot, to.hot)))
		s.rows("orders", fmt.Sprintf("CREATE TABLE doc.items (id TEXT PRIMARY KEY) CLUSTERED INTO 4 SHARDS WITH (number_of_replicas = %d)", replicas))
		s.until("the table is green", func() bool {
			return len(s.rows("orders", "SELECT table_name FROM sys.health WHERE health <> 'GREEN'")) == 0
		})
	}
	branch := t.TempDir()
	s.aside(s.ns, branch).write(map[string]string{"orders.yaml": to.definition(s.ns)})
	if from == to {
		assert.Empty(t, s.plans(0, branch))
		return
	}
	plans := s.plans(2, branch)
	require.Len(t, plans, 1)
	var planned []plan.Step
	for _, op := range plans[0].Operations {
		planned = append(planned, op.Steps...)
	}
	before, was := len(running.Log()), s.record("orders").Revision
	s.write(map[string]string{"orders.yaml": to.definition(s.ns)})
	s.eventually("it is done or refused", restartPatience, func() bool {
		rec := s.record("orders")
		if len(plans[0].Refused) > 0 {
			return rec.Revision != was && rec.Shown.Verdict == model.Refuse.String() && rec.Operation == nil && rec.Last.Status == model.StatusFailure && rec.Last.Revision == rec.Revision
		}
		return rec.Revision != was && isDone(rec)
	})
	// A refusal is said at once; what runs alongside goes on behind it.
	if len(plans[0].Refused) > 0 {
		assert.Eventually(t, func() bool { return plan.Same(planned, deeds(running.Log()[before:])) == "" }, patience, 100*time.Millisecond)
	}
	done := deeds(running.Log()[before:])
	if difference := plan.Same(planned, done); difference != "" {
		t.Errorf("%+v to %+v (STEVEDORE_SEED=%d, round %d): %s\nplanned: %s\ndone:    %s\nrefused: %v, unknown: %v",
			from, to, seed, round, difference, sequence(planned), sequence(done), plans[0].Refused, plans[0].Unknown)
	}
}

func TestWhatDiffPlansIsWhatIsDone(t *testing.T) {
	t.Parallel()
	for _, round := range proof([]uint64{0, 3, 4}, 1, 2, 5, 6, 7, 8, 9) {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			plannedAsDone(t, fmt.Sprintf("planned-%d", round), 7, round)
		})
	}
}

func TestSoakWhatDiffPlansIsWhatIsDone(t *testing.T) {
	soak(t)
	for round := range uint64(200) {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			plannedAsDone(t, fmt.Sprintf("planned-soak-%d", round), seed(t), round)
		})
	}
}

// reader is a kubeconfig with no more than the shipped Role for readers.
func (s *situation) reader() string {
	s.Helper()
	require.NoError(s, bed.ApplyKustomization(s.ctx, filepath.Join("../../deploy", "reader"), s.ns))
	const name = "stevedore-reader"
	_, err := bed.Admin.CoreV1().ServiceAccounts(s.ns).Create(s.ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(s, err)
	_, err = bed.Admin.RbacV1().RoleBindings(s.ns).Create(s.ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.ns, Name: name}},
	}, metav1.CreateOptions{})
	require.NoError(s, err)
	path := filepath.Join(s.TempDir(), "kubeconfig")
	require.NoError(s, bed.Kubernetes.WriteServiceAccountKubeconfig(s.ctx, s.ns, name, path))
	return path
}

func TestAPlanUnderTheReadersRoleOnly(t *testing.T) {
	t.Parallel()
	s := begin(t, "reader")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders")})
	reader := s.reader()

	// Without a cluster everything is new.
	plans := s.plans(2, s.dir, "--kubeconfig", reader)
	require.Len(t, plans, 1)
	assert.True(t, plans[0].Basis.New)
	require.NotEmpty(t, plans[0].Operations)
	assert.Equal(t, "bootstrap", plans[0].Operations[0].Kind)
	for _, object := range plans[0].Objects {
		assert.Equal(t, plan.Added, object.Change, object.Key)
	}

	running := s.run()
	s.done("orders")
	s.rows("orders", "CREATE TABLE doc.items (id TEXT PRIMARY KEY) CLUSTERED INTO 2 SHARDS WITH (number_of_replicas = 0)")
	_, _, code := s.verb("diff", s.dir, "--kubeconfig", reader)
	assert.Zero(t, code, "in sync")

	branch := t.TempDir()
	there := s.aside(s.ns, branch)
	there.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with("spec.nodes.data.0.resources.limits.memory", "2Gi"))})
	plans = s.plans(2, branch, "--kubeconfig", reader)
	require.Len(t, plans, 1)
	basis := plans[0].Basis
	assert.Equal(t, plan.Live, basis.Kind)
	assert.False(t, basis.Admission, "it may not ask what the API server would store")
	assert.False(t, basis.SecretsCompared)
	assert.False(t, basis.New)
	assert.False(t, basis.Stale)
	assert.NotZero(t, basis.Observed)
	require.Len(t, plans[0].Operations, 1)
	assert.Equal(t, "restart", plans[0].Operations[0].Kind)
	assert.Equal(t, 1, plans[0].Restarts)
	set := plans[0].Objects[0]
	assert.Equal(t, "StatefulSet", set.Kind)
	assert.Equal(t, plan.Restart, set.Class)

	// With all rights it says the same, and what the API server would store.
	whole := s.plans(2, branch)
	assert.True(t, whole[0].Basis.Admission)
	assert.True(t, whole[0].Basis.SecretsCompared)
	assert.Equal(t, plans[0].Operations, whole[0].Operations)

	// A reading that nobody has renewed for long.
	_, err := running.Stop()
	require.NoError(t, err)
	s.ageObservation("orders", 3*time.Hour)
	plans = s.plans(2, branch, "--kubeconfig", reader)
	assert.True(t, plans[0].Basis.Stale)
	assert.Greater(t, time.Duration(plans[0].Basis.Age), 2*time.Hour)
	assert.Contains(t, strings.Join(plans[0].Unknown, "\n"), "is it running?")

	// Nothing is known of the database.
	require.NoError(t, bed.Admin.CoreV1().ConfigMaps(s.ns).Delete(s.ctx, names.ObservationConfigMap("orders"), metav1.DeleteOptions{}))
	plans = s.plans(2, branch, "--kubeconfig", reader)
	assert.Contains(t, strings.Join(plans[0].Unknown, "\n"), "nothing is known of the database")
}

func TestAPlanOfANamespaceThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := begin(t, "reader-elsewhere")
	reader := s.reader()
	absent := t.TempDir()
	s.aside("reader-nowhere", absent).write(map[string]string{"orders.yaml": definition("reader-nowhere", "orders")})

	// Who may look everywhere sees that there is nothing.
	plans := s.plans(2, absent)
	require.Len(t, plans, 1)
	assert.True(t, plans[0].Basis.New)
	assert.Zero(t, plans[0].Basis.Observed)
	assert.Equal(t, "bootstrap", plans[0].Operations[0].Kind)
	assert.NotContains(t, strings.Join(plans[0].Unknown, "\n"), "is it running?", "nobody reads a database that is not there")

	// A reader of another namespace is told what it lacks, and nothing is guessed.
	out, stderr, code := s.verb("diff", absent, "--kubeconfig", reader)
	assert.Equal(t, 1, code)
	assert.Empty(t, out)
	assert.Contains(t, stderr, "forbidden")
	assert.Contains(t, stderr, "what diff has to read is in the role of deploy/reader, to be bound in each cluster's namespace")
}

// ageObservation makes what the daemon published old.
func (s *situation) ageObservation(cluster string, by time.Duration) {
	s.Helper()
	maps := bed.Admin.CoreV1().ConfigMaps(s.ns)
	object, err := maps.Get(s.ctx, names.ObservationConfigMap(cluster), metav1.GetOptions{})
	require.NoError(s, err)
	var fields map[string]any
	require.NoError(s, json.Unmarshal([]byte(object.Data[names.DataKey]), &fields))
	var published daemon.Observation
	require.NoError(s, record.Decode(record.Observation, object.Data[names.DataKey], &published))
	fields["at"] = published.At.Add(-by).Format(time.RFC3339)
	text, err := json.Marshal(fields)
	require.NoError(s, err)
	object.Data[names.DataKey] = string(text)
	_, err = maps.Update(s.ctx, object, metav1.UpdateOptions{})
	require.NoError(s, err)
}
