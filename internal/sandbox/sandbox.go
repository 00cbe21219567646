package sandbox

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/internal/cratesim"
	"stevedore.dev/stevedore/internal/sandbox/agent"
	"stevedore.dev/stevedore/internal/sandbox/authority"
	"stevedore.dev/stevedore/internal/sandbox/process"
)

// Options say what a sandbox has. The zero value is a sandbox of twelve nodes
// with simulated CrateDB, in a temporary folder.
type Options struct {
	// Dir keeps the sandbox's data; empty: a temporary folder that Stop
	// removes. A Dir that is given must not hold another sandbox; Stop removes
	// what the sandbox made in it.
	Dir string
	// ControlPlane is the stevedore-controlplane binary; empty: what
	// STEVEDORE_CONTROLPLANE names, else the one beside this executable.
	ControlPlane string
	// NodeCommand starts one simulated CrateDB node; empty: this executable
	// with the arguments `sandbox cratedb-node`.
	NodeCommand []string
	// OneProcess runs simulated nodes inside this process, for more of them than a
	// machine has room for processes: a node that is killed ends as by SIGTERM.
	OneProcess bool
	// CrateDBHome is an unpacked CrateDB release (it has bin/crate), or a
	// folder with one for each version (<home>/<version>/bin/crate); empty:
	// nodes are simulated.
	CrateDBHome string
	// Simulator sets the speeds and the clock of simulated nodes; the zero
	// value is the simulator's defaults.
	Simulator cratesim.HubOptions
	// Nodes is the number of Node objects, dealt out to the zones a, b and c;
	// 0: 12, at most 240.
	Nodes int
	// Log gets what goes on inside; nil: nothing.
	Log *slog.Logger
	// Progress gets one line a step, for people; nil: nothing.
	Progress func(string)
}

// Sandbox is a running control plane with its node agent.
type Sandbox struct {
	dir       string
	removeDir bool
	lock      *os.File
	block     *addressBlock
	starter   *process.Starter
	log       *slog.Logger
	plane     *controlPlane
	agent     *agent.Agent
	client    kubernetes.Interface
	hub       *cratesim.Hub
	stopHub   context.CancelFunc

	stopOnce sync.Once
	stopping chan struct{}
	watchers sync.WaitGroup
	done     chan struct{}
	doneOnce sync.Once
	mu       sync.Mutex
	err      error
}

// Start starts a sandbox and returns when its API server is ready and its Node
// objects are there. ctx limits the start only; Stop ends the sandbox, and so
// does the end of this process, whatever its kind.
func Start(ctx context.Context, o Options) (*Sandbox, error) {
	if !process.Supported {
		return nil, errors.New("the sandbox needs Linux: other systems neither answer on all of 127.0.0.0/8 " +
			"nor end processes together with their parent; use a Linux machine or virtual machine")
	}
	if o.Nodes == 0 {
		o.Nodes = 12
	}
	if o.Nodes < 0 || o.Nodes > maxNodes {
		return nil, fmt.Errorf("starting the sandbox: %d nodes are not possible, choose 1 to %d", o.Nodes, maxNodes)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if len(o.NodeCommand) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("starting the sandbox: %w", err)
		}
		o.NodeCommand = []string{self, "sandbox", "cratedb-node"}
	}
	binary, err := findControlPlane(o.ControlPlane)
	if err != nil {
		return nil, err
	}
	s := &Sandbox{starter: process.NewStarter(), log: o.Log, stopping: make(chan struct{}), done: make(chan struct{})}
	if err := s.start(ctx, o, binary); err != nil {
		return nil, errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (s *Sandbox) start(ctx context.Context, o Options, binary string) error {
	if err := s.claimFolder(o.Dir); err != nil {
		return err
	}
	var err error
	if s.block, err = claimAddressBlock(); err != nil {
		return err
	}
	pki, err := authority.New(filepath.Join(s.dir, "pki"))
	if err != nil {
		return err
	}
	s.plane = &controlPlane{binary: binary, dir: s.dir, block: s.block, starter: s.starter, pki: pki}
	if err := s.plane.start(ctx, o.Progress); err != nil {
		return err
	}
	for _, each := range s.plane.running() {
		s.watch(each)
	}

	o.Progress(fmt.Sprintf("adding %d nodes", o.Nodes))
	config := rest.CopyConfig(s.plane.admin)
	config.QPS = -1 // the API server has its own limits
	config.UserAgent = "stevedore-sandbox-agent"
	if s.client, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("making a client of the sandbox's API server: %w", err)
	}
	hub, err := s.serveHub(o)
	if err != nil {
		return err
	}
	kubelet, err := s.listenForKubelet(o.Nodes)
	if err != nil {
		return err
	}
	nodes := newNodes(s.block, o.Nodes)
	certificate, err := s.kubeletTLS(nodes)
	if err != nil {
		return err
	}
	var runNode func(context.Context, []string, []string, io.Writer) int
	var probePause time.Duration
	if o.OneProcess {
		runNode = cratesim.RunNodeArgs
		probePause = manyProbePause
	}
	if s.agent, err = agent.Start(agent.Options{
		RunNode:           runNode,
		ProbePause:        probePause,
		Client:            s.client,
		Dir:               s.dir,
		Nodes:             nodes,
		TakePodAddress:    s.block.takePod,
		ReleasePodAddress: s.block.releasePod,
		Starter:           s.starter,
		Kubelet:           kubelet,
		KubeletTLS:        certificate,
		NodeCommand:       o.NodeCommand,
		HubSocket:         hub,
		CrateDBHome:       o.CrateDBHome,
		Log:               o.Log,
	}); err != nil {
		return err
	}
	if err := createAttributesClasses(ctx, s.client); err != nil {
		return err
	}
	if err := createStorageClasses(ctx, s.client); err != nil {
		return err
	}
	return createNodes(ctx, s.client, nodes, kubelet[0].Addr().(*net.TCPAddr).Port)
}

