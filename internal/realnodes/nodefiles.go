//go:build linux

package realnodes

import (
	"fmt"
	"os"

	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/internal/realnodes/image"
	"stevedore.dev/stevedore/internal/sandbox/authority"
)

const networkFile = `{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "/var/lib/cni/networks", "ranges": [[{"subnet": %q}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
`

// What a machine without CAP_SYS_RESOURCE may not do is set by restrict_oom_score_adj.
const containerdFile = `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
`

// Kubernetes wants cgroup v1 to be asked for by name. A kubelet whose disk is full deletes the
// images that no container uses, and has them again from their registry. Here none is:
// imageMinimumGCAge keeps them.
const kubeletFile = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /%s
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: %q}}
authorization: {mode: Webhook}
tlsCertFile: %q
tlsPrivateKeyFile: %q
clusterDNS: [%s]
clusterDomain: cluster.local
resolvConf: %q
failSwapOn: false
serializeImagePulls: false
imageGCHighThresholdPercent: 100
imageMinimumGCAge: 720h
evictionPressureTransitionPeriod: 30s
evictionHard: {memory.available: 100Mi, nodefs.available: 1Gi, imagefs.available: 1Gi}
`

// writeFiles writes what its daemons are configured by.
func (n *Node) writeFiles() error {
	cgroup := cgroupName + "/" + n.Name
	if err := makeCgroup(cgroup); err != nil {
		return err
	}
	user := "system:node:" + n.Name
	identity, err := n.cluster.pki.Issue(user, []string{"system:nodes"}, n.Address)
	if err != nil {
		return err
	}
	config := rest.CopyConfig(n.cluster.admin)
	config.CertData, config.KeyData = identity.Certificate, identity.Key
	if err := authority.WriteKubeconfig(n.file("kubeconfig"), config, "", "default"); err != nil {
		return err
	}
	if err := os.MkdirAll(n.file("cni"), 0o755); err != nil {
		return fmt.Errorf("making the folder of the network of %s: %w", n.Name, err)
	}
	pki := n.cluster.pki
	for name, content := range map[string]string{
		"cni/10-pods.conflist": fmt.Sprintf(networkFile, podNetwork(n.number)),
		"containerd.toml":      fmt.Sprintf(containerdFile, image.Pause, pluginDir, n.file("cni")),
		"kubelet.yaml": fmt.Sprintf(kubeletFile, cgroup, pki.File("ca.crt"), pki.File(user+".crt"), pki.File(user+".key"),
			planeAddress, n.file("resolv.conf")),
		"resolv.conf": fmt.Sprintf("nameserver %s\n", planeAddress),
	} {
		if err := os.WriteFile(n.file(name), []byte(content), 0o600); err != nil {
			return fmt.Errorf("writing a file of %s: %w", n.Name, err)
		}
	}
	// It becomes /etc/resolv.conf of whoever looks.
	return os.Chmod(n.file("resolv.conf"), 0o644)
}
