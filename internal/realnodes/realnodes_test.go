//go:build linux

package realnodes

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatAMachineLacksIsNamedWithTheLineThatBringsIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := Missing()
	for _, name := range []string{"apt-get install", "containerd", "runc", "iptables", "conntrack", "iproute2", "e2fsprogs"} {
		assert.ErrorContains(t, err, name)
	}
}

func TestFilesThatAreNotThereAreNamedAllAtOnce(t *testing.T) {
	here := t.TempDir()
	present := filepath.Join(here, "present")
	require.NoError(t, os.WriteFile(present, nil, 0o600))
	for _, variable := range []string{"STEVEDORE_CONTROLPLANE", "STEVEDORE_NODE", "STEVEDORE_DNS", "STEVEDORE_IMAGES"} {
		t.Setenv(variable, "")
	}
	o := Options{ControlPlane: present, NodeBinary: filepath.Join(here, "absent"), Nodes: MostNodes + 1}
	err := o.complete()
	assert.ErrorContains(t, err, "kubelet and kube-proxy is not at "+filepath.Join(here, "absent"))
	assert.ErrorContains(t, err, "CoreDNS is not at")
	assert.ErrorContains(t, err, "STEVEDORE_IMAGES names another")
	assert.ErrorContains(t, err, "choose 1 to 20")
	assert.NotContains(t, err.Error(), "the control plane")
}

func TestNodesAreStartedInAWorldOfTheirOwnOnly(t *testing.T) {
	t.Setenv(dirVariable, "")
	here := t.TempDir()
	_, err := Start(t.Context(), Options{ControlPlane: here, NodeBinary: here, DNSBinary: here, Images: here})
	assert.ErrorContains(t, err, "Isolate")
}

func TestWhatStaysIsNamed(t *testing.T) {
	before := tracesNow()
	delete(before, "mount")
	before["mount"] = tracesNow()["mount"][1:]
	was := goneWithin
	goneWithin = 0
	t.Cleanup(func() { goneWithin = was })
	assert.ErrorContains(t, before.stays(), "mount "+tracesNow()["mount"][0])
}

func TestConnectionsAreForwardedUntilTheEnd(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer echo.Close()
	go func() {
		for {
			conn, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn); _ = conn.Close() }()
		}
	}()
	front, err := net.Listen("unix", filepath.Join(t.TempDir(), "socket"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); forward(ctx, front, "tcp", echo.Addr().String()) }()

	conn, err := net.Dial("unix", front.Addr().String())
	require.NoError(t, err)
	_, err = conn.Write([]byte("hello"))
	require.NoError(t, err)
	said := make([]byte, 5)
	_, err = io.ReadFull(conn, said)
	require.NoError(t, err)
	assert.Equal(t, "hello", string(said))

	// A connection that is open does not keep it.
	cancel()
	<-done
	_, err = conn.Read(said)
	assert.Error(t, err)
}
