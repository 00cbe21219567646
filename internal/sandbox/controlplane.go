package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/internal/sandbox/authority"
	"stevedore.dev/stevedore/internal/sandbox/process"
)

// controlPlaneBinary is the nested module's program.
const controlPlaneBinary = "stevedore-controlplane"

// readyWithin is how long the API server may take; it takes 1 to 3 seconds on
// an idle machine.
const readyWithin = 10 * time.Minute

// controllers are those of the controller manager that something in a sandbox
// depends on. Without nodelifecycle no Node needs a heartbeat; endpointslice could
// only fail, on loopback addresses.
var controllers = []string{
	"statefulset-controller", "deployment-controller", "replicaset-controller", "job-controller",
	"persistentvolume-binder-controller", "persistentvolume-protection-controller",
	"persistentvolumeclaim-protection-controller", "disruption-controller", "namespace-controller",
	"garbage-collector-controller", "pod-garbage-collector-controller",
	"serviceaccount-controller", "serviceaccount-token-controller",
	"root-ca-certificate-publisher-controller", "clusterrole-aggregation-controller",
	"resourcequota-controller",
	// It finds pods by an index that the other one makes.
	"taint-eviction-controller", "daemonset-controller",
}

// findControlPlane finds the binary: given, in the environment, or beside us.
func findControlPlane(given string) (string, error) {
	candidates := []string{given}
	if given == "" {
		candidates = []string{os.Getenv("STEVEDORE_CONTROLPLANE")}
	}
	if candidates[0] == "" {
		self, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("finding %s: %w", controlPlaneBinary, err)
		}
		candidates = []string{filepath.Join(filepath.Dir(self), controlPlaneBinary)}
	}
	path, err := filepath.Abs(candidates[0])
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", controlPlaneBinary, err)
	}
	if info, err := os.Stat(path); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
		return "", fmt.Errorf("the sandbox's control plane is not at %s: build it with `make` (4 to 7 minutes, once), "+
			"or name it in STEVEDORE_CONTROLPLANE", path)
	}
	return path, nil
}

// controlPlane is the four processes.
type controlPlane struct {
	binary  string
	dir     string
	block   *addressBlock
	starter *process.Starter
	pki     *authority.Authority

	mu         sync.Mutex // of components
	components []component
	// killed are the arguments of an API server that was killed and is to start again.
	killed     []string
	admin      *rest.Config
	kubeconfig string
}

type component struct {
	name      string
	arguments []string
	log       string
	began     time.Time
	process   *process.Process
	// taken is set before its end is our doing, not a failure.
	taken *atomic.Bool
}

// errPortTaken says that another process took a port between our look and its
// use.
var errPortTaken = errors.New("a port was taken meanwhile")

func (c *controlPlane) start(ctx context.Context, progress func(string)) error {
	for attempt := 1; ; attempt++ {
		err := c.startOnce(ctx, progress)
		if err == nil || !errors.Is(err, errPortTaken) || attempt == 5 {
			return err
		}
		c.stop()
	}
}

func (c *controlPlane) startOnce(ctx context.Context, progress func(string)) error {
	address := c.block.controlPlane()
	ports, err := freePorts(address, 3)
	if err != nil {
		return err
	}
	at := func(i int) string { return netip.AddrPortFrom(address, uint16(ports[i])).String() }
	server, etcd := "https://"+at(0), "http://"+at(1)
	if err := c.writeIdentities(server); err != nil {
		return err
	}
	signingKey := c.pki.File("service-accounts.key")

	progress("starting etcd and the API server")
	if err := c.launch("etcd",
		"--data-dir="+filepath.Join(c.dir, "etcd"), "--client-url="+etcd, "--peer-url=http://"+at(2)); err != nil {
		return err
	}
	if err := c.launch("kube-apiserver",
		"--etcd-servers="+etcd,
		"--bind-address="+address.String(), "--advertise-address="+address.String(),
		fmt.Sprintf("--secure-port=%d", ports[0]),
		"--cert-dir="+filepath.Join(c.dir, "apiserver"),
		"--tls-cert-file="+c.pki.File("kube-apiserver.crt"), "--tls-private-key-file="+c.pki.File("kube-apiserver.key"),
		"--client-ca-file="+c.pki.File("ca.crt"),
		"--authorization-mode=Node,RBAC",
		"--kubelet-certificate-authority="+c.pki.File("ca.crt"),
		"--kubelet-client-certificate="+c.pki.File("kube-apiserver.crt"),
		"--kubelet-client-key="+c.pki.File("kube-apiserver.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-key-file="+signingKey, "--service-account-signing-key-file="+signingKey,
		"--service-account-issuer="+serviceAccountIssuer,
		"--service-cluster-ip-range="+c.block.serviceRange(),
		// A cluster's load balancer takes three, and the default range has 2768: of a
		// thousand clusters it refuses the last 77. Nothing answers there either.
		"--service-node-port-range=30000-65535",
		"--endpoint-reconciler-type=none", "--allow-privileged=true", "--profiling=false",
		// ServiceAccount would mount a token into every pod. TaintNodesByCondition
		// taints each new Node until a controller that we do not run lifts it.
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
	); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return fmt.Errorf("making a client of the sandbox's API server: %w", err)
	}
	if err := c.waitReady(ctx, client, false); err != nil {
		return err
	}

	progress("starting the controller manager and the scheduler")
	if err := c.launch("kube-controller-manager",
		"--kubeconfig="+c.kubeconfig, "--leader-elect=false", "--secure-port=0", "--profiling=false",
		"--controllers="+strings.Join(controllers, ","),
		"--service-account-private-key-file="+signingKey, "--root-ca-file="+c.pki.File("ca.crt"),
		"--kube-api-qps=500", "--kube-api-burst=1000", "--min-resync-period=10m",
	); err != nil {
		return err
	}
	return c.launch("kube-scheduler",
		"--kubeconfig="+c.kubeconfig, "--leader-elect=false", "--secure-port=0", "--profiling=false",
		"--kube-api-qps=500", "--kube-api-burst=1000")
}

