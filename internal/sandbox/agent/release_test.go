package agent

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

func realContainer(env map[string]string) *container {
	c := &container{
		spec:   &corev1.Container{Name: "crate"},
		worker: &worker{dir: "/sandbox/pod", address: netip.MustParseAddr("127.5.1.1")},
		mounts: []mount{{path: "/data/data0", host: "/sandbox/volumes/pvc-1"}, {path: "/data", host: "/sandbox/outer"}},
	}
	for name, value := range env {
		c.env.set(name, value)
	}
	return c
}

func TestTheArgumentsOfARealNodeNameThisMachine(t *testing.T) {
	c := realContainer(nil)
	assert.Equal(t, []string{
		"-Ccluster.name=c",
		"-Cpath.data=/sandbox/volumes/pvc-1,/sandbox/outer/data1",
		"-Cssl.keystore_password=a\\$b\\\"c",
		"-Cauth.host_based.config.0.address=127.5.1.1",
		"-Cpsql.port=5433",
		"-Cnetwork.host=127.5.1.1", "-Cpath.conf=/conf", "-Cpath.logs=/logs",
		"-Cdiscovery.seed_providers=file",
		"-Chttp.port=4200", "-Ctransport.tcp.port=4300",
	}, c.releaseArguments([]string{
		"-Ccluster.name=c", "-Cnetwork.host=_site_", "-Cpath.data=/data/data0,/data/data1",
		"-Cdiscovery.seed_providers=srv", "-Cdiscovery.srv.query=_cluster._tcp.x.y.svc.cluster.local",
		"-Cssl.keystore_password=a$b\"c", "-Cauth.host_based.config.0.address=_local_", "-Cpsql.port=5433",
	}, "127.5.1.1", "/conf", "/logs"))
}

func TestTheArgumentsOfASimulatedNodeNameThisMachineButForRepositories(t *testing.T) {
	assert.Equal(t, []string{
		"--repository-folder", "/data/backups=/sandbox/outer/backups", "--repository-folder", "/alone=/sandbox/pod/root/crate/alone", "--",
		"-Ccluster.name=c", "-Cpath.data=/sandbox/volumes/pvc-1", "-Cpath.repo=/data/backups,/alone",
	}, realContainer(nil).simulatedArguments([]string{"-Ccluster.name=c", "-Cpath.data=/data/data0", "-Cpath.repo=/data/backups,/alone"}))
}

func TestTheHeapIsBounded(t *testing.T) {
	for given, want := range map[string]string{
		"": "536870912", "268435456": "268435456", "256m": "268435456", "4294967296": "536870912", "2g": "536870912", "x": "536870912",
	} {
		assert.Equal(t, want, realContainer(map[string]string{"CRATE_HEAP_SIZE": given}).heap(), given)
	}
}

func TestJavaOptionsFitThisMachine(t *testing.T) {
	c := realContainer(map[string]string{"CRATE_JAVA_OPTS": "-Dcom.sun.management.jmxremote.port=6666 " +
		"-Djava.rmi.server.hostname=127.0.0.1 -javaagent:/var/lib/crate/exporter.jar=7071 -XX:HeapDumpPath=/data/dump"})
	assert.Equal(t, quickStart+" -Dcom.sun.management.jmxremote.port=6666 -Dcom.sun.management.jmxremote.host=127.5.1.1 "+
		"-Djava.rmi.server.hostname=127.5.1.1 -XX:HeapDumpPath=/sandbox/outer/dump", c.javaOptions("127.5.1.1"))
}

func TestAPathNeverLeavesItsPod(t *testing.T) {
	c := realContainer(nil)
	for inside, want := range map[string]string{
		"/data/data0/x":        "/sandbox/volumes/pvc-1/x",
		"/data/data00/x":       "/sandbox/outer/data00/x",
		"/data/data0/../../..": "/sandbox/pod/root/crate",
		"/etc/passwd":          "/sandbox/pod/root/crate/etc/passwd",
		"../../etc/passwd":     "/sandbox/pod/root/crate/etc/passwd",
	} {
		assert.Equal(t, want, c.hostPath(inside), inside)
	}
}
