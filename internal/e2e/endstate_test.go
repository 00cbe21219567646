package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/testbed"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// endState is all that must be the same however often the daemon was cut off:
// objects, record, events, and what the database says of itself. Each entry is
// one thing; names of this run (namespace, ids, times, random passwords) are
// left out.
type endState map[string]string

// endState of a cluster with the user app; an error while it cannot be read.
func (s *situation) endState(cluster string) (endState, error) {
	s.Helper()
	rec := s.record(cluster)
	state := endState{}
	maps.Copy(state, s.objectsOf())
	for _, read := range []func(string, model.Record, endState) error{s.recordState, s.podState, s.eventState, s.databaseState} {
		if err := read(cluster, rec, state); err != nil {
			return nil, err
		}
	}
	anonymous := strings.NewReplacer(s.ns, "NAMESPACE", s.dir, "FOLDER", orNever(rec.ClusterID), "CLUSTERID", orNever(rec.Revision), "REVISION", orNever(rec.Commit), "COMMIT")
	for key, value := range state {
		delete(state, key)
		value = templateMark.ReplaceAllString(anonymous.Replace(value), `"stevedore.dev/template":"MARK"`)
		// Each node has an id of its own; attributes are read with the tables, which a
		// daemon does when it starts and then every ten minutes.
		state[anonymous.Replace(key)] = attributes.ReplaceAllString(nodeID.ReplaceAllString(value, `"id":"NODE"`), "")
	}
	return state, nil
}

func orNever(text string) string {
	if text == "" {
		return "\x00"
	}
	return text
}

// recordState is the content of the four ConfigMaps.
func (s *situation) recordState(cluster string, rec model.Record, state endState) error {
	saved, err := manifest.Unpack(rec.Saved)
	if err != nil {
		return fmt.Errorf("reading what was last effective: %w", err)
	}
	state["record saved"] = text(saved)
	rec.Saved = nil
	// A template's hash is of its namespace too.
	rec.Verified = slices.Clone(rec.Verified)
	for i := range rec.Verified {
		rec.Verified[i].Template = "TEMPLATE"
	}
	rec.Shown.Since, rec.Shown.At = metav1.Time{}.Time, metav1.Time{}.Time
	// The versions of Secrets that were verified must be those that there are.
	version := func(of model.SecretVersion, secret string) model.SecretVersion {
		live, err := bed.Admin.CoreV1().Secrets(s.ns).Get(s.ctx, secret, metav1.GetOptions{})
		if err == nil && of.UID == string(live.UID) && of.ResourceVersion == live.ResourceVersion {
			return model.SecretVersion{UID: "the Secret's"}
		}
		return of
	}
	rec.Bootstrap.System = version(rec.Bootstrap.System, names.SystemSecret(cluster))
	rec.Bootstrap.Users = slices.Clone(rec.Bootstrap.Users)
	for i, user := range rec.Bootstrap.Users {
		rec.Bootstrap.Users[i].Secret = version(user.Secret, user.Name+"-password")
	}
	state["record operation"] = text(rec)

	for _, kind := range []record.Kind{record.Inventory, record.Observation} {
		object, err := bed.Admin.CoreV1().ConfigMaps(s.ns).Get(s.ctx, kind.Name(cluster), metav1.GetOptions{})
		if err != nil {
			return err
		}
		content := map[string]any{}
		if err := json.Unmarshal([]byte(object.Data[names.DataKey]), &content); err != nil {
			return fmt.Errorf("reading the %s: %w", kind, err)
		}
		withoutChance(content)
		annotations := maps.Clone(object.Annotations)
		delete(annotations, names.AppliedAnnotation) // a hash over this run's names
		state["record "+string(kind)] = applySetID.ReplaceAllString(text(content)+text(object.Labels)+text(annotations), "APPLYSET")
	}
	waiting, err := s.waitingReports(cluster)
	state["reports that wait"] = fmt.Sprint(waiting)
	return err
}

