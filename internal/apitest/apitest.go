// Package apitest runs a real API server for tests: etcd and kube-apiserver,
// no controllers, no nodes. A whole sandbox is internal/sandbox.
package apitest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/internal/sandbox/process"
)

// Server is a running API server.
type Server struct {
	dir     string
	host    string
	starter *process.Starter
	// children in the order of their start.
	children []*process.Process
}

// AdminToken authenticates the group system:masters, UserToken the user
// "limited", who has no rights of its own.
const (
	AdminToken = "admin"
	UserToken  = "limited"
	User       = "limited"
)

// Start starts an API server and returns once it is ready. ctx limits the
// start only.
func Start(ctx context.Context) (*Server, error) {
	binary, err := find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "stevedore-apitest-")
	if err != nil {
		return nil, fmt.Errorf("making the API server's folder: %w", err)
	}
	s := &Server{dir: dir, starter: process.NewStarter()}
	// Another process may take a port between our look and its use.
	for attempt := 0; ; attempt++ {
		if err = s.start(ctx, binary); err == nil {
			return s, nil
		}
		s.stopChildren()
		if attempt == 2 || ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(err, s.Stop())
}

// find looks in STEVEDORE_CONTROLPLANE, then in bin/ of this module.
func find() (string, error) {
	path := os.Getenv("STEVEDORE_CONTROLPLANE")
	if path == "" {
		dir, err := os.Getwd()
		if err != nil {
			return "", fmt.Errorf("finding the control plane binary: %w", err)
		}
		for {
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil || dir == filepath.Dir(dir) {
				break
			}
			dir = filepath.Dir(dir)
		}
		path = filepath.Join(dir, "bin", "stevedore-controlplane")
	}
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return "", fmt.Errorf("the control plane binary is not at %s: build it with `make`, or name it in STEVEDORE_CONTROLPLANE", path)
	}
	return path, nil
}

func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("looking for a free port: %w", err)
		}
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

func (s *Server) start(ctx context.Context, binary string) error {
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(s.dir, "attempt-")
	if err != nil {
		return fmt.Errorf("making the API server's folder: %w", err)
	}
	tokens := filepath.Join(dir, "tokens.csv")
	content := fmt.Sprintf("%s,admin,1,system:masters\n%s,%s,2\n", AdminToken, UserToken, User)
	if err := os.WriteFile(tokens, []byte(content), 0o600); err != nil {
		return fmt.Errorf("writing tokens: %w", err)
	}
	key := filepath.Join(dir, "key.pem")
	if err := writeKey(key); err != nil {
		return err
	}
	etcd := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	if err := s.launch(dir, binary, "etcd",
		"--data-dir="+filepath.Join(dir, "etcd"), "--client-url="+etcd,
		fmt.Sprintf("--peer-url=http://127.0.0.1:%d", ports[1])); err != nil {
		return err
	}
	if err := s.launch(dir, binary, "kube-apiserver",
		"--etcd-servers="+etcd, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", ports[2]), "--cert-dir="+filepath.Join(dir, "certificates"),
		"--token-auth-file="+tokens, "--authorization-mode=RBAC",
		"--service-account-key-file="+key, "--service-account-signing-key-file="+key,
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-cluster-ip-range=10.96.0.0/16", "--endpoint-reconciler-type=none",
		"--allow-privileged=true", "--disable-admission-plugins=ServiceAccount", "--profiling=false"); err != nil {
		return err
	}
	s.host = fmt.Sprintf("https://127.0.0.1:%d", ports[2])
	return s.waitReady(ctx)
}

func (s *Server) launch(dir, binary, name string, args ...string) error {
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return fmt.Errorf("opening the log of %s: %w", name, err)
	}
	defer log.Close() // the child has its own descriptor
	command := exec.Command(binary, append([]string{name}, args...)...)
	command.Stdout, command.Stderr, command.Dir = log, log, dir
	child, err := s.starter.Start(command, nil)
	if err != nil {
		return err
	}
	s.children = append(s.children, child)
	return nil
}

func (s *Server) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	client, err := discovery.NewDiscoveryClientForConfig(s.Config())
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	ticker := time.NewTicker(25 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
		if err == nil {
			return nil
		}
		for _, child := range s.children {
			select {
			case <-child.Done():
				return fmt.Errorf("a component of the API server ended early:\n%s", s.lastWords())
			default:
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the API server: %w (last answer: %w)", ctx.Err(), err)
		case <-ticker.C:
		}
	}
}

func (s *Server) lastWords() string {
	logs, _ := filepath.Glob(filepath.Join(s.dir, "*", "*.log"))
	var text strings.Builder
	for _, log := range logs {
		content, _ := os.ReadFile(log)
		lines := strings.Split(strings.TrimSpace(string(content)), "\n")
		fmt.Fprintf(&text, "%s: %s\n", filepath.Base(log), strings.Join(lines[max(0, len(lines)-3):], "\n"))
	}
	return text.String()
}

// Config is a client configuration of the administrator, not limited in
// requests a second.
func (s *Server) Config() *rest.Config { return s.ConfigFor(AdminToken) }

// ConfigFor is the same for another token.
func (s *Server) ConfigFor(token string) *rest.Config {
	return &rest.Config{
		Host: s.host, BearerToken: token, QPS: -1,
		// Its certificate is its own; it listens on loopback only.
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}
}

// Stop ends the server and removes what it stored.
func (s *Server) Stop() error {
	s.stopChildren()
	s.starter.Close()
	return os.RemoveAll(s.dir)
}

func (s *Server) stopChildren() {
	for i := len(s.children) - 1; i >= 0; i-- {
		// The API server would wait for its watches; no one needs its state.
		s.children[i].Stop(200 * time.Millisecond)
	}
	s.children = nil
}
