package git

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"golang.org/x/crypto/ssh"

	"stevedore.dev/stevedore/sources"
)

// secureShell is what an ssh URL means. go-git's own ssh transport is not used:
// its handshake has no deadline, it reads the ssh_config of whoever runs the
// process, and it asks an agent where no key is given.
type secureShell struct {
	user, host, port string
	path             string // as git-upload-pack is to get it
}

// handshakeTimeout ends what comes before a host has shown that it is one: a
// port that accepts and then is silent is a common way of being broken.
var handshakeTimeout = 15 * time.Second

// connectSSH ends with ctx, whatever the host does; look bounds what comes
// before the references.
func (s *Source) connectSSH(ctx, look context.Context, login Login) (*connection, error) {
	remote := s.remote.ssh
	signer, err := login.signer(s.remote.identity)
	if err != nil {
		return nil, err
	}
	known, err := s.knownHosts(login)
	if err != nil {
		return nil, err
	}
	var refused error
	check, algorithms := known.hostKey(remote.host, remote.port)
	config := &ssh.ClientConfig{
		User: remote.user, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback: func(name string, addr net.Addr, key ssh.PublicKey) error {
			refused = check(name, addr, key)
			return refused
		},
		HostKeyAlgorithms: algorithms, // none: all
		ClientVersion:     "SSH-2.0-stevedore",
	}
	begin, cancel := context.WithTimeout(look, handshakeTimeout)
	defer cancel()
	address := net.JoinHostPort(remote.host, remote.port)
	wire, err := (&net.Dialer{}).DialContext(begin, "tcp", address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(begin, func() { _ = wire.Close() })
	conn, channels, requests, err := ssh.NewClientConn(wire, address, config)
	if !stop() && err == nil {
		err = begin.Err()
		_ = conn.Close()
	}
	if err != nil {
		_ = wire.Close()
		switch {
		case refused != nil:
			return nil, refused
		case begin.Err() != nil:
			return nil, context.DeadlineExceeded
		}
		return nil, s.handshakeError(err, signer, known.of(remote.host, remote.port))
	}
	client := ssh.NewClient(conn, channels, requests)
	session := &sshSession{ctx: ctx, client: client, command: "git-upload-pack " + quoted(remote.path), most: s.opts.MaxBytes}
	session.stop = context.AfterFunc(ctx, func() { _ = client.Close() })
	return &connection{UploadPackSession: session, stream: &session.stream, end: session.end}, nil
}

// handshakeError says what a host and we could not agree on.
func (s *Source) handshakeError(err error, signer ssh.Signer, known knownHosts) error {
	doing := "connecting to " + s.remote.identity
	if negotiation, ok := errors.AsType[*ssh.AlgorithmNegotiationError](err); ok {
		if strings.Contains(negotiation.What, "host key") && len(known) > 0 {
			return &sources.Error{Reason: sources.HostKeyChanged, Doing: doing,
				Err:    errors.New("the host has no key of a kind that known_hosts has for it (" + known.fingerprints() + ")"),
				Advice: "do not go on before its owner has confirmed another key; then add its line to known_hosts"}
		}
		return &sources.Error{Reason: sources.NotSupported, Doing: doing,
			Err:    fmt.Errorf("the host knows no current algorithm for %s", clean(negotiation.What, Login{})),
			Advice: "renew the host's ssh server"}
	}
	if strings.Contains(err.Error(), "unable to authenticate") {
		return &sources.Error{Reason: sources.AuthenticationRefused, Doing: doing,
			Err:    fmt.Errorf("the host refused the key %s %s for the user %s", signer.PublicKey().Type(), ssh.FingerprintSHA256(signer.PublicKey()), s.remote.ssh.user),
			Advice: "add its public half to the repository, as a deploy key that may read"}
	}
	return err
}

func (s *Source) knownHosts(login Login) (knownHosts, error) {
	var all knownHosts
	given := false
	add := func(text []byte, where string) error {
		if len(text) == 0 {
			return nil
		}
		given = true
		lines, err := parseKnownHosts(text, where)
		all = append(all, lines...)
		return err
	}
	if s.opts.KnownHostsFile != "" {
		text, err := readSmall(s.opts.KnownHostsFile)
		if err != nil {
			return nil, &sources.Error{Reason: sources.CredentialsUnreadable, Doing: "reading the known hosts of " + s.opts.KnownHostsFile,
				Err: err, Advice: "check --known-hosts"}
		}
		given = true
		if err := add([]byte(text), s.opts.KnownHostsFile); err != nil {
			return nil, err
		}
	}
	if err := add(s.opts.KnownHosts, "the options"); err != nil {
		return nil, err
	}
	if err := add(login.KnownHosts, "the credentials"); err != nil {
		return nil, err
	}
	if !given {
		return nil, &sources.Error{Reason: sources.HostKeyUnknown, Doing: "connecting to " + s.remote.identity,
			Err:    errors.New("it is not said which key the host must show"),
			Advice: "give a known_hosts file with --known-hosts, or the key known_hosts in the Secret of --git-credentials-secret"}
	}
	return all, nil
}

// signer reads the private key; its passphrase is never quoted.
func (l Login) signer(identity string) (ssh.Signer, error) {
	refuse := func(what, advice string) error {
		return &sources.Error{Reason: sources.CredentialsUnreadable, Doing: "reading the ssh key for " + identity, Err: errors.New(what), Advice: advice}
	}
	if len(l.PrivateKey) == 0 {
		return nil, refuse("there is none", "give a private key with --git-credentials-file, or the key identity in the Secret of --git-credentials-secret")
	}
	signer, err := ssh.ParsePrivateKey(l.PrivateKey)
	if _, wants := errors.AsType[*ssh.PassphraseMissingError](err); wants {
		if l.Passphrase == "" {
			return nil, refuse("it has a passphrase", "give it as the key password of the Secret, or as the file password beside the file identity")
		}
		signer, err = ssh.ParsePrivateKeyWithPassphrase(l.PrivateKey, []byte(l.Passphrase))
		if errors.Is(err, x509.IncorrectPasswordError) {
			return nil, refuse("its passphrase is wrong", "correct the key password of the Secret")
		}
	}
	if err != nil {
		return nil, refuse("it is no private key that ssh can use", "give what ssh-keygen wrote, the file without .pub")
	}
	return signer, nil
}

// sshSession speaks Git's protocol over commands of one connection: each upload
// takes one, since the host ends it with the pack.
type sshSession struct {
	ctx     context.Context
	client  *ssh.Client
	command string
	most    int64
	stream  stream
	stop    func() bool

	run        *sshCommand   // the one that waits for a request; nil when none does
	runs       []*sshCommand // all
	advertised *packp.AdvRefs
}

type sshCommand struct {
	session *ssh.Session
	in      io.WriteCloser
	out     *limited
	said    said // the host's standard error
	waited  sync.Once
	result  error
}

func (s *sshSession) open() (*sshCommand, error) {
	session, err := s.client.NewSession()
	if err != nil {
		return nil, err
	}
	c := &sshCommand{session: session}
	session.Stderr = &c.said
	if c.in, err = session.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := session.StdoutPipe()
	if err != nil {
		return nil, err
	}
	// A connection that breaks looks like an end; only the exit status tells.
	whole := readerFunc(func(p []byte) (int, error) {
		n, err := out.Read(p)
		if err == io.EOF {
			if _, missing := errors.AsType[*ssh.ExitMissingError](c.wait()); missing {
				err = io.ErrUnexpectedEOF
			}
		}
		return n, err
	})
	c.out = &limited{r: whole, left: maxAdvertised, broke: s.stream.broke}
	if err := session.Start(s.command); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *sshCommand) wait() error {
	c.waited.Do(func() { c.result = c.session.Wait() })
	return c.result
}

// AdvertisedReferences is AdvertisedReferencesContext without a deadline.
func (s *sshSession) AdvertisedReferences() (*packp.AdvRefs, error) {
	return s.AdvertisedReferencesContext(s.ctx)
}

// AdvertisedReferencesContext ends the whole connection when ctx ends.
func (s *sshSession) AdvertisedReferencesContext(ctx context.Context) (*packp.AdvRefs, error) {
	if s.advertised != nil {
		return s.advertised, nil
	}
	stop := context.AfterFunc(ctx, func() { _ = s.client.Close() })
	defer stop()
	refs, err := s.begin()
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	s.advertised = refs
	return refs, nil
}

func (s *sshSession) begin() (*packp.AdvRefs, error) {
	run, err := s.open()
	if err != nil {
		s.stream.broke(err)
		return nil, err
	}
	s.run, s.runs = run, append(s.runs, run)
	refs := packp.NewAdvRefs()
	err = refs.Decode(run.out)
	switch {
	case errors.Is(err, packp.ErrEmptyInput):
		if broken := s.stream.broken(); broken != nil {
			return nil, broken
		}
		_ = run.wait()
		return nil, run.said.refusal()
	case errors.Is(err, packp.ErrEmptyAdvRefs), err == nil && refs.IsEmpty():
		return nil, transport.ErrEmptyRemoteRepository
	case err != nil:
		if line, ok := errors.AsType[*pktline.ErrorLine](err); ok {
			return nil, refusal(line.Text)
		}
		return nil, err
	}
	transport.FilterUnsupportedCapabilities(refs.Capabilities)
	return refs, nil
}

// UploadPack asks for a pack; what it gives ends with the context of the look.
func (s *sshSession) UploadPack(_ context.Context, req *packp.UploadPackRequest) (*packp.UploadPackResponse, error) {
	if req.IsEmpty() {
		return nil, transport.ErrEmptyUploadPackRequest
	}
	if s.run == nil {
		if _, err := s.begin(); err != nil {
			return nil, err
		}
	}
	run := s.run
	s.run = nil
	run.out.left = s.most + s.most/64 + 1<<20
	err := req.UploadRequest.Encode(run.in)
	if err == nil {
		err = req.UploadHaves.Encode(run.in, true)
	}
	if err == nil {
		err = pktline.NewEncoder(run.in).Encodef("done\n")
	}
	if err == nil {
		err = run.in.Close()
	}
	if err != nil {
		s.stream.broke(err)
		return nil, err
	}
	res := packp.NewUploadPackResponse(req)
	if err := res.Decode(readCloser{run.out, run.session}); err != nil {
		if text := run.said.String(); text != "" && s.stream.broken() == nil {
			err = refusal(text)
		}
		return nil, err
	}
	return res, nil
}

// Close says goodbye, so that the host's log has no error in it.
func (s *sshSession) Close() error {
	if s.run != nil {
		_ = pktline.NewEncoder(s.run.in).Flush()
		_ = s.run.in.Close()
	}
	err := s.client.Close()
	_ = s.client.Wait()
	for _, run := range s.runs {
		_ = run.wait()
	}
	return err
}

func (s *sshSession) end() {
	_ = s.Close()
	s.stop()
}

// The words of git itself and of the large hosts.
var (
	saysNotFound = regexp.MustCompile(`(?i)not found|does not appear to be a git repository|does not exist|could not be found|no such`)
	saysDenied   = regexp.MustCompile(`(?i)denied|not authorized|unauthorized|not allowed|forbidden`)
)

// refusal tells a repository that is not there from one that may not be read.
func refusal(text string) error {
	switch {
	case saysNotFound.MatchString(text):
		return transport.ErrRepositoryNotFound
	case saysDenied.MatchString(text):
		return errKeyMayNot
	}
	return errors.New("the host said: " + clean(text, Login{}))
}

var errKeyMayNot = errors.New("the key may not read this repository")

// said keeps the beginning of what a host writes to standard error.
type said struct {
	mu   sync.Mutex
	text []byte
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, p[:min(len(p), 4<<10-len(s.text))]...)
	return len(p), nil
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimSpace(string(s.text))
}

func (s *said) refusal() error {
	if text := s.String(); text != "" {
		return refusal(text)
	}
	return errors.New("the host ended the command without a word")
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// quoted is a path as one word of a POSIX shell: what is on the other side may
// be one.
func quoted(path string) string {
	return "'" + strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(path) + "'"
}