// withoutChance drops what tells when, and which node was elected.
func withoutChance(content any) {
	switch value := content.(type) {
	case map[string]any:
		for key, inner := range value {
			switch key {
			case "at", "since", "uid", "resourceVersion", "master", "seq":
				delete(value, key)
			default:
				withoutChance(inner)
			}
		}
	case []any:
		for _, inner := range value {
			withoutChance(inner)
		}
	}
}

// waitingReports is how many reports no receiver has taken yet.
func (s *situation) waitingReports(cluster string) (int, error) {
	object, err := bed.Admin.CoreV1().ConfigMaps(s.ns).Get(s.ctx, names.ReportsConfigMap(cluster), metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	var queue struct {
		Pending []json.RawMessage `json:"pending"`
	}
	err = json.Unmarshal([]byte(object.Data[names.DataKey]), &queue)
	return len(queue.Pending), err
}

func (s *situation) podState(cluster string, _ model.Record, state endState) error {
	claims, err := bed.Admin.CoreV1().PersistentVolumeClaims(s.ns).List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, claim := range claims.Items {
		annotations := maps.Clone(claim.Annotations)
		maps.DeleteFunc(annotations, func(key, _ string) bool { return !strings.HasPrefix(key, names.Prefix) })
		state["PersistentVolumeClaim "+claim.Name] = text(claim.Labels) + text(annotations) + text(claim.Spec.Resources) + string(claim.Status.Phase)
	}
	for _, pod := range s.clusterPods(cluster) {
		ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		labels := maps.Clone(pod.Labels)
		maps.DeleteFunc(labels, func(key, _ string) bool {
			return key == "controller-revision-hash" || strings.HasPrefix(key, "topology.kubernetes.io/")
		})
		var command []string
		for _, container := range pod.Spec.Containers {
			command = append(command, container.Command...)
		}
		state["Pod "+pod.Name] = fmt.Sprintf("ready %t %s %s", ready, text(labels), text(command))
	}
	return nil
}

// eventState is each of our events once: told twice shows, told never shows.
func (s *situation) eventState(cluster string, _ model.Record, state endState) error {
	var all []string
	for _, event := range s.events(cluster) {
		all = append(all, fmt.Sprintf("%s %s: %s", event.Type, event.Reason, event.Message))
	}
	state["events"] = text(sorted(all))
	return nil
}

// databaseState asks as `system`, and logs in as each user.
func (s *situation) databaseState(cluster string, rec model.Record, state endState) error {
	password := func(name, key string) string {
		secret, err := bed.Admin.CoreV1().Secrets(s.ns).Get(s.ctx, name, metav1.GetOptions{})
		if err != nil {
			return ""
		}
		return string(secret.Data[key])
	}
	system := password(names.SystemSecret(cluster), "password")
	for _, statement := range []string{
		"SELECT id, name FROM sys.cluster",
		"SELECT name, version['number'] FROM sys.nodes ORDER BY name",
		"SELECT name, superuser FROM sys.users ORDER BY name",
		"SELECT grantee, class, type, state, ident FROM sys.privileges ORDER BY 1, 2, 3, 4",
		"SELECT id, passed, acknowledged FROM sys.node_checks ORDER BY 1, 2, 3",
		"SELECT health, table_name FROM sys.health ORDER BY 1, 2",
	} {
		rows, err := s.query(cluster, names.SystemUser, system, statement)
		if err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
		state[statement] = text(rows)
	}
	settings, err := s.query(cluster, names.SystemUser, system, "SELECT settings['cluster']['routing'], settings['cluster']['graceful_stop'], settings['gateway'] FROM sys.cluster")
	if err != nil {
		return fmt.Errorf("reading the settings: %w", err)
	}
	state["settings"] = text(settings)
	if _, err := s.query(cluster, "app", password("app-password", "password"), "SELECT 1"); err != nil {
		return fmt.Errorf("logging in as app: %w", err)
	}
	return nil
}

var (
	nodeID     = regexp.MustCompile(`"id":"[\w-]{22}"`)
	attributes = regexp.MustCompile(`"attributes":\{[^}]*\},`)
)

var literalPassword = regexp.MustCompile(`(?i)password\s*=\s*'([^']+)'`)

// noOneTimePassword: what the job logs show of passwords opens nothing.
func (s *situation) noOneTimePassword(cluster string) {
	s.Helper()
	for _, match := range literalPassword.FindAllStringSubmatch(s.statements(cluster), -1) {
		for _, user := range []string{names.SystemUser, "app"} {
			_, err := s.query(cluster, user, match[1], "SELECT 1")
			assert.ErrorContains(s, err, "28000", "a password of the job log still opens the database for %s", user)
		}
	}
}

// differences in words, one a line; "" when there is none.
func (e endState) differences(other endState) string {
	var all strings.Builder
	for _, key := range slices.Sorted(maps.Keys(e)) {
		if there, ok := other[key]; !ok {
			fmt.Fprintf(&all, "%s: missing\n", key)
		} else if there != e[key] {
			fmt.Fprintf(&all, "%s:\n  wanted %s\n  got    %s\n", key, e[key], there)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(other)) {
		if _, ok := e[key]; !ok {
			fmt.Fprintf(&all, "%s: there should be none, got %s\n", key, other[key])
		}
	}
	return all.String()
}

func text(value any) string {
	bytes, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(bytes)
}

// deliveries are the distinct reports that a receiver took, in the order of
// their first delivery, without the names of this run; health is no report.
func (s *situation) deliveries(receiver *testbed.Receiver) []string {
	s.Helper()
	seen := map[string]string{}
	var all []string
	for _, delivery := range receiver.Taken() {
		if delivery.Event == "health" {
			continue
		}
		body := strings.ReplaceAll(string(delivery.Body), s.ns, "NAMESPACE")
		first, known := seen[delivery.EventID]
		if known {
			assert.Equal(s, first, body, "one event id stands for one body")
			continue
		}
		seen[delivery.EventID] = body
		all = append(all, body)
	}
	return all
}

// The comparison is worth something only if it sees what it is to see.
func TestEndStateSeesADifference(t *testing.T) {
	t.Parallel()
	s := begin(t, "endstate")
	s.appSecret("app-password")
	receiver := testbed.NewReceiver(nil)
	t.Cleanup(receiver.Close)
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders")})
	daemon := s.start(testbed.DaemonOptions{Args: s.fromDir(), Env: []string{"WEBHOOK_URL=" + receiver.URL()}})
	s.settled("orders")
	before := s.restingState("orders", daemon)
	for _, change := range []struct {
		name  string
		make  func()
		shows string
	}{
		{"a label", func() { s.patch("services", "crate-orders", `{"metadata":{"labels":{"extra":"1"}}}`) }, "Service crate-orders"},
		{"a user", func() { s.rows("orders", "CREATE USER eve") }, "SELECT name, superuser FROM sys.users ORDER BY name"},
		{"a privilege", func() { s.rows("orders", "DENY DML TO app") }, "SELECT grantee, class, type, state, ident FROM sys.privileges ORDER BY 1, 2, 3, 4"},
		{"a setting", func() { s.rows("orders", `SET GLOBAL PERSISTENT "cluster.routing.allocation.enable" = 'primaries'`) }, "settings"},
		{"a claim", func() {
			s.patch("persistentvolumeclaims", "data0-crate-data-hot-orders-0", `{"metadata":{"annotations":{"stevedore.dev/cratedb-version":"1.0.0"}}}`)
		}, "PersistentVolumeClaim data0-crate-data-hot-orders-0"},
	} {
		change.make()
		after, err := s.endState("orders")
		if assert.NoError(t, err) {
			assert.NotEqual(t, before[change.shows], after[change.shows], change.name)
		}
	}
}
