package git_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/gitserver"
	"stevedore.dev/stevedore/sources"
	"stevedore.dev/stevedore/sources/git"
)

func TestAServerThatWantsACertificateIsShownTheOneOfTheCredentials(t *testing.T) {
	t.Parallel()
	const token = "s3cret-token-of-the-fleet"
	u := newUpstream(t)
	u.change("f", "one")
	authority, err := gitserver.NewAuthority()
	require.NoError(t, err)
	stranger, err := gitserver.NewAuthority()
	require.NoError(t, err)
	certificate, key, err := authority.Client()
	require.NoError(t, err)
	another, anotherKey, err := stranger.Client()
	require.NoError(t, err)
	s := u.serve(gitserver.Options{Token: token, Clients: authority})

	good := map[string][]byte{"token": []byte(token), "tls.crt": certificate, "tls.key": key, "ca.crt": s.CA}
	with := func(change map[string][]byte) map[string][]byte {
		data := map[string][]byte{}
		for name, content := range good {
			data[name] = content
		}
		for name, content := range change {
			if data[name] = content; content == nil {
				delete(data, name)
			}
		}
		return data
	}
	for _, c := range []struct {
		name   string
		data   map[string][]byte
		reason sources.Reason // empty: the look is good
		says   string
	}{
		{name: "with the certificate and the authority", data: good},
		{name: "without a certificate", data: with(map[string][]byte{"tls.crt": nil, "tls.key": nil}), reason: sources.AuthenticationRefused, says: "tls.crt"},
		{name: "with one of another authority", data: with(map[string][]byte{"tls.crt": another, "tls.key": anotherKey}), reason: sources.AuthenticationRefused, says: "tls.crt"},
		{name: "with a wrong token besides", data: with(map[string][]byte{"token": []byte("wrong")}), reason: sources.AuthenticationRefused, says: "token"},
		{name: "without the server's authority", data: with(map[string][]byte{"ca.crt": nil}), reason: sources.CertificateUnknown, says: "--git-ca-file"},
		{name: "with another server's authority", data: with(map[string][]byte{"ca.crt": stranger.PEM}), reason: sources.CertificateUnknown, says: "--git-ca-file"},
		{name: "with an authority that is none", data: with(map[string][]byte{"ca.crt": []byte("hunter2")}), reason: sources.CertificateUnknown, says: "ca.crt"},
		{name: "with the key of another certificate", data: with(map[string][]byte{"tls.key": anotherKey}), reason: sources.CredentialsUnreadable, says: "tls.key"},
		{name: "with a key that is none", data: with(map[string][]byte{"tls.key": []byte("hunter2")}), reason: sources.CredentialsUnreadable, says: "tls.key"},
		{name: "without the key", data: with(map[string][]byte{"tls.key": nil}), reason: sources.CredentialsUnreadable, says: "one is missing"},
		{name: "with an ssh key", data: map[string][]byte{"identity": key}, reason: sources.CredentialsUnreadable, says: "ssh://"},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			for name, content := range c.data {
				require.NoError(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
			}
			for how, credentials := range map[string]git.Credentials{
				"a Secret": git.CredentialsFunc(func(context.Context) (git.Login, error) { return git.LoginFromSecret(c.data) }),
				"mounted":  git.CredentialsFromFile(folder),
			} {
				src := open(t, git.Options{URL: s.URL + "/fleet.git", Credentials: credentials})
				if c.reason == "" {
					assert.Equal(t, "one", read(t, fetch(t, src), "f"), how)
					continue
				}
				err := fetchError(t, src)
				assert.Equal(t, c.reason, sources.ReasonOf(err), "%s: %v", how, err)
				assert.ErrorContains(t, err, c.says)
				assert.NotContains(t, err.Error(), "hunter2")
				assert.NotContains(t, err.Error(), token)
			}
		})
	}
}