// manyProbePause is the longest between two probes of a node that is one of many: as
// rarely as their definitions ask, since a thousand of them a second are half a core.
const manyProbePause = 10 * time.Second

// serveHub serves what simulated nodes have in common, on an abstract socket: it
// leaves no file, and its name cannot be too long. It returns the socket's name.
func (s *Sandbox) serveHub(o Options) (string, error) {
	if o.CrateDBHome != "" {
		return "", nil
	}
	socket := fmt.Sprintf("@stevedore-sandbox-127.%d-hub", s.block.Second)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return "", fmt.Errorf("listening for simulated CrateDB nodes: %w", err)
	}
	if o.Simulator.Log == nil {
		o.Simulator.Log = o.Log
	}
	s.hub = cratesim.NewHub(o.Simulator)
	ctx, cancel := context.WithCancel(context.Background())
	s.stopHub = cancel
	s.watchers.Add(1)
	go func() {
		defer s.watchers.Done()
		if err := s.hub.Serve(ctx, listener); err != nil {
			s.finish(fmt.Errorf("serving simulated CrateDB nodes: %w", err))
		}
	}()
	return socket, nil
}

// Simulator is the hub of the simulated nodes, for what SQL cannot bring about,
// such as full disks; nil where a real CrateDB runs.
func (s *Sandbox) Simulator() *cratesim.Hub { return s.hub }

// KillNode kills the CrateDB process in a pod, as when memory runs out; it is
// started again as a kubelet does.
func (s *Sandbox) KillNode(namespace, pod string) error { return s.agent.Kill(namespace, pod) }

// Kubeconfig is the path of the administrator's kubeconfig.
func (s *Sandbox) Kubeconfig() string { return s.plane.kubeconfig }

// RESTConfig is the administrator's client configuration.
func (s *Sandbox) RESTConfig() *rest.Config { return rest.CopyConfig(s.plane.admin) }

// WriteServiceAccountKubeconfig writes a kubeconfig with a token of the service
// account, which must exist, to path (mode 0600). The token is valid for a day.
func (s *Sandbox) WriteServiceAccountKubeconfig(ctx context.Context, namespace, name, path string) error {
	seconds := int64((24 * time.Hour).Seconds())
	token, err := s.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}},
		metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("asking for a token of the service account %s/%s: %w", namespace, name, err)
	}
	return authority.WriteKubeconfig(path, s.plane.admin, token.Status.Token, namespace)
}

// Done is closed when the sandbox has been stopped or a component has died that
// cannot be started again; Err says which.
func (s *Sandbox) Done() <-chan struct{} { return s.done }

// Err is nil until Done is closed, and after a Stop.
func (s *Sandbox) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *Sandbox) finish(err error) {
	s.doneOnce.Do(func() {
		s.mu.Lock()
		s.err = err
		s.mu.Unlock()
		close(s.done)
	})
}

// watch keeps a component running, where it can be started again; where it cannot,
// its end is the sandbox's.
func (s *Sandbox) watch(c component) {
	s.watchers.Add(1)
	go func() {
		defer s.watchers.Done()
		for {
			select {
			case <-s.stopping:
				return
			case <-c.process.Done():
			}
			select {
			case <-s.stopping:
				return
			default:
			}
			if c.taken.Load() {
				return
			}
			again, err := s.plane.restart(c)
			if err != nil {
				s.finish(err)
			}
			if again.process == nil {
				return
			}
			s.log.Warn("a component of the control plane is started again", "why", c.failure())
			c = again
		}
	}()
}

