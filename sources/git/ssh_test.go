package git_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"stevedore.dev/stevedore/internal/gitserver"
	"stevedore.dev/stevedore/internal/loopback"
	"stevedore.dev/stevedore/sources"
	"stevedore.dev/stevedore/sources/git"
)

// keyPair makes a private key as ssh-keygen writes it, and its public half.
func keyPair(t testing.TB, passphrase string) ([]byte, ssh.PublicKey) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	var block *pem.Block
	if passphrase == "" {
		block, err = ssh.MarshalPrivateKey(private, "")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase))
	}
	require.NoError(t, err)
	signer, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	return pem.EncodeToMemory(block), signer.PublicKey()
}

func hostKey(t testing.TB) ssh.Signer {
	t.Helper()
	key, err := gitserver.NewSSHKey()
	require.NoError(t, err)
	return key
}

func withKey(key []byte, passphrase string, known []byte) git.Credentials {
	return git.CredentialsFunc(func(context.Context) (git.Login, error) {
		return git.Login{PrivateKey: key, Passphrase: passphrase, KnownHosts: known}, nil
	})
}

func (u *upstream) serveSSH(opts gitserver.SSHOptions) *gitserver.SSHServer {
	u.t.Helper()
	s, err := gitserver.StartSSH(u.root, opts)
	require.NoError(u.t, err)
	u.t.Cleanup(func() { require.NoError(u.t, s.Close()) })
	return s
}

func TestARepositoryIsFollowedOverSSHByAKeyInEachPlaceWhereItMayStand(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	first := u.change("f", "one")
	plain, public := keyPair(t, "")
	locked, lockedPublic := keyPair(t, "open sesame")
	s := u.serveSSH(gitserver.SSHOptions{Authorized: []ssh.PublicKey{public, lockedPublic}})
	put := func(files map[string][]byte) string {
		dir := t.TempDir()
		for name, content := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
		}
		return dir
	}
	secret := func(data map[string][]byte) git.Credentials {
		return git.CredentialsFunc(func(context.Context) (git.Login, error) { return git.LoginFromSecret(data) })
	}
	flux := map[string][]byte{"identity": plain, "identity.pub": ssh.MarshalAuthorizedKey(public), "known_hosts": s.KnownHosts}
	files := put(map[string][]byte{"key": plain, "known": s.KnownHosts})
	for name, opts := range map[string]git.Options{
		"a key in a file and known_hosts in another": {Credentials: git.CredentialsFromFile(filepath.Join(files, "key")), KnownHostsFile: filepath.Join(files, "known")},
		"a Secret as Flux lays it out":               {Credentials: secret(flux)},
		"the same, mounted":                          {Credentials: git.CredentialsFromFile(put(flux))},
		"with a passphrase": {Credentials: secret(map[string][]byte{
			"identity": locked, "password": []byte("open sesame\n"), "known_hosts": s.KnownHosts})},
		"the type kubernetes.io/ssh-auth": {Credentials: secret(map[string][]byte{"ssh-privatekey": plain}), KnownHosts: s.KnownHosts},
	} {
		t.Run(name, func(t *testing.T) {
			opts.URL = s.URL("fleet.git")
			got := fetch(t, open(t, opts))
			assert.Equal(t, "main@sha1:"+first, got.Revision)
			assert.Equal(t, s.URL("fleet.git"), got.Source)
			assert.Equal(t, "one", read(t, got, "f"))
		})
	}
}

func TestEachCommitComesOverSSHAndALookAtNothingNewAsksForNoPack(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.change("f", "one")
	key, public := keyPair(t, "")
	s := u.serveSSH(gitserver.SSHOptions{Authorized: []ssh.PublicKey{public}})
	opts := git.Options{URL: s.URL("fleet.git"), Mirror: t.TempDir(), Credentials: withKey(key, "", s.KnownHosts)}
	src := open(t, opts)
	before := fetch(t, src)
	assert.Equal(t, before, fetch(t, src))
	second := u.change("f", "two")
	assert.Equal(t, "main@sha1:"+second, fetch(t, src).Revision)
	assert.Equal(t, 3, s.Commands(), "one command a look")

	u.git("checkout", "-q", "-b", "side")
	u.write("f", "three")
	hidden := u.commit("three")
	u.push("HEAD:refs/pull/7/head")
	u.in(u.bare(), "config", "uploadpack.allowAnySHA1InWant", "true")
	opts.Ref, opts.Mirror = hidden, t.TempDir()
	assert.Equal(t, "three", read(t, fetch(t, open(t, opts)), "f"), "a commit that no branch has takes a second command")
}

