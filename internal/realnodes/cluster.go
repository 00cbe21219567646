//go:build linux

package realnodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/internal/sandbox/authority"
	"stevedore.dev/stevedore/internal/sandbox/process"
)

// MostNodes is how many nodes there may be; memory is spent before.
const MostNodes = 20

// Options say what a cluster has. The zero value is a cluster of three nodes of
// the files that `make truth` makes.
type Options struct {
	// Nodes is their number, dealt out to the zones a, b and c; 0: 3, at most
	// MostNodes.
	Nodes int
	// ControlPlane, NodeBinary and DNSBinary are the programs; empty: what
	// STEVEDORE_CONTROLPLANE, STEVEDORE_NODE and STEVEDORE_DNS name, else those that
	// make puts into the folder bin.
	ControlPlane, NodeBinary, DNSBinary string
	// Images is a folder of images as OCI archives (*.tar), which each node
	// imports; empty: what STEVEDORE_IMAGES names, else bin/images.
	Images string
	// Progress gets one line a step, for people; nil: nothing.
	Progress func(string)
}

func (o *Options) complete() error {
	var failed error
	for _, file := range []struct {
		path                 *string
		variable, made, what string
	}{
		{&o.ControlPlane, "STEVEDORE_CONTROLPLANE", "bin/stevedore-controlplane", "the control plane"},
		{&o.NodeBinary, "STEVEDORE_NODE", "bin/stevedore-node", "the program of kubelet and kube-proxy"},
		{&o.DNSBinary, "STEVEDORE_DNS", "bin/stevedore-dns", "CoreDNS"},
		{&o.Images, "STEVEDORE_IMAGES", "bin/images", "the folder of images"},
	} {
		if *file.path == "" {
			*file.path = cmp.Or(os.Getenv(file.variable), file.made)
		}
		absolute, err := filepath.Abs(*file.path)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("finding %s: %w", file.what, err))
			continue
		}
		if _, err := os.Stat(absolute); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s is not at %s: `make truth-files` makes it, or %s names another", file.what, absolute, file.variable))
		}
		*file.path = absolute
	}
	if o.Nodes == 0 {
		o.Nodes = 3
	}
	if o.Nodes < 0 || o.Nodes > MostNodes {
		failed = errors.Join(failed, fmt.Errorf("%d nodes are not possible, choose 1 to %d", o.Nodes, MostNodes))
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return failed
}

// Cluster is a running Kubernetes cluster of real nodes.
type Cluster struct {
	// Nodes are its machines, node-1 first.
	Nodes []*Node

	o       Options
	dir     string
	pki     *authority.Authority
	admin   *rest.Config
	client  kubernetes.Interface
	starter *process.Starter
	// plane are the processes beside the nodes, each after those that it depends on.
	plane []*service

	stop    context.CancelFunc
	workers sync.WaitGroup

	stopOnce sync.Once
	doneOnce sync.Once
	done     chan struct{}
	mu       sync.Mutex
	err      error
}

// Start starts a cluster in the world of this process, which Isolate has made, and
// returns when all its nodes are ready. ctx limits the start only. There can be one
// in a world.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("starting real nodes: %w", err)
	}
	dir, err := worldDir()
	if err != nil {
		return nil, err
	}
	working, stop := context.WithCancel(context.Background())
	c := &Cluster{o: o, dir: dir, starter: process.NewStarter(), stop: stop, done: make(chan struct{})}
	if err := c.start(ctx, working); err != nil {
		said := c.Complaints(5)
		return nil, errors.Join(fmt.Errorf("starting real nodes: %w\n%s", err, said), c.Stop(context.WithoutCancel(ctx)))
	}
	return c, nil
}

func (c *Cluster) start(ctx, working context.Context) error {
	if err := makeBridge(); err != nil {
		return err
	}
	var err error
	if c.pki, err = authority.New(c.file("pki")); err != nil {
		return err
	}
	c.o.Progress("starting the control plane")
	if err := c.startPlane(ctx); err != nil {
		return err
	}
	if err := c.answerOutside(working); err != nil {
		return err
	}
	c.o.Progress("starting CoreDNS")
	if err := c.startDNS(ctx); err != nil {
		return err
	}
	if err := c.startVolumes(ctx, working); err != nil {
		return err
	}
	if err := weigh(cgroupName, c.o.Nodes); err != nil {
		return err
	}
	c.o.Progress(fmt.Sprintf("starting %d nodes, each with its images", c.o.Nodes))
	for number := 1; number <= c.o.Nodes; number++ {
		c.Nodes = append(c.Nodes, newNode(c, number))
	}
	failed := make([]error, len(c.Nodes))
	var starting sync.WaitGroup
	for i, node := range c.Nodes {
		starting.Go(func() {
			if failed[i] = node.prepare(); failed[i] == nil {
				failed[i] = node.PowerOn(ctx)
			}
		})
	}
	starting.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return c.AwaitReady(ctx, c.Nodes...)
}

