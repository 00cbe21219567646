package sandbox_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// cluster makes the StatefulSet of a whole CrateDB cluster of three.
func (s situation) cluster(version string) {
	s.crate(3, func(set *appsv1.StatefulSet) {
		crate := crateContainer(set)
		crate.Image = "crate:" + version
		crate.Env = []corev1.EnvVar{
			{Name: "CRATE_HEAP_SIZE", Value: "4294967296"},
			{Name: "CRATE_JAVA_OPTS", Value: "-Dcom.sun.management.jmxremote.port=6666 -Dcom.sun.management.jmxremote.ssl=false " +
				"-Dcom.sun.management.jmxremote.authenticate=false -Dcom.sun.management.jmxremote.local.only=false " +
				"-Dcom.sun.management.jmxremote.rmi.port=6666 -Djava.rmi.server.hostname=127.0.0.1 " +
				"-javaagent:/var/lib/crate/crate-jmx-exporter-1.2.0.jar=7071"},
		}
		crate.Command = append(crate.Command[:len(crate.Command)-1],
			"-Ccluster.initial_master_nodes=data-hot-0,data-hot-1,data-hot-2",
			"-Cgateway.recover_after_data_nodes=2", "-Cgateway.expected_data_nodes=3",
			"-Cauth.host_based.enabled=true",
			"-Cauth.host_based.config.0.user=crate",
			"-Cauth.host_based.config.0.address=_local_",
			"-Cauth.host_based.config.0.method=trust",
			"-Cauth.host_based.config.99.method=password",
			"-Cblobs.path=/data/data0/blobs",
			"-Cnode.master=true", "-Cnode.data=true", "-Cnode.attr.node_name=hot")
	})
}

// sql runs a statement by crash inside a pod.
func (s situation) sql(pod, statement string) []map[string]any {
	s.Helper()
	got := s.exec("websocket", pod, statement, "crash", "--format", "json")
	require.Zero(s, got.code, got.err)
	var rows []map[string]any
	if strings.HasPrefix(got.out, "[") {
		require.NoError(s, json.Unmarshal([]byte(got.out), &rows), got.out)
	}
	return rows
}

// crateDB is a sandbox of its own with real CrateDB where CRATEDB_HOME names a
// release, with simulated nodes otherwise, and the version to run.
func crateDB(t *testing.T) (situation, string) {
	o := options(t)
	o.NodeCommand = []string{os.Args[0], simulatedNode}
	o.CrateDBHome = os.Getenv("CRATEDB_HOME")
	version := os.Getenv("CRATEDB_VERSION")
	if version == "" {
		version = "6.4.3"
	}
	return situationIn(t, start(t, o)), version
}

func TestACrateDBClusterFormsAndOutlivesItsPods(t *testing.T) {
	s, version := crateDB(t)
	began := time.Now()
	s.cluster(version)
	s.within("three pods are ready", func() bool {
		set, err := s.client.AppsV1().StatefulSets(s.namespace).Get(s.Context(), "crate-data-hot-c", metav1.GetOptions{})
		return err == nil && set.Status.ReadyReplicas == 3
	})
	t.Logf("three CrateDB nodes were ready in %s", time.Since(began).Round(time.Millisecond))
	pod := "crate-data-hot-c-0"
	s.within("they are one cluster", func() bool {
		rows := s.sql(pod, "SELECT count(*) AS n FROM sys.nodes")
		return len(rows) == 1 && rows[0]["n"] == float64(3)
	})
	s.sql(pod, "CREATE USER system WITH (password = 'secret')")
	id := s.sql(pod, "SELECT id FROM sys.cluster")[0]["id"]
	ids := map[any]bool{}
	for i := range 3 {
		name := fmt.Sprintf("crate-data-hot-c-%d", i)
		rows := s.sql(name, "SELECT id, name FROM sys.nodes WHERE name = 'data-hot-"+fmt.Sprint(i)+"'")
		require.Len(t, rows, 1)
		ids[rows[0]["id"]] = true
	}

	before := s.pod("crate-data-hot-c-1")
	require.NoError(t, s.client.CoreV1().Pods(s.namespace).Delete(t.Context(), before.Name, metav1.DeleteOptions{}))
	s.within("the second pod is back", func() bool {
		pod := s.pod(before.Name)
		return pod.UID != before.UID && ready(pod)
	})
	s.within("the node has joined again, under its id", func() bool {
		rows := s.sql(pod, "SELECT id FROM sys.nodes")
		for _, row := range rows {
			if !ids[row["id"]] {
				return false
			}
		}
		return len(rows) == 3
	})
	assert.Equal(t, id, s.sql(before.Name, "SELECT id FROM sys.cluster")[0]["id"])

	// Only a client inside the pod is crate without a password.
	got := s.exec("spdy", pod, "SELECT 1", "crash", "--hosts", s.pod("crate-data-hot-c-2").Status.PodIP+":4200")
	assert.Equal(t, 1, got.code, got)
}