func hashed(name string) string {
	salt := make([]byte, sha1.Size)
	_, _ = rand.Read(salt)
	sum := hmac.New(sha1.New, salt)
	sum.Write([]byte(name))
	return "|1|" + base64.StdEncoding.EncodeToString(salt) + "|" + base64.StdEncoding.EncodeToString(sum.Sum(nil))
}

func TestAHostIsBelievedOnlyByAKeyThatKnownHostsHasForIt(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.change("f", "one")
	key, public := keyPair(t, "")
	ed := hostKey(t)
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	ec, err := ssh.NewSignerFromKey(ecKey)
	require.NoError(t, err)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	rs, err := ssh.NewSignerFromKey(rsaKey)
	require.NoError(t, err)
	other, authority := hostKey(t), hostKey(t)
	certificate := &ssh.Certificate{Key: ed.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{"127.0.0.1"}, ValidBefore: ssh.CertTimeInfinity}
	require.NoError(t, certificate.SignCert(rand.Reader, authority))
	certified, err := ssh.NewCertSigner(certificate, ed)
	require.NoError(t, err)

	s := u.serveSSH(gitserver.SSHOptions{Authorized: []ssh.PublicKey{public}})
	place := "[127.0.0.1]:" + s.Port
	line := func(where string, key ssh.Signer) string {
		return where + " " + string(ssh.MarshalAuthorizedKey(key.PublicKey()))
	}
	for _, c := range []struct {
		name   string
		host   []ssh.Signer
		known  string
		reason sources.Reason // empty: the look is good
		says   []string
	}{
		{name: "by its host and port", host: []ssh.Signer{ed}, known: line(place, ed)},
		{name: "by its host alone", host: []ssh.Signer{ed}, known: line("127.0.0.1", ed)},
		{name: "among other hosts, comments and empty lines", host: []ssh.Signer{ed},
			known: "# hosts\n\n" + line("example.org,"+place, ed) + line("github.com", other)},
		{name: "hashed", host: []ssh.Signer{ed}, known: line(hashed("example.org"), other) + line(hashed(place), ed)},
		{name: "by a pattern", host: []ssh.Signer{ed}, known: line("127.0.0.*", ed)},
		{name: "RSA, without SHA-1", host: []ssh.Signer{rs}, known: line(place, rs)},
		{name: "one of its several keys is enough", host: []ssh.Signer{ed, ec, rs}, known: line(place, ec)},
		{name: "the old and the new key of one kind", host: []ssh.Signer{ed}, known: line(place, other) + line(place, ed)},
		{name: "by an authority", host: []ssh.Signer{certified}, known: "@cert-authority " + line("127.0.0.1", authority)},

		{name: "unknown", host: []ssh.Signer{ed}, known: line("example.org", ed), reason: sources.HostKeyUnknown,
			says: []string{ssh.FingerprintSHA256(ed.PublicKey()), "ssh-keyscan -p " + s.Port, "compare"}},
		{name: "known at another port only", host: []ssh.Signer{ed}, known: line("[127.0.0.1]:1", ed), reason: sources.HostKeyUnknown},
		{name: "left out by a pattern", host: []ssh.Signer{ed}, known: line("127.0.0.*,!127.0.0.1", ed), reason: sources.HostKeyUnknown},
		{name: "an empty file", host: []ssh.Signer{ed}, known: "# none\n", reason: sources.HostKeyUnknown},
		{name: "changed", host: []ssh.Signer{other}, known: line(place, ed), reason: sources.HostKeyChanged,
			says: []string{ssh.FingerprintSHA256(other.PublicKey()), ssh.FingerprintSHA256(ed.PublicKey()), "do not go on"}},
		{name: "changed, though a plain entry would do", host: []ssh.Signer{other}, known: line(place, ed) + line("127.0.0.1", other), reason: sources.HostKeyChanged},
		{name: "changed to another kind", host: []ssh.Signer{ec}, known: line(place, ed), reason: sources.HostKeyChanged, says: []string{"known_hosts"}},
		{name: "revoked", host: []ssh.Signer{ed}, known: line(place, ed) + "@revoked " + line(place, ed), reason: sources.HostKeyChanged, says: []string{"revoked"}},
		{name: "by another authority", host: []ssh.Signer{certified}, known: "@cert-authority " + line("127.0.0.1", other), reason: sources.HostKeyChanged},
		{name: "a line that is none", host: []ssh.Signer{ed}, known: line(place, ed) + "127.0.0.1 hunter2\n", reason: sources.CredentialsUnreadable,
			says: []string{"line 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.SetOptions(gitserver.SSHOptions{HostKeys: c.host, Authorized: []ssh.PublicKey{public}})
			src := open(t, git.Options{URL: s.URL("fleet.git"), Credentials: withKey(key, "", nil), KnownHosts: []byte(c.known)})
			if c.reason == "" {
				assert.Equal(t, "one", read(t, fetch(t, src), "f"))
				return
			}
			before := s.Commands()
			err := fetchError(t, src)
			assert.Equal(t, c.reason, sources.ReasonOf(err), err.Error())
			for _, says := range c.says {
				assert.ErrorContains(t, err, says)
			}
			assert.NotContains(t, err.Error(), "hunter2")
			assert.Equal(t, before, s.Commands(), "nothing was asked of a host that is not believed")
		})
	}
}

