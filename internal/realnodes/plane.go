//go:build linux

package realnodes

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/internal/sandbox/authority"
)

const (
	// readyWithin is how long the API server or CoreDNS may take.
	readyWithin = 2 * time.Minute
	// planePause is between an end of a component and its next start.
	planePause = time.Second

	etcdURL = "http://127.0.0.1:2379"
)

// launch starts a process of the control plane.
func (c *Cluster) launch(name string, again time.Duration, command ...string) error {
	s := &service{
		name: name, log: c.file(name + ".log"), starter: c.starter, dir: c.dir, command: command, again: again, ended: c.finish,
	}
	if err := s.start(); err != nil {
		return err
	}
	c.plane = append(c.plane, s)
	return nil
}

// startPlane starts what runs beside the nodes, with the defaults that a cluster
// has: all controllers and admission plugins, tokens in pods, taints of nodes.
func (c *Cluster) startPlane(ctx context.Context) error {
	signingKey, err := c.pki.WriteKey("service-accounts.key")
	if err != nil {
		return err
	}
	server := fmt.Sprintf("https://%s:6443", planeAddress)
	// It is also the client of the kubelets, which ask what it may.
	if _, err := c.pki.Issue("kube-apiserver", []string{"system:masters"}, planeAddress, kubernetesAddress, netip.MustParseAddr("127.0.0.1")); err != nil {
		return err
	}
	identify := func(file, user string, groups ...string) (*rest.Config, error) {
		identity, err := c.pki.Issue(user, groups)
		if err != nil {
			return nil, err
		}
		config := &rest.Config{Host: server, TLSClientConfig: rest.TLSClientConfig{
			CAData: c.pki.PEM, CertData: identity.Certificate, KeyData: identity.Key,
		}}
		return config, authority.WriteKubeconfig(c.file(file), config, "", "default")
	}
	if c.admin, err = identify("kubeconfig", "admin", "system:masters"); err != nil {
		return err
	}
	if _, err := identify("kube-proxy.kubeconfig", "system:kube-proxy"); err != nil {
		return err
	}
	// The API server has its own limits.
	c.admin.QPS = -1
	if c.client, err = kubernetes.NewForConfig(c.admin); err != nil {
		return fmt.Errorf("making a client of the API server: %w", err)
	}

	if err := c.launch("etcd", 0, c.o.ControlPlane, "etcd", "--data-dir="+c.file("etcd"), "--client-url="+etcdURL, "--peer-url=http://127.0.0.1:2380"); err != nil {
		return err
	}
	if err := c.launch("kube-apiserver", 0, c.o.ControlPlane, "kube-apiserver",
		"--etcd-servers="+etcdURL,
		"--bind-address="+planeAddress.String(), "--advertise-address="+planeAddress.String(), "--secure-port=6443",
		"--cert-dir="+c.file("apiserver"),
		"--tls-cert-file="+c.pki.File("kube-apiserver.crt"), "--tls-private-key-file="+c.pki.File("kube-apiserver.key"),
		"--client-ca-file="+c.pki.File("ca.crt"),
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
		"--kubelet-certificate-authority="+c.pki.File("ca.crt"),
		"--kubelet-client-certificate="+c.pki.File("kube-apiserver.crt"), "--kubelet-client-key="+c.pki.File("kube-apiserver.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-key-file="+signingKey, "--service-account-signing-key-file="+signingKey,
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-cluster-ip-range="+serviceRange, "--allow-privileged=true", "--profiling=false",
	); err != nil {
		return err
	}
	if err := c.await(ctx, "the API server", func() error {
		return c.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}); err != nil {
		return err
	}
	if err := c.launch("kube-controller-manager", planePause, c.o.ControlPlane, "kube-controller-manager",
		"--kubeconfig="+c.file("kubeconfig"), "--leader-elect=false", "--secure-port=0", "--profiling=false",
		"--service-account-private-key-file="+signingKey, "--root-ca-file="+c.pki.File("ca.crt"),
	); err != nil {
		return err
	}
	return c.launch("kube-scheduler", planePause, c.o.ControlPlane, "kube-scheduler",
		"--kubeconfig="+c.file("kubeconfig"), "--leader-elect=false", "--secure-port=0", "--profiling=false")
}

const corefile = `.:53 {
    bind %s
    ready 127.0.0.1:8181
    errors
    kubernetes cluster.local {
        kubeconfig %s
        ttl 5
    }
}
`

// startDNS starts CoreDNS at the control plane's address: names then depend on no
// node and on no kube-proxy.
func (c *Cluster) startDNS(ctx context.Context) error {
	if err := os.WriteFile(c.file("Corefile"), []byte(fmt.Sprintf(corefile, planeAddress, c.file("kubeconfig"))), 0o600); err != nil {
		return fmt.Errorf("writing the Corefile: %w", err)
	}
	if err := c.launch("coredns", planePause, c.o.DNSBinary, "-conf", c.file("Corefile")); err != nil {
		return err
	}
	client := http.Client{Timeout: 2 * time.Second}
	return c.await(ctx, "CoreDNS", func() error {
		answer, err := client.Get("http://127.0.0.1:8181/ready")
		if err != nil {
			return err
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("it says %s", answer.Status)
		}
		return nil
	})
}

// await asks until there is no error, the cluster has failed or time is over.
func (c *Cluster) await(ctx context.Context, what string, ask func() error) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		last := ask()
		if last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w (last answer: %v)", what, context.Cause(ctx), last)
		case <-c.done:
			return fmt.Errorf("waiting for %s: %w", what, c.Err())
		case <-tick.C:
		}
	}
}
