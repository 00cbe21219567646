package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/cratesim/model"
	"stevedore.dev/stevedore/internal/cratesim/sql"
	"stevedore.dev/stevedore/internal/testbed"
)

// bucketKeys are in the URI of somebody's COPY.
var bucketKeys = []string{"AKIAIOSFODNN7", "wJalrXUtnFEMI"}

// With the simple query protocol sys.jobs has the whole message of a client for each of its statements, with what is
// secret in another one.
func TestARestartWaitsForWhatRunsAndTellsNothingElseOfItsClient(t *testing.T) {
	needing(t, simulator) // a real statement ends when it likes
	t.Parallel()
	uri := "'s3://" + strings.Join(bucketKeys, ":") + "@bucket/t.json'"
	for _, c := range []waitsForWork{
		{"optimize-running", sql.Work{Statement: "OPTIMIZE TABLE doc.t; COPY doc.t FROM " + uri}, "OPTIMIZE TABLE runs: doc.t"},
		{"copy-running", sql.Work{Operation: "copyFrom"}, "COPY FROM runs: on data-hot-0, on data-hot-1"},
		{"export-running", sql.Work{Statement: "SELECT 1; COPY doc.t TO DIRECTORY " + uri}, "COPY TO runs: doc.t"},
	} {
		// Each with a cluster of its own: a daemon publishes what it reads once a minute.
		t.Run(c.gate, func(t *testing.T) {
			t.Parallel()
			c.play(t)
		})
	}
}

// waitsForWork is what a restart waits for.
type waitsForWork struct {
	gate string
	work sql.Work
	says string
}

func (c waitsForWork) play(t *testing.T) {
	s := begin(t, "working-"+c.gate)
	receiver := testbed.NewReceiver(nil)
	t.Cleanup(receiver.Close)
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": s.short(2)})
	daemon := s.start(testbed.DaemonOptions{Args: s.fromDir(), Env: []string{"WEBHOOK_URL=" + receiver.URL()}})
	s.done("orders")
	s.rows("orders", "CREATE TABLE doc.t (id TEXT PRIMARY KEY) CLUSTERED INTO 2 SHARDS WITH (number_of_replicas = '1')")
	ended := &atomic.Bool{}
	c.work.Ended = ended.Load
	bed.Sandbox.Simulator().Begin(s.node("orders", "data-hot-1"), c.work)
	before := s.podUIDs()
	_, stderr, code := s.verb("restart", s.ns+"/orders")
	require.Zero(t, code, stderr)
	s.until("the restart waits", func() bool { return slices.Contains(s.reasons("orders"), c.gate) })
	assert.Equal(t, before, s.podUIDs(), "no pod goes while it runs")
	s.until("the reading is published", func() bool { return strings.Contains(s.told(), c.gate) })
	planned, _, _ := s.verb("diff", "-o", "json", s.dir)
	s.noSecretTold("orders", daemon, receiver, planned)
	assert.Contains(t, s.statusText(), c.says)
	ended.Store(true)
	s.eventually("the restart has ended", restartPatience, func() bool {
		after := s.podUIDs()
		for name, uid := range before {
			if after[name] == "" || after[name] == uid {
				return false
			}
		}
		return isDone(s.record("orders"))
	})
}

// node is one of a cluster's, in the simulator.
func (s *situation) node(cluster, name string) (found *model.Node) {
	s.Helper()
	id := s.record(cluster).ClusterID
	bed.Sandbox.Simulator().Do(func(m *model.Model) {
		for _, node := range m.Nodes() {
			if node.ClusterID() == id && node.Name == name {
				found = node
			}
		}
	})
	require.NotNil(s, found)
	return found
}

// told are the ConfigMaps of the namespace, as text.
func (s *situation) told() string {
	s.Helper()
	configs, err := bed.Admin.CoreV1().ConfigMaps(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	text, err := json.Marshal(configs)
	require.NoError(s, err)
	return string(text)
}
