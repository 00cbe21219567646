package git_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/sources"
	"stevedore.dev/stevedore/sources/git"
)

func TestAURLIsRefusedWithoutPrintingWhatItMayHide(t *testing.T) {
	for _, c := range []struct{ name, url, says string }{
		{"nothing", "", "the URL is empty"},
		{"a password in ssh", "ssh://git:hunter2@example.org/fleet.git", "--git-credentials-secret"},
		{"a password in ssh in short", "git:hunter2@example.org:fleet.git", "no scheme"},
		{"ssh without a path", "ssh://git@example.org", "no path"},
		{"ssh without a host", "ssh:///fleet.git", "user, host or path"},
		{"an option for a host", "ssh://-oProxyCommand=hunter2/x", "user, host or path"},
		{"an option for a host in short", "-oProxyCommand=hunter2:x", "no scheme"},
		{"a query in ssh", "ssh://git@example.org/fleet.git?hunter2", "query"},
		{"the git protocol", "git://example.org/fleet.git", "git:// is not supported"},
		{"plain http", "http://example.org/fleet.git", "loopback"},
		{"plain http to a name like loopback", "http://localhost.example.org/fleet.git", "loopback"},
		{"another scheme", "ftp://example.org/hunter2", "scheme"},
		{"a path", "/srv/fleet.git", "file://"},
		{"a relative file", "file://fleet.git/x", "three slashes"},
		{"no host", "https:///fleet.git", "no host"},
		{"user and password", "https://me:hunter2@example.org/fleet.git", "--git-credentials-file"},
		{"a token as the user", "https://hunter2@example.org/fleet.git", "--git-credentials-secret"},
		{"a password that breaks the URL", "https://me:hunter2%zz@example.org/fleet.git", "credentials"},
		{"a password with a slash", "https://me:hunter2/x@example.org/fleet.git", ""},
		{"a token in a query", "https://example.org/fleet.git?token=hunter2", "query"},
		{"a fragment", "https://example.org/fleet.git#hunter2", "fragment"},
		{"a stray percent sign", "https://example.org/hunter2%zz", "cannot be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := git.New(git.Options{URL: c.url})
			require.ErrorContains(t, err, c.says)
			assert.Equal(t, sources.NotSupported, sources.ReasonOf(err))
			assert.NotContains(t, err.Error(), "hunter2")
		})
	}
	for _, ref := range []string{"-x", "a..b", "main~1", "v1.*", "main:f", "a b", "main@{1}", "/main", "x.lock", "semver:", "semver:latest"} {
		_, err := git.New(git.Options{URL: "https://example.org/f.git", Ref: ref})
		assert.Equal(t, sources.ReferenceNotFound, sources.ReasonOf(err), ref)
	}
	_, err := git.New(git.Options{URL: "https://example.org/f.git", OnRewrite: "maybe"})
	assert.Equal(t, sources.NotSupported, sources.ReasonOf(err))
	_, err = git.New(git.Options{URL: "https://example.org/f.git", Path: "../x"})
	assert.Equal(t, sources.PathNotFound, sources.ReasonOf(err))
}

func TestTheIdentityIsTheURLAndThePathWhateverTheReference(t *testing.T) {
	for _, c := range []struct{ url, path, ref, want string }{
		{"https://Example.org/fleet.git", "", "", "https://example.org/fleet.git"},
		{"HTTPS://example.org/fleet.git/", "./clusters//prod/", "v1", "https://example.org/fleet.git//clusters/prod"},
		{"http://127.0.0.1:8080/fleet", "", "", "http://127.0.0.1:8080/fleet"},
		{"http://[::1]/fleet", "", "", "http://[::1]/fleet"},
		{"file:///srv/../srv/fleet.git", "a", "", "file:///srv/fleet.git//a"},
		{"ssh://Example.org:22/fleet.git/", "a", "", "ssh://git@example.org/fleet.git//a"},
		{"ssh://me@[::1]:2222/~me/fleet.git", "", "", "ssh://me@[::1]:2222/~me/fleet.git"},
		{"git@Example.org:team/fleet.git", "a", "v1", "git@example.org:team/fleet.git//a"},
	} {
		s, err := git.New(git.Options{URL: c.url, Path: c.path, Ref: c.ref})
		require.NoError(t, err)
		assert.Equal(t, c.want, s.Identity())
		require.NoError(t, s.Close())
	}
}