// Stop ends every process and removes what the sandbox wrote. It may be called
// more than once. ctx is how long pods may take to end; they are killed then.
func (s *Sandbox) Stop(ctx context.Context) error {
	var failed error
	s.stopOnce.Do(func() {
		close(s.stopping)
		if s.agent != nil {
			s.agent.Stop(ctx)
		}
		if s.stopHub != nil {
			s.stopHub()
		}
		if s.plane != nil {
			s.plane.stop()
		}
		s.watchers.Wait()
		s.starter.Close()
		if s.block != nil {
			s.block.Release()
		}
		failed = s.releaseFolder()
		s.finish(nil)
	})
	return failed
}

// temporaryFolders begin with this name; one whose lock is free was left by a
// process that was killed.
const temporaryFolders = "stevedore-sandbox-"

func (s *Sandbox) claimFolder(given string) error {
	s.dir = given
	if given == "" {
		removeAbandonedFolders()
		made, err := os.MkdirTemp("", temporaryFolders)
		if err != nil {
			return fmt.Errorf("making the sandbox's folder: %w", err)
		}
		s.dir, s.removeDir = made, true
	}
	var err error
	if s.dir, err = filepath.Abs(s.dir); err != nil {
		return fmt.Errorf("finding the sandbox's folder: %w", err)
	}
	// Others may pass, not look: CrateDB runs as another user when we are root.
	if err = os.MkdirAll(s.dir, 0o711); err == nil {
		err = os.Chmod(s.dir, 0o711)
	}
	if err != nil {
		return fmt.Errorf("making the sandbox's folder %s: %w", s.dir, err)
	}
	s.lock, err = os.OpenFile(filepath.Join(s.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("locking the sandbox's folder: %w", err)
	}
	if err := syscall.Flock(int(s.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("another sandbox uses the folder %s: stop it, or choose another folder", s.dir)
	}
	return nil
}

func removeAbandonedFolders() {
	found, _ := filepath.Glob(filepath.Join(os.TempDir(), temporaryFolders+"*"))
	for _, dir := range found {
		lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
		if err != nil {
			continue // being made right now, or another user's
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(dir)
		}
		_ = lock.Close()
	}
}

// made are the entries that a sandbox adds to its folder.
var made = []string{
	"etcd", "apiserver", "pki", "pods", "volumes", "kubeconfig", "lock",
	"etcd.log", "kube-apiserver.log", "kube-controller-manager.log", "kube-scheduler.log",
}

func (s *Sandbox) releaseFolder() error {
	if s.lock == nil {
		return nil
	}
	var failed error
	if s.removeDir {
		failed = os.RemoveAll(s.dir)
	} else {
		for _, name := range made {
			failed = errors.Join(failed, os.RemoveAll(filepath.Join(s.dir, name)))
		}
	}
	_ = s.lock.Close()
	if failed != nil {
		return fmt.Errorf("removing the sandbox's folder: %w", failed)
	}
	return nil
}

// listenForKubelet listens on every node's address, on one port: the API server
// learns a node's address and port from its Node object.
func (s *Sandbox) listenForKubelet(nodes int) ([]net.Listener, error) {
	var last error
	for range 20 {
		ports, err := freePorts(s.block.node(0), 1)
		if err != nil {
			return nil, err
		}
		var listeners []net.Listener
		for i := range nodes {
			listener, err := net.Listen("tcp", netip.AddrPortFrom(s.block.node(i), uint16(ports[0])).String())
			if err != nil {
				last = err
				break
			}
			listeners = append(listeners, listener)
		}
		if len(listeners) == nodes {
			return listeners, nil
		}
		for _, listener := range listeners {
			_ = listener.Close()
		}
	}
	return nil, fmt.Errorf("listening for the API server on the nodes' addresses: %w", last)
}

func (s *Sandbox) kubeletTLS(nodes []agent.Node) (*tls.Config, error) {
	var addresses []netip.Addr
	for _, node := range nodes {
		addresses = append(addresses, node.Address)
	}
	issued, err := s.plane.pki.Issue("kubelet", nil, addresses...)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(issued.Certificate, issued.Key)
	if err != nil {
		return nil, fmt.Errorf("loading the nodes' certificate: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(s.plane.pki.Certificate)
	return &tls.Config{
		Certificates: []tls.Certificate{pair},
		ClientCAs:    pool,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		MinVersion:   tls.VersionTLS12,
	}, nil
}