// AwaitReady returns when Kubernetes takes the nodes for ready.
func (c *Cluster) AwaitReady(ctx context.Context, nodes ...*Node) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		waits := ""
		for _, node := range nodes {
			if why := c.unready(ctx, node.Name); why != "" {
				waits = node.Name + ": " + why
				break
			}
		}
		if waits == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the nodes to be ready: %w (%s)", context.Cause(ctx), waits)
		case <-c.done:
			return fmt.Errorf("waiting for the nodes to be ready: %w", c.Err())
		case <-tick.C:
		}
	}
}

// unready says why a node is not ready; empty: it is.
func (c *Cluster) unready(ctx context.Context, name string) string {
	node, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
			return condition.Reason + ": " + condition.Message
		}
	}
	// A taint goes a moment after the condition.
	for _, taint := range node.Spec.Taints {
		if strings.HasPrefix(taint.Key, "node.kubernetes.io/") && taint.Key != corev1.TaintNodeUnschedulable {
			return "its taint " + taint.Key
		}
	}
	if len(node.Status.Conditions) == 0 {
		return "it has said nothing yet"
	}
	return ""
}

// answerOutside lets clients outside of the world reach the API server, and writes
// their kubeconfig.
func (c *Cluster) answerOutside(working context.Context) error {
	address := os.Getenv(proxyVariable)
	listener, err := net.Listen("unix", c.file(proxySocket))
	if err != nil {
		return fmt.Errorf("answering for the API server outside: %w", err)
	}
	c.workers.Go(func() { forward(working, listener, "tcp", strings.TrimPrefix(c.admin.Host, "https://")) })
	config := rest.CopyConfig(c.admin)
	config.Host = "https://" + address
	return authority.WriteKubeconfig(c.OutsideKubeconfig(), config, "", "default")
}

// Kubeconfig is the path of the administrator's kubeconfig, for processes in the
// world; OutsideKubeconfig is that for all others on this machine.
func (c *Cluster) Kubeconfig() string { return c.file("kubeconfig") }

// OutsideKubeconfig is the path of the administrator's kubeconfig for processes of
// this machine that are not in the world. It reaches the API server only.
func (c *Cluster) OutsideKubeconfig() string { return c.file("outside.kubeconfig") }

// WorldPID is the number, outside, of the first process of the world: its network is
// entered by it. Empty: not known.
func (c *Cluster) WorldPID() string {
	content, _ := os.ReadFile(c.file(pidFile))
	return string(content)
}

// RESTConfig is the administrator's client configuration.
func (c *Cluster) RESTConfig() *rest.Config { return rest.CopyConfig(c.admin) }

// WriteServiceAccountKubeconfig writes a kubeconfig with a token of the service
// account, which must exist, to path (mode 0600). The token is valid for a day.
func (c *Cluster) WriteServiceAccountKubeconfig(ctx context.Context, namespace, name, path string) error {
	seconds := int64((24 * time.Hour).Seconds())
	token, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("asking for a token of the service account %s/%s: %w", namespace, name, err)
	}
	return authority.WriteKubeconfig(path, c.admin, token.Status.Token, namespace)
}

// Node is the one of that name; nil: there is none.
func (c *Cluster) Node(name string) *Node {
	for _, node := range c.Nodes {
		if node.Name == name {
			return node
		}
	}
	return nil
}

// Done is closed when the cluster has been stopped or a process has ended that is
// not started again; Err says which.
func (c *Cluster) Done() <-chan struct{} { return c.done }

// Err is nil until Done is closed, and after a Stop.
func (c *Cluster) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *Cluster) finish(err error) {
	c.doneOnce.Do(func() {
		c.mu.Lock()
		c.err = err
		c.mu.Unlock()
		close(c.done)
	})
}

// Complaints are the last warnings and errors of each process, at most so many of
// each.
func (c *Cluster) Complaints(most int) string {
	all := append([]*service{}, c.plane...)
	for _, node := range c.Nodes {
		for _, s := range []*service{node.containerd, node.proxy, node.kubelet} {
			if s != nil {
				all = append(all, s)
			}
		}
	}
	var text strings.Builder
	for _, s := range all {
		for line := range strings.Lines(s.lastWords(most, complains)) {
			fmt.Fprintf(&text, "%s: %s\n", s.name, strings.TrimSpace(line))
		}
	}
	return text.String()
}

// complains tells a warning or an error: klog's have the severity and the day
// first, containerd's a field.
func complains(line string) bool {
	klog := len(line) > 1 && strings.ContainsRune("WEF", rune(line[0])) && line[1] >= '0' && line[1] <= '9'
	return klog || strings.Contains(line, "level=error") || strings.Contains(line, "level=fatal") || strings.Contains(line, "[ERROR]")
}

// Stop ends all that runs. What the kernel holds for the world goes with the world.
func (c *Cluster) Stop(context.Context) error {
	c.stopOnce.Do(func() {
		for _, node := range c.Nodes {
			node.CutPower()
		}
		c.stop()
		for i := len(c.plane) - 1; i >= 0; i-- {
			c.plane[i].end(2 * time.Second)
		}
		c.workers.Wait()
		c.starter.Close()
		c.finish(nil)
	})
	return nil
}

func (c *Cluster) file(name string) string { return filepath.Join(c.dir, name) }
