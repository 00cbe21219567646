package cratedb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/password"
	"stevedore.dev/stevedore/internal/testcluster"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// CREATE USER takes each of these; the login over the PostgreSQL protocol does not.
func TestWhichPasswordsTheLoginTakes(t *testing.T) {
	versions := []string{"6.4.3", "6.3.7"}
	if !testcluster.IsReal() {
		versions = versions[:1] // the simulator has one rule for both
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			c := testcluster.Start(t, testcluster.Options{Version: version, Nodes: 1})
			client := Client{Dialer: c, Timeout: patience}
			system, err := client.Login(t.Context(), "pod-0", "system", c.MakeSystem())
			require.NoError(t, err)
			defer system.Close()
			for i, s := range []struct {
				name, password string
				takes          bool
			}{
				{"plain", "secret", true},
				{"127 characters", strings.Repeat("a", 127), true},
				{"128 characters", strings.Repeat("a", 128), false},
				{"300 characters", strings.Repeat("a", 300), false},
				{"42 of two bytes", strings.Repeat("ü", 42), true},
				{"43 of two bytes", strings.Repeat("ü", 43), false},
				{"25 of three bytes", strings.Repeat("€", 25), true},
				{"26 of three bytes", strings.Repeat("€", 26), false},
				{"21 of four bytes", strings.Repeat("😀", 21), true},
				{"22 of four bytes", strings.Repeat("😀", 22), false},
				{"a line break at its end", "secret\n", true},
				{"spaces around it, a colon and a tab", " a:b\tc ", true},
			} {
				user := fmt.Sprintf("u%d", i)
				_, err := system.Exec(t.Context(), `CREATE USER "`+user+`" WITH (password = $1)`, s.password)
				require.NoError(t, err, s.name)
				session, err := client.Login(t.Context(), "pod-0", user, s.password)
				if err == nil {
					session.Close()
				}
				assert.Equal(t, s.takes, err == nil, "%s: %v", s.name, err)
				if !s.takes {
					assert.True(t, errors.Is(err, execute.ErrLoginRefused), "%s: %v", s.name, err)
				}
				assert.Equal(t, s.takes, !password.TooLong(s.password), s.name)
				assert.Equal(t, 200, c.Nodes[0].As(user, s.password, "SELECT 1").Status, "%s, over HTTP", s.name)
				if trimmed := strings.TrimSpace(s.password); trimmed != s.password {
					_, err := client.Login(t.Context(), "pod-0", user, trimmed)
					assert.ErrorIs(t, err, execute.ErrLoginRefused, "%s: what a person types is another password", s.name)
				}
			}
		})
	}
}

type oneSecret map[string]string

func (s oneSecret) Get(_ context.Context, name string) (map[string][]byte, model.SecretVersion, error) {
	return map[string][]byte{"password": []byte(s[name])}, model.SecretVersion{}, nil
}

// What somebody's user had: a GRANT on the cluster takes its DENY there off and leaves the
// one on a schema, and both are said.
func TestAUserThatSomebodyMadeIsTakenAndWhatItHadIsSaid(t *testing.T) {
	c := testcluster.Start(t, testcluster.Options{Nodes: 1})
	password := c.MakeSystem()
	c.Run("CREATE TABLE secret.t (a INT)", "CREATE USER ada WITH (password = 'theirs')", "DENY DML TO ada", "DENY DQL ON SCHEMA secret TO ada")
	client := Client{Dialer: c, Timeout: patience}
	r, err := execute.Run(t.Context(), model.Action{Kind: model.ActionSetUser, Pod: "pod-0", User: "ada", SystemSecret: "system", Secret: model.SecretKey{Name: "app", Key: "password"}},
		execute.Tools{Database: client, Secrets: oneSecret{"system": password, "app": "ours"}})
	require.NoError(t, err)
	for _, words := range []string{`user "ada" existed`, "Secret app", "denied DML on the whole cluster", "denied DQL on schema secret as before"} {
		assert.Contains(t, r.Overwrote, words)
	}
	assert.Equal(t, 200, c.Nodes[0].As("ada", "ours", "CREATE TABLE doc.t (a INT)").Status)
	assert.NotEqual(t, 200, c.Nodes[0].As("ada", "ours", "SELECT * FROM secret.t").Status, "the DENY on the schema stays")
	assert.Equal(t, 401, c.Nodes[0].As("ada", "theirs", "SELECT 1").Status)
}
