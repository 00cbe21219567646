package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/internal/daemon"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
)

const gib = int64(1) << 30

// readingOf is what a daemon publishes of a healthy cluster with so many nodes, and a table
// that has a replica.
func readingOf(nodes int) daemon.Observation {
	o := daemon.Observation{
		At: time.Now().UTC().Truncate(time.Second).Add(-5 * time.Minute), Owner: "git:here", ClusterID: clusterID,
		Contact: "yes", Recovered: "yes", Health: "green",
		Data: &daemon.ObservationData{
			Allocation: model.AllocationSettings{LowWatermark: "85%", HighWatermark: "90%", DiskThreshold: true, TotalShardsPerNode: -1, ShardsPerNode: 1000}, Enable: "all",
			Tables: []daemon.ObservationTable{{Name: "doc.items", Replicas: "1", Shards: 4, Started: 2, TotalShardsPerNode: -1}},
		},
	}
	for i := range nodes {
		o.Nodes = append(o.Nodes, daemon.ObservationNode{
			Name: fmt.Sprint("data-hot-", i), ID: fmt.Sprint("node-", i), Version: "6.4.3", Master: i == 0,
			Shards: 2, Bytes: 20 * gib, Disk: 64 * gib, Used: 24 * gib,
		})
		o.Data.Tables[0].On = append(o.Data.Tables[0].On, [3]int64{2, 20 * gib, 10 * gib})
	}
	return o
}

// kubectlYAML and kubectlJSON print objects as `kubectl get -o yaml` and `-o json` do: one as it is,
// several as a List.
func kubectlYAML(t *testing.T, objects ...*corev1.ConfigMap) string {
	t.Helper()
	text, err := yaml.Marshal(asKubectlGets(objects))
	require.NoError(t, err)
	return string(text)
}

func kubectlJSON(t *testing.T, objects ...*corev1.ConfigMap) string {
	t.Helper()
	text, err := json.MarshalIndent(asKubectlGets(objects), "", "    ")
	require.NoError(t, err)
	return string(text) + "\n"
}

func asKubectlGets(objects []*corev1.ConfigMap) any {
	list := &metav1.List{TypeMeta: metav1.TypeMeta{Kind: "List", APIVersion: "v1"}, Items: []runtime.RawExtension{}}
	for _, object := range objects {
		object = object.DeepCopy()
		object.TypeMeta = metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}
		object.CreationTimestamp = metav1.NewTime(time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC))
		list.Items = append(list.Items, runtime.RawExtension{Object: object})
	}
	if len(objects) == 1 {
		return list.Items[0].Object
	}
	return list
}

func inProd(name string) record.Cluster { return record.Cluster{Namespace: "prod", Name: name} }

// file writes a text beside the work, and returns its name.
func written(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// A plan that has the reading from a file says what the plan of the live cluster says.
func TestAFileOfReadingsGivesTheNumbersOfTheLivePlan(t *testing.T) {
	upgrade := func(text string) string { return strings.Replace(text, "6.4.3", "6.4.4", 1) }
	for _, c := range []struct {
		name   string
		change func(*daemon.Observation)
		now    string // the newer side; "" for three nodes instead of four
		says   string // somewhere in the plan
	}{
		{name: "a drain that fits", says: "drain data-hot-3: 2 shards, 20 GiB move, fits: the nodes that stay are at 56 % of the low watermark after"},
		{name: "a drain that does not fit", says: "refused", change: func(o *daemon.Observation) {
			for i := range o.Nodes {
				o.Nodes[i].Used = 53 * gib
			}
		}},
		{name: "tables without replicas", now: upgrade(orders("orders", "4")), says: "doc.logs", change: func(o *daemon.Observation) {
			o.Data.Unreplicated = []string{"doc.logs"}
			o.Data.Tables = append(o.Data.Tables, daemon.ObservationTable{Name: "doc.logs", Replicas: "0", Shards: 1, Started: 1, TotalShardsPerNode: -1, On: [][3]int64{{1, gib, gib}}})
		}},
		{name: "copies that are missing", says: "health is yellow", change: func(o *daemon.Observation) {
			o.Health, o.Unassigned, o.Tables = "yellow", 3, []string{"doc.items"}
		}},
		{name: "primaries that are missing", says: "health is red", change: func(o *daemon.Observation) {
			o.Health, o.Unassigned, o.Tables = "red", 3, []string{"doc.items"}
		}},
		{name: "a snapshot that runs", change: func(o *daemon.Observation) { o.Data.Snapshots = 1 }},
		{name: "no tables read yet", says: "says nothing of tables", change: func(o *daemon.Observation) { o.Data = nil }},
		{name: "small tables left out", says: "leaves out 7 small table(s)", change: func(o *daemon.Observation) { o.Data.Left, o.Data.LeftBytes = 7, 9<<20 }},
		{name: "stale", says: "old, and a daemon that works publishes one at least every 10m0s: is it running", change: func(o *daemon.Observation) { o.At = o.At.Add(-100 * time.Minute) }},
		{name: "of a clock that is ahead", change: func(o *daemon.Observation) { o.At = time.Now().UTC().Add(time.Hour) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRepository(t)
			r.commit(map[string]string{"clusters/a.yaml": orders("orders", "4")})
			reading := readingOf(4)
			if c.change != nil {
				c.change(&reading)
			}
			object := publishedMap(t, inProd("orders"), reading)
			kubeconfig := newObservedAPI(t, r.in("clusters"), object)
			if c.now == "" {
				c.now = orders("orders", "3")
			}
			put(t, r.dir, map[string]string{"clusters/a.yaml": c.now})

			live, end := planned(t, r.in("clusters"), "--kubeconfig", kubeconfig)
			require.Len(t, live, 1, end.err)
			file := written(t, "observations.yaml", kubectlYAML(t, object))
			offline, end := planned(t, r.in("clusters"), "--against", "HEAD", "--observation", file)
			require.Len(t, offline, 1, end.err)
			assert.Empty(t, end.err)

			offline[0].Objects = nil
			text, err := json.Marshal(offline[0])
			require.NoError(t, err)
			assert.Contains(t, string(text), c.says)
			var unknown []string
			for _, one := range live[0].Unknown {
				if !strings.HasPrefix(one, "Secrets are not compared") {
					unknown = append(unknown, strings.Replace(one, "is it running?", "is it running, and when was "+file+" made?", 1))
				}
			}
			assert.ElementsMatch(t, withoutAges(unknown), withoutAges(offline[0].Unknown))
			for _, of := range []struct {
				what string
				is   func(plan.Plan) any
			}{
				{"operations", func(p plan.Plan) any { return p.Operations }},
				{"refusals", func(p plan.Plan) any { return p.Refused }},
				{"waits", func(p plan.Plan) any { return p.Waits }},
				{"risks", func(p plan.Plan) any { return p.AtRisk }},
				{"restarts", func(p plan.Plan) any { return p.Restarts }},
				{"estimate", func(p plan.Plan) any { return p.Estimate }},
				{"time of the reading", func(p plan.Plan) any { return p.Basis.Observed }},
				{"stale", func(p plan.Plan) any { return p.Basis.Stale }},
			} {
				assert.Equal(t, of.is(live[0]), of.is(offline[0]), of.what)
			}
		})
	}
}

// ageOfReading is in the words of a plan, and is a second more in the plan that was made second.
var ageOfReading = regexp.MustCompile(`is \S+ old`)

func withoutAges(lines []string) []string {
	without := make([]string, len(lines))
	for i, line := range lines {
		without[i] = ageOfReading.ReplaceAllString(line, "is AGE old")
	}
	return without
}