// serviceAccountIssuer is the `iss` of the sandbox's tokens.
const serviceAccountIssuer = "https://kubernetes.default.svc.cluster.local"

func (c *controlPlane) writeIdentities(server string) error {
	if _, err := c.pki.WriteKey("service-accounts.key"); err != nil {
		return err
	}
	// It is also the client of the nodes' kubelet port.
	if _, err := c.pki.Issue("kube-apiserver", nil, c.block.controlPlane()); err != nil {
		return err
	}
	admin, err := c.pki.Issue("admin", []string{"system:masters"})
	if err != nil {
		return err
	}
	c.admin = &rest.Config{
		Host:            server,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.pki.PEM, CertData: admin.Certificate, KeyData: admin.Key},
	}
	c.kubeconfig = filepath.Join(c.dir, "kubeconfig")
	return authority.WriteKubeconfig(c.kubeconfig, c.admin, "", "default")
}

func (c *controlPlane) launch(name string, args ...string) error {
	launched, err := c.begin(name, args)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.components = append(c.components, launched)
	return nil
}

func (c *controlPlane) begin(name string, args []string) (component, error) {
	log := filepath.Join(c.dir, name+".log")
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return component{}, fmt.Errorf("opening the log of %s: %w", name, err)
	}
	defer file.Close() // the child has its own descriptor
	command := exec.Command(c.binary, append([]string{name}, args...)...)
	command.Stdout, command.Stderr = file, file
	command.Dir = c.dir
	began := time.Now()
	started, err := c.starter.Start(command, nil)
	if err != nil {
		return component{}, err
	}
	return component{name, args, log, began, started, &atomic.Bool{}}, nil
}

// startsAgain are the components that a kubelet starts again without loss, for all
// that they know stands in the API server. The scheduler even counts on it: it ends
// itself when its cache and the API server tell of a pod on two nodes, as they may
// once the API server has been away.
var startsAgain = []string{"kube-controller-manager", "kube-scheduler"}

// hopeless is how long a component must have run to be started again: what ends
// sooner would end again.
const hopeless = 2 * time.Second

// restart starts a component that has ended by itself once more, in its place. The
// error says why that is not done.
func (c *controlPlane) restart(ended component) (component, error) {
	if !slices.Contains(startsAgain, ended.name) || time.Since(ended.began) < hopeless {
		return component{}, ended.failure()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.components, func(each component) bool { return each.process == ended.process })
	if i < 0 {
		return component{}, nil // all of them are being stopped
	}
	again, err := c.begin(ended.name, ended.arguments)
	if err != nil {
		return component{}, errors.Join(ended.failure(), err)
	}
	c.components[i] = again
	return again, nil
}

// running are the components as they are now, each after those that it depends on.
func (c *controlPlane) running() []component {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.components)
}

// waitReady waits for the API server. With watched somebody starts again what ends without
// the API server, and only the end of another component ends the wait.
func (c *controlPlane) waitReady(ctx context.Context, client kubernetes.Interface, watched bool) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	ticker := time.NewTicker(25 * time.Millisecond)
	defer ticker.Stop()
	var last error
	for {
		if last = client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); last == nil {
			return nil
		}
		for _, each := range c.running() {
			if watched && slices.Contains(startsAgain, each.name) {
				continue
			}
			select {
			case <-each.process.Done():
				return each.failure()
			default:
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the sandbox's API server: %w (last answer: %v; log %s)",
				context.Cause(ctx), last, filepath.Join(c.dir, "kube-apiserver.log"))
		case <-ticker.C:
		}
	}
}

// failure describes the end of a component by the last lines of its log.
func (c component) failure() error {
	content, _ := os.ReadFile(c.log)
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	if len(lines) > 8 {
		lines = lines[len(lines)-8:]
	}
	err := fmt.Errorf("%s ended with exit code %d; its last words:\n%s",
		c.name, c.process.ExitCode(), strings.Join(lines, "\n"))
	if bytes.Contains(content, []byte("address already in use")) {
		return fmt.Errorf("%w: %w", errPortTaken, err)
	}
	return err
}

// Complaints are the last warnings and errors in the log of each component of the
// control plane, at most so many of each.
func (s *Sandbox) Complaints(most int) string {
	var text strings.Builder
	for _, c := range s.plane.running() {
		content, _ := os.ReadFile(c.log)
		var said []string
		for line := range strings.Lines(string(content)) {
			// klog's: the severity, then month and day.
			if len(line) > 1 && strings.ContainsRune("WEF", rune(line[0])) && line[1] >= '0' && line[1] <= '9' {
				said = append(said, line)
			}
		}
		for _, line := range said[max(0, len(said)-most):] {
			fmt.Fprintf(&text, "%s: %s\n", c.name, strings.TrimSpace(line[:min(len(line), 500)]))
		}
	}
	return text.String()
}

// stop ends the components, those first that depend on the others.
func (c *controlPlane) stop() {
	c.mu.Lock()
	components := c.components
	c.components = nil
	c.mu.Unlock()
	for _, each := range slices.Backward(components) {
		grace := 5 * time.Second
		if each.name == apiServer {
			// It would wait for watches to end; no one is left who needs them.
			grace = 500 * time.Millisecond
		}
		each.process.Stop(grace)
	}
}
