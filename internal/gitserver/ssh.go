package gitserver

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/crypto/ssh"
)

// SSHOptions say who answers and who may come in.
type SSHOptions struct {
	HostKeys   []ssh.Signer    // none: one of ed25519 is made
	Authorized []ssh.PublicKey // whose keys may read, and push
}

// SSHFault is what goes wrong with connections that come while it is set.
type SSHFault struct {
	Silent      bool  // the connection is taken and nothing is ever said
	SilentAfter int64 // nothing more is said after so many bytes to a command's standard output; zero means all is
	CutAfter    int64 // the connection breaks after so many; zero means never, below it at once
}

// SSHServer serves repositories by git's own commands.
type SSHServer struct {
	Host, Port string
	// KnownHosts is the line of a known_hosts file for each host key.
	KnownHosts []byte

	root     string
	listener net.Listener
	fault    atomic.Pointer[SSHFault]
	commands atomic.Int64
	ctx      context.Context
	stop     context.CancelFunc
	all      sync.WaitGroup

	mu     sync.Mutex
	config *ssh.ServerConfig
}

// StartSSH serves the bare repositories in root, each at ssh://git@127.0.0.1:Port/<name>.
// It needs git on the PATH.
func StartSSH(root string, opts SSHOptions) (*SSHServer, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("starting an ssh server: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting an ssh server: %w", err)
	}
	s := &SSHServer{root: root, listener: listener}
	s.Host, s.Port, _ = net.SplitHostPort(listener.Addr().String())
	s.ctx, s.stop = context.WithCancel(context.Background())
	if len(opts.HostKeys) == 0 {
		key, err := NewSSHKey()
		if err != nil {
			_ = listener.Close()
			return nil, fmt.Errorf("starting an ssh server: %w", err)
		}
		opts.HostKeys = []ssh.Signer{key}
	}
	s.SetOptions(opts)
	s.all.Go(s.accept)
	return s, nil
}

// NewSSHKey makes a key of ed25519.
func NewSSHKey() (ssh.Signer, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	return ssh.NewSignerFromKey(key)
}

// SetOptions replaces the keys for connections from now on.
func (s *SSHServer) SetOptions(opts SSHOptions) {
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		for _, may := range opts.Authorized {
			if bytes.Equal(may.Marshal(), key.Marshal()) {
				return &ssh.Permissions{}, nil
			}
		}
		return nil, errors.New("unknown key")
	}}
	var known bytes.Buffer
	for _, key := range opts.HostKeys {
		config.AddHostKey(key)
		fmt.Fprintf(&known, "[%s]:%s %s", s.Host, s.Port, ssh.MarshalAuthorizedKey(key.PublicKey()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config, s.KnownHosts = config, known.Bytes()
}

// URL of a repository.
func (s *SSHServer) URL(name string) string {
	return "ssh://git@" + net.JoinHostPort(s.Host, s.Port) + "/" + name
}

// SetFault makes the connections from now on fail; nil makes all well again.
func (s *SSHServer) SetFault(f *SSHFault) { s.fault.Store(f) }

// Commands is how many commands were run.
func (s *SSHServer) Commands() int { return int(s.commands.Load()) }

// Close ends all connections and waits for them.
func (s *SSHServer) Close() error {
	s.stop()
	err := s.listener.Close()
	s.all.Wait()
	return err
}

func (s *SSHServer) accept() {
	for {
		wire, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.all.Go(func() { s.serve(wire) })
	}
}

func (s *SSHServer) serve(wire net.Conn) {
	defer wire.Close()
	defer context.AfterFunc(s.ctx, func() { _ = wire.Close() })()
	fault := SSHFault{}
	if f := s.fault.Load(); f != nil {
		fault = *f
	}
	if fault.Silent {
		_, _ = io.Copy(io.Discard, wire) // until the client gives up
		return
	}
	s.mu.Lock()
	config := s.config
	s.mu.Unlock()
	conn, channels, requests, err := ssh.NewServerConn(wire, config)
	if err != nil {
		return
	}
	defer conn.Close()
	var all sync.WaitGroup
	defer all.Wait()
	gone := make(chan struct{})
	defer close(gone)
	all.Go(func() { ssh.DiscardRequests(requests) })
	for offered := range channels {
		if offered.ChannelType() != "session" {
			_ = offered.Reject(ssh.UnknownChannelType, "sessions only")
			continue
		}
		channel, asked, err := offered.Accept()
		if err != nil {
			return
		}
		all.Go(func() { s.session(wire, channel, asked, fault, gone) })
	}
}

func (s *SSHServer) session(wire net.Conn, channel ssh.Channel, requests <-chan *ssh.Request, fault SSHFault, gone <-chan struct{}) {
	defer channel.Close()
	for request := range requests {
		var exec struct{ Command string }
		if request.Type != "exec" || ssh.Unmarshal(request.Payload, &exec) != nil {
			_ = request.Reply(false, nil)
			continue
		}
		_ = request.Reply(true, nil)
		s.commands.Add(1)
		status := s.run(wire, channel, exec.Command, fault, gone)
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{uint32(status)}))
		return
	}
}

// run is git's own command for a repository below the root.
func (s *SSHServer) run(wire net.Conn, channel ssh.Channel, line string, fault SSHFault, gone <-chan struct{}) int {
	verb, name, _ := strings.Cut(line, " ")
	verb, isGit := strings.CutPrefix(verb, "git-")
	name = strings.Trim(strings.NewReplacer(`'\''`, "'", `'\!'`, "!").Replace(strings.Trim(name, "'")), "/")
	if !isGit || verb != "upload-pack" && verb != "receive-pack" || !filepath.IsLocal(name) {
		_, _ = fmt.Fprintln(channel.Stderr(), "access denied")
		return 128
	}
	cmd := exec.CommandContext(s.ctx, "git", verb, filepath.Join(s.root, name))
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
	out := &faultyOutput{channel: channel, wire: wire, fault: fault, gone: gone}
	cmd.Stdout, cmd.Stderr = out, channel.Stderr()
	in, err := cmd.StdinPipe()
	if err != nil {
		return 128
	}
	if err := cmd.Start(); err != nil {
		return 128
	}
	// The copy ends with the channel, which this session closes.
	s.all.Go(func() {
		_, _ = io.Copy(in, channel)
		_ = in.Close()
	})
	if err := cmd.Wait(); err != nil {
		return 128
	}
	return 0
}

// faultyOutput counts what a command says.
type faultyOutput struct {
	channel ssh.Channel
	wire    net.Conn
	fault   SSHFault
	said    int64
	gone    <-chan struct{} // closed when the client has hung up
}

func (f *faultyOutput) Write(p []byte) (int, error) {
	for _, at := range []int64{f.fault.SilentAfter, f.fault.CutAfter} {
		if at == 0 || f.said+int64(len(p)) <= at {
			continue
		}
		_, _ = f.channel.Write(p[:max(at-f.said, 0)])
		f.said = at
		if at == f.fault.CutAfter {
			_ = f.wire.Close()
			return 0, io.ErrClosedPipe
		}
		<-f.gone
		return 0, io.ErrClosedPipe
	}
	n, err := f.channel.Write(p)
	f.said += int64(n)
	return n, err
}
