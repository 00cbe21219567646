package forge_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/forge"
	"stevedore.dev/stevedore/internal/forge/forgetest"
)

const (
	token = "a-token-nobody-may-see"
	sha   = "0123456789abcdef0123456789abcdef01234567"
)

var platforms = map[forge.Platform]string{
	forge.GitHub: "team/clusters", forge.GitLab: "group/sub group/clusters", forge.Gitea: "team/clusters",
}

// patience ends what hangs.
const patience = 10 * time.Minute

func eachPlatform(t *testing.T, run func(t *testing.T, server *forgetest.Server, client *forge.Client)) {
	for platform, repository := range platforms {
		t.Run(string(platform), func(t *testing.T) {
			if platform == forge.GitLab {
				repository = strings.ReplaceAll(repository, " ", "-")
			}
			server := forgetest.New(platform, repository, map[string]forgetest.Account{
				token: {Login: "stevedore-bot"}, "reads": {Login: "fork", ReadOnly: true}, "app": {Login: "github-actions[bot]", Installation: true},
			})
			t.Cleanup(server.Close)
			run(t, server, clientOf(t, server, token))
		})
	}
}

func clientOf(t *testing.T, server *forgetest.Server, token string) *forge.Client {
	t.Helper()
	client, err := forge.New(forge.Config{
		Platform: server.Platform, API: server.API(), Repository: server.Repository, Pace: -1, Timeout: patience, Version: "test",
		Token: func(context.Context) (string, error) { return token, nil },
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

func TestTheServersOwnAddressesComeFromTheRemote(t *testing.T) {
	for _, c := range []struct{ platform, remote, want string }{
		{"auto", "https://github.com/team/clusters", "github https://api.github.com team/clusters"},
		{"auto", "https://github.com/team/clusters.git", "github https://api.github.com team/clusters"},
		{"auto", "git@github.com:team/clusters.git", "github https://api.github.com team/clusters"},
		{"auto", "ssh://git@GitHub.com:22/team/clusters.git", "github https://api.github.com team/clusters"},
		{"github", "https://git.example.com/team/clusters", "github https://git.example.com/api/v3 team/clusters"},
		{"auto", "https://gitlab.com/group/sub/clusters.git", "gitlab https://gitlab.com/api/v4 group/sub/clusters"},
		{"auto", "https://gitlab.example.com:8443/group/clusters", "gitlab https://gitlab.example.com:8443/api/v4 group/clusters"},
		{"auto", "https://codeberg.org/team/clusters", "gitea https://codeberg.org/api/v1 team/clusters"},
		{"gitea", "https://example.com/git/team/clusters", "gitea https://example.com/git/api/v1 team/clusters"},
		{"gitea", "ssh://git@git.example.com:2222/team/clusters", "gitea https://git.example.com/api/v1 team/clusters"},
		{"auto", "https://git.example.com/team/clusters", "cannot be told by its name: write github, gitlab or gitea"},
		{"github", "https://github.com/team/sub/clusters", "is not OWNER/NAME"},
		{"github", "https://github.com/clusters", "is not OWNER/NAME"},
		{"gitlab", "https://gitlab.com/group/../clusters", "is not OWNER/NAME"},
		{"bitbucket", "https://bitbucket.org/team/clusters", "is not known"},
		{"github", "file:///srv/clusters.git", "names no server"},
		{"github", "https://user:secret@%zz/x/y", "names no server"},
	} {
		got, err := forge.Locate(c.platform, c.remote)
		if err != nil {
			assert.ErrorContains(t, err, c.want, c.remote)
			assert.NotContains(t, err.Error(), "secret")
			continue
		}
		assert.Equal(t, c.want, fmt.Sprintf("%s %s %s", got.Platform, got.API, got.Repository), c.remote)
	}
}

func TestATokenIsNotSentUnencryptedBeyondThisMachine(t *testing.T) {
	give := func(context.Context) (string, error) { return token, nil }
	for api, refusal := range map[string]string{
		"https://api.github.com": "", "http://127.0.0.1:3000/api/v1": "", "http://[::1]:3000": "", "http://localhost": "",
		"http://git.example.com": "unencrypted", "ftp://git.example.com": "no https:// URL", "": "no https:// URL",
		"https://me:pass@git.example.com": "has a user", "https://git.example.com/?private_token=x": "has a user, a query",
	} {
		_, err := forge.New(forge.Config{Platform: forge.GitHub, API: api, Repository: "team/clusters", Token: give})
		if refusal == "" {
			assert.NoError(t, err, api)
		} else {
			assert.ErrorContains(t, err, refusal, api)
		}
	}
	_, err := forge.New(forge.Config{Platform: forge.GitHub, API: "https://api.github.com", Repository: "team/clusters"})
	assert.ErrorContains(t, err, "no token")
}

func TestAStatusIsPostedAsEachServerWantsIt(t *testing.T) {
	eachPlatform(t, func(t *testing.T, server *forgetest.Server, client *forge.Client) {
		long := strings.Repeat("äöü ", 200) + "\nand more\x1b[31m"
		for _, state := range []forge.State{forge.Pending, forge.Success, forge.Failure} {
			require.NoError(t, client.PostStatus(t.Context(), forge.Status{
				SHA: sha, Ref: "main", Context: "stevedore/prod/orders", State: state, Description: long, TargetURL: "https://example.com/",
			}))
		}
		require.NoError(t, client.PostStatus(t.Context(), forge.Status{SHA: sha, Ref: "main", Context: "stevedore", State: forge.Superseded, Description: "x"}))
		want := map[forge.Platform][]string{
			forge.GitHub: {"pending", "success", "failure", "error"},
			forge.GitLab: {"pending", "success", "failed", "canceled"},
			forge.Gitea:  {"pending", "success", "failure", "error"},
		}[server.Platform]
		var got []string
		for _, status := range server.Statuses() {
			got = append(got, status.State)
			assert.Equal(t, sha, status.SHA)
			assert.NotContains(t, status.Description, "\n")
			assert.NotContains(t, status.Description, "\x1b")
		}
		assert.Equal(t, want, got)
		first := server.Statuses()[0]
		assert.Equal(t, "stevedore/prod/orders", first.Context)
		assert.Equal(t, "https://example.com/", first.TargetURL)
		assert.True(t, strings.HasSuffix(first.Description, "…"), "it is cut to what the server takes, and says so")
		if server.Platform == forge.GitLab {
			assert.Equal(t, "main", first.Ref)
			assert.Contains(t, server.Requests()[0], "/api/v4/projects/group%2Fsub-group%2Fclusters/statuses/"+sha)
		}
	})
}

func TestWhatTheServerHasAlreadyIsTaken(t *testing.T) {
	eachPlatform(t, func(t *testing.T, server *forgetest.Server, client *forge.Client) {
		for range 2 {
			require.NoError(t, client.PostStatus(t.Context(), forge.Status{SHA: sha, Context: "stevedore", State: forge.Pending}))
		}
		require.NoError(t, client.PostStatus(t.Context(), forge.Status{SHA: sha, Context: "stevedore", State: forge.Success}))
		assert.Equal(t, "success", server.Latest(sha)["stevedore"])
	})
}

func TestARefusalSaysWhatToDoAndShowsNoToken(t *testing.T) {
	eachPlatform(t, func(t *testing.T, server *forgetest.Server, client *forge.Client) {
		server.Knows("another")
		for _, c := range []struct {
			what   string
			client *forge.Client
			answer *forgetest.Answer
			want   string
		}{
			{"a token that may only read", clientOf(t, server, "reads"), nil, "check the token, and that it may do this"},
			{"a token that is wrong", clientOf(t, server, "wrong-"+token), nil, "HTTP 401"},
			{"a commit that is gone", client, nil, map[forge.Platform]string{forge.GitHub: "No commit found", forge.GitLab: "404 Commit Not Found", forge.Gitea: "object does not exist"}[server.Platform]},
			{"a repository that has moved", client, &forgetest.Answer{Code: 307, Header: http.Header{"Location": {"http://127.0.0.1:1/elsewhere"}}}, "which is not followed"},
			{"a server that echoes the token", client, &forgetest.Answer{Code: 500, Body: `{"message":"bad ` + token + ` \u001b[31m"}`}, "HTTP 500: \"bad [redacted] [31m\""},
			{"a page that is no JSON", client, &forgetest.Answer{Code: 502, Body: "<html>" + token}, "HTTP 502"},
			{"no answer", client, &forgetest.Answer{Cut: true}, "post the commit status stevedore of 0123456789"},
		} {
			server.Answering(func(*http.Request, int) *forgetest.Answer { return c.answer })
			err := c.client.PostStatus(t.Context(), forge.Status{SHA: sha, Context: "stevedore", State: forge.Success})
			require.ErrorContains(t, err, c.want, c.what)
			assert.NotContains(t, err.Error(), token, c.what)
			assert.NotContains(t, err.Error(), "\x1b", c.what)
		}
	})
}

func TestALimitIsWaitedForWithoutAskingAgain(t *testing.T) {
	began := time.Now()
	reset := strconv.FormatInt(began.Add(30*time.Minute).Unix(), 10)
	for _, c := range []struct {
		what     string
		platform forge.Platform
		answer   forgetest.Answer
		// least and most are as of the beginning: what has passed since is waited for no more.
		least time.Duration
		most  time.Duration
	}{
		{"GitHub's secondary limit with a time", forge.GitHub, forgetest.Answer{Code: 403, Header: http.Header{"Retry-After": {"120"}}}, 2 * time.Minute, 2 * time.Minute},
		{"GitHub's secondary limit without one", forge.GitHub, forgetest.Answer{Code: 403, Body: `{"message":"You have exceeded a secondary rate limit."}`}, time.Minute, time.Minute},
		{"GitHub's hour is used up", forge.GitHub, forgetest.Answer{Code: 403, Header: http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {reset}}}, 30*time.Minute - time.Second, 30 * time.Minute},
		{"GitLab's limit", forge.GitLab, forgetest.Answer{Code: 429, Header: http.Header{"Retry-After": {"60"}}}, time.Minute, time.Minute},
		{"GitLab's window", forge.GitLab, forgetest.Answer{Code: 429, Header: http.Header{"Ratelimit-Remaining": {"0"}, "Ratelimit-Reset": {reset}}}, 30*time.Minute - time.Second, 30 * time.Minute},
		{"a proxy before Gitea", forge.Gitea, forgetest.Answer{Code: 429}, time.Minute, time.Minute},
		{"a time that nobody would wait for", forge.Gitea, forgetest.Answer{Code: 429, Header: http.Header{"Retry-After": {"999999"}}}, 2 * time.Hour, 2 * time.Hour},
	} {
		t.Run(c.what, func(t *testing.T) {
			server := forgetest.New(c.platform, "team/clusters", map[string]forgetest.Account{token: {Login: "bot"}})
			defer server.Close()
			client := clientOf(t, server, token)
			server.Answering(func(*http.Request, int) *forgetest.Answer { return &c.answer })
			for range 3 {
				err := client.PostStatus(t.Context(), forge.Status{SHA: sha, Context: "stevedore", State: forge.Success})
				var refused *forge.Error
				require.ErrorAs(t, err, &refused)
				assert.True(t, refused.Limited)
				assert.GreaterOrEqual(t, refused.After, c.least-time.Since(began))
				assert.LessOrEqual(t, refused.After, c.most)
			}
			assert.Len(t, server.Requests(), 1)
		})
	}
	t.Run("a 403 that is no limit is none", func(t *testing.T) {
		server := forgetest.New(forge.GitHub, "team/clusters", map[string]forgetest.Account{token: {ReadOnly: true}})
		defer server.Close()
		err := clientOf(t, server, token).PostStatus(t.Context(), forge.Status{SHA: sha, Context: "stevedore", State: forge.Success})
		var refused *forge.Error
		require.ErrorAs(t, err, &refused)
		assert.False(t, refused.Limited)
	})
}

func TestTheCommentIsMadeOnceAndUpdatedInPlace(t *testing.T) {
	const marker = "<!-- stevedore plan -->"
	eachPlatform(t, func(t *testing.T, server *forgetest.Server, client *forge.Client) {
		// What others wrote, the marker within too, and more of it than a page holds.
		server.Comment(7, "mallory", marker+"\nnothing to see here")
		for i := range 130 {
			server.Comment(7, "alice", fmt.Sprint("comment ", i))
		}
		server.Comment(7, "stevedore-bot", "I quote:\n"+marker)
		server.Comment(8, "stevedore-bot", marker+"\nof another pull request")
		before := server.Comments(7)
		keep := func(text string) forge.Kept {
			kept, err := client.KeepComment(t.Context(), 7, "", marker, marker+"\n"+text)
			require.NoError(t, err)
			return kept
		}
		assert.Equal(t, forge.Created, keep("the first plan"))
		for i := range 120 {
			server.Comment(7, "bob", fmt.Sprint("answer ", i))
		}
		assert.Equal(t, forge.Updated, keep("the second plan"))
		assert.Equal(t, forge.Unchanged, keep("the second plan\n"))
		after := server.Comments(7)
		assert.Equal(t, before, after[:len(before)], "what others wrote")
		ours := after[len(before)]
		assert.Equal(t, []any{"stevedore-bot", marker + "\nthe second plan", 1}, []any{ours.Author, ours.Body, ours.Edits})
		assert.Len(t, after, len(before)+1+120)
		assert.Zero(t, server.Comments(8)[0].Edits)
	})
}

func TestATokenWithoutAUserSaysSo(t *testing.T) {
	eachPlatform(t, func(t *testing.T, server *forgetest.Server, _ *forge.Client) {
		_, err := clientOf(t, server, "app").Viewer(t.Context())
		assert.ErrorIs(t, err, forge.ErrNoViewer)
		_, err = clientOf(t, server, "wrong").Viewer(t.Context())
		assert.False(t, errors.Is(err, forge.ErrNoViewer), "a wrong token is another matter")
		assert.Error(t, err)
	})
}

func TestACommentThatIsTooLongIsNotSent(t *testing.T) {
	eachPlatform(t, func(t *testing.T, server *forgetest.Server, client *forge.Client) {
		_, err := client.KeepComment(t.Context(), 7, "", "m", strings.Repeat("x", client.MaxComment()+1))
		assert.ErrorContains(t, err, "more than the")
		assert.Empty(t, server.Requests())
		_, err = client.KeepComment(t.Context(), 7, "", "m", strings.Repeat("x", client.MaxComment()))
		assert.NoError(t, err)
	})
}

func TestTheTokenStaysWithItsServer(t *testing.T) {
	asked := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer elsewhere.Close()
	eachPlatform(t, func(t *testing.T, server *forgetest.Server, client *forge.Client) {
		server.Answering(func(*http.Request, int) *forgetest.Answer {
			return &forgetest.Answer{Code: 200, Body: "[]", Header: http.Header{"Link": {"<" + elsewhere.URL + `/next>; rel="next"`}}}
		})
		_, err := client.Comments(t.Context(), 7)
		assert.ErrorContains(t, err, "another one, which is not followed")
		server.Answering(func(*http.Request, int) *forgetest.Answer {
			return &forgetest.Answer{Code: 302, Header: http.Header{"Location": {elsewhere.URL}}}
		})
		_, err = client.Comments(t.Context(), 7)
		assert.ErrorContains(t, err, "redirects")
	})
	assert.Zero(t, asked)
}

func TestWritesKeepThePace(t *testing.T) {
	server := forgetest.New(forge.GitHub, "team/clusters", map[string]forgetest.Account{token: {Login: "bot"}})
	defer server.Close()
	client, err := forge.New(forge.Config{
		Platform: forge.GitHub, API: server.API(), Repository: "team/clusters", Pace: 40 * time.Millisecond, Timeout: patience,
		Token: func(context.Context) (string, error) { return token, nil },
	})
	require.NoError(t, err)
	defer client.Close()
	began := time.Now()
	for range 4 {
		require.NoError(t, client.PostStatus(t.Context(), forge.Status{SHA: sha, Context: "stevedore", State: forge.Success}))
	}
	assert.GreaterOrEqual(t, time.Since(began), 120*time.Millisecond)
}