func TestCredentialsAreReadEachTimeInTheFormsThatPeopleHave(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  git.Login
		says  string
	}{
		{"a token in a file", map[string]string{"": "abc\n"}, git.Login{Password: "abc"}, ""},
		{"user and password in a file", map[string]string{"": "me:pa:ss\n"}, git.Login{Username: "me", Password: "pa:ss"}, ""},
		{"a folder with a token", map[string]string{"token": "abc\n"}, git.Login{Password: "abc"}, ""},
		{"a folder with a token and a user", map[string]string{"token": "abc", "username": "oauth2"}, git.Login{Username: "oauth2", Password: "abc"}, ""},
		{"a folder with user and password", map[string]string{"username": "me\n", "password": "pass\n"}, git.Login{Username: "me", Password: "pass"}, ""},
		{"an empty file", map[string]string{"": " \n"}, git.Login{}, "empty"},
		{"a URL in a file", map[string]string{"": "https://me:hunter2@example.org"}, git.Login{}, "URL"},
		{"two lines", map[string]string{"": "hunter2\nhunter2"}, git.Login{}, "more than one line"},
		{"a user without a password", map[string]string{"": "hunter2:"}, git.Login{}, "empty"},
		{"an empty folder", map[string]string{"other": "hunter2"}, git.Login{}, "neither a token nor a password"},
		{"both in a folder", map[string]string{"token": "hunter2", "password": "hunter2"}, git.Login{}, "leave one"},
		{"too much", map[string]string{"": strings.Repeat("hunter2", 10_000)}, git.Login{}, "not a small file"},
		{"nothing", nil, git.Login{}, "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "credentials")
			for key, value := range c.files {
				if key != "" {
					require.NoError(t, os.MkdirAll(name, 0o700))
				}
				require.NoError(t, os.WriteFile(filepath.Join(name, key), []byte(value), 0o600))
			}
			got, err := git.CredentialsFromFile(name).Login(context.Background())
			if c.says != "" {
				require.ErrorContains(t, err, c.says)
				assert.Equal(t, sources.CredentialsUnreadable, sources.ReasonOf(err))
				assert.NotContains(t, err.Error(), "hunter2")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}

	name := filepath.Join(t.TempDir(), "token")
	credentials := git.CredentialsFromFile(name)
	for _, token := range []string{"first", "second"} {
		require.NoError(t, os.WriteFile(name, []byte(token), 0o600))
		got, err := credentials.Login(context.Background())
		require.NoError(t, err)
		assert.Equal(t, token, got.Password)
	}
}

func TestCredentialsThatCannotBeHadEndTheLookBeforeTheNetworkIsAsked(t *testing.T) {
	for _, c := range []git.Credentials{
		git.CredentialsFromFile("/nowhere/token"),
		git.CredentialsFunc(func(context.Context) (git.Login, error) { return git.Login{}, errors.New("no such Secret") }),
	} {
		s, err := git.New(git.Options{URL: "https://no-such-host.invalid/fleet.git", Credentials: c})
		require.NoError(t, err)
		_, err = s.Fetch(context.Background())
		assert.Equal(t, sources.CredentialsUnreadable, sources.ReasonOf(err))
		require.NoError(t, s.Close())
	}
}

func TestALoginPrintsWithoutItsSecret(t *testing.T) {
	l := git.Login{Username: "me", Password: "hunter2"}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "login", l)
	for _, text := range []string{fmt.Sprint(l), fmt.Sprintf("%v %+v %#v %s", l, l, l, l), log.String()} {
		assert.NotContains(t, text, "hunter2")
	}
}