func TestAFailedLookOverSSHSaysWhatToDoAndTheNextGoodOneWorks(t *testing.T) {
	t.Parallel()
	const passphrase = "s3cret-passphrase-of-the-fleet"
	u := newUpstream(t)
	noise := make([]byte, 256<<10)
	_, _ = rand.Read(noise)
	u.write("noise", string(noise))
	want := u.change("f", "one")
	u.in(u.root, "init", "-q", "--bare", "-b", "main", "empty.git")
	key, public := keyPair(t, "")
	locked, lockedPublic := keyPair(t, passphrase)
	stranger, _ := keyPair(t, "")
	s := u.serveSSH(gitserver.SSHOptions{Authorized: []ssh.PublicKey{public, lockedPublic}})
	own, err := loopback.Subnet() // no other process listens on its addresses
	require.NoError(t, err)
	nobody := own + "1:1"

	good := git.Options{URL: s.URL("fleet.git"), Credentials: withKey(key, "", s.KnownHosts)}
	for _, c := range []struct {
		name   string
		change func(*git.Options)
		fault  *gitserver.SSHFault
		reason sources.Reason
		says   string
	}{
		{name: "no credentials", change: func(o *git.Options) { o.Credentials, o.KnownHosts = nil, s.KnownHosts },
			reason: sources.CredentialsUnreadable, says: "--git-credentials-secret"},
		{name: "a token", change: func(o *git.Options) { o.Credentials = login("", passphrase) }, reason: sources.CredentialsUnreadable, says: "identity"},
		{name: "no known_hosts", change: func(o *git.Options) { o.Credentials = withKey(key, "", nil) },
			reason: sources.HostKeyUnknown, says: "--known-hosts"},
		{name: "a known_hosts file that is missing", change: func(o *git.Options) { o.KnownHostsFile = "/nowhere/known_hosts" },
			reason: sources.CredentialsUnreadable, says: "/nowhere/known_hosts"},
		{name: "no passphrase", change: func(o *git.Options) { o.Credentials = withKey(locked, "", s.KnownHosts) },
			reason: sources.CredentialsUnreadable, says: "password"},
		{name: "a wrong passphrase", change: func(o *git.Options) { o.Credentials = withKey(locked, passphrase+"-old", s.KnownHosts) },
			reason: sources.CredentialsUnreadable, says: "passphrase is wrong"},
		{name: "the public half", change: func(o *git.Options) { o.Credentials = withKey(ssh.MarshalAuthorizedKey(public), "", s.KnownHosts) },
			reason: sources.CredentialsUnreadable, says: "without .pub"},
		{name: "a key that the host does not know", change: func(o *git.Options) { o.Credentials = withKey(stranger, "", s.KnownHosts) },
			reason: sources.AuthenticationRefused, says: "deploy key"},
		{name: "another repository", change: func(o *git.Options) { o.URL = s.URL("other.git") },
			reason: sources.RepositoryNotFound, says: "check the URL"},
		{name: "a path that the host refuses", change: func(o *git.Options) { o.URL = s.URL("../fleet.git") },
			reason: sources.AuthenticationRefused, says: "deploy key"},
		{name: "an empty repository", change: func(o *git.Options) { o.URL = s.URL("empty.git") },
			reason: sources.ReferenceNotFound, says: "push a commit"},
		{name: "nobody listens", change: func(o *git.Options) { o.URL = "ssh://git@" + nobody + "/fleet.git" },
			reason: sources.HostUnreachable, says: "connection refused"},
		{name: "a host that is silent before its banner", change: func(o *git.Options) { o.LookTimeout = 200 * time.Millisecond },
			fault: &gitserver.SSHFault{Silent: true}, reason: sources.TimedOut, says: "before the deadline"},
		{name: "a host that is silent in its references", change: func(o *git.Options) { o.LookTimeout = 700 * time.Millisecond },
			fault: &gitserver.SSHFault{SilentAfter: 10}, reason: sources.TimedOut, says: "before the deadline"},
		{name: "a host that is silent in the pack", change: func(o *git.Options) { o.Timeout = 1500 * time.Millisecond },
			fault: &gitserver.SSHFault{SilentAfter: 100 << 10}, reason: sources.TimedOut, says: "before the deadline"},
		{name: "a connection cut before the references", fault: &gitserver.SSHFault{CutAfter: -1}, reason: sources.HostUnreachable, says: "broke before the end"},
		{name: "a connection cut in the references", fault: &gitserver.SSHFault{CutAfter: 10}, reason: sources.HostUnreachable, says: "broke before the end"},
		{name: "a connection cut in the pack", fault: &gitserver.SSHFault{CutAfter: 100 << 10}, reason: sources.HostUnreachable, says: "broke before the end"},
		{name: "more than the limit", change: func(o *git.Options) { o.MaxBytes = 100 << 10 }, reason: sources.TooLarge, says: "larger than the limit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			opts := good
			opts.Mirror = t.TempDir()
			if c.change != nil {
				c.change(&opts)
			}
			src := open(t, opts)
			s.SetFault(c.fault)
			err := fetchError(t, src)
			s.SetFault(nil)
			assert.Equal(t, c.reason, sources.ReasonOf(err), err.Error())
			assert.ErrorContains(t, err, c.says)
			assert.NotContains(t, fmt.Sprintf("%v %+v", err, err), passphrase)
			// A look that has not ended a second after its deadline is left behind, and goes on.
			require.Eventually(t, func() bool {
				left, err := filepath.Glob(filepath.Join(opts.Mirror, "*", "generation-*"))
				return err == nil && len(left) == 0
			}, patience, 5*time.Millisecond, "a failed clone leaves nothing")
			if c.fault != nil {
				if opts.LookTimeout != 0 || opts.Timeout != 0 {
					// The deadline of the test is too short for a slow machine's good look.
					src = open(t, good)
				}
				assert.Equal(t, "main@sha1:"+want, fetch(t, src).Revision, "the next look is good")
			}
		})
	}
}

func TestAKeyIsNeverPrinted(t *testing.T) {
	key, _ := keyPair(t, "")
	body := string(bytes.Split(key, []byte("\n"))[1])
	l := git.Login{PrivateKey: key, Passphrase: "hunter2", Key: key}
	for _, text := range []string{fmt.Sprint(l), fmt.Sprintf("%v %+v %#v %s", l, l, l, l)} {
		assert.NotContains(t, text, body)
		assert.NotContains(t, text, "hunter2")
	}
	_, err := git.LoginFromSecret(map[string][]byte{"identity": key, "token": []byte("hunter2")})
	require.ErrorContains(t, err, "leave one")
	assert.NotContains(t, err.Error(), "hunter2")
	assert.False(t, strings.Contains(err.Error(), body))
}
