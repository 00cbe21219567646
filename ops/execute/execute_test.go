package execute_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// script is a database whose answers are given, and that notes what it is told.
type script struct {
	secrets map[string]string
	// logins that succeed: "user/password".
	logins map[string]bool
	// fails gives an error for what begins with its key.
	fails map[string]error
	// answers of crash, by what a statement begins with.
	answers map[string]string
	told    []string
	// rows that answer every query which replies do not.
	rows [][]string
	// hidesJobs: stats.enabled is false.
	hidesJobs bool
	// replies by what a query holds, one after the other; the last stays.
	replies map[string][][][]string
	// second is what the node in the pod "q" answers; nil where each node answers alike.
	second map[string][][][]string
}

func (s *script) fail(statement string) error {
	s.told = append(s.told, statement)
	for prefix, err := range s.fails {
		if strings.HasPrefix(statement, prefix) {
			return err
		}
	}
	return nil
}

func (s *script) Get(_ context.Context, name string) (map[string][]byte, model.SecretVersion, error) {
	v, ok := s.secrets[name]
	if !ok {
		return nil, model.SecretVersion{}, execute.ErrNotFound
	}
	return map[string][]byte{"password": []byte(v)}, model.SecretVersion{UID: name, ResourceVersion: "1"}, nil
}

func (s *script) Run(_ context.Context, pod, statement string) (string, error) {
	answer := ""
	for prefix, text := range s.answers {
		if strings.HasPrefix(statement, prefix) {
			answer = text
		}
	}
	return answer, s.fail("crash: " + statement)
}

func (s *script) Login(_ context.Context, pod, user, password string) (execute.Session, error) {
	if err := s.fail("login " + user); err != nil {
		return nil, err
	}
	if !s.logins[user+"/"+password] {
		return nil, execute.ErrLoginRefused
	}
	if pod == "q" && s.second != nil {
		return &talk{&script{replies: s.second}, user}, nil
	}
	return &talk{s, user}, nil
}

type talk struct {
	*script
	user string
}

func (t *talk) Close() {}

func (t *talk) Exec(_ context.Context, statement string, arguments ...any) (int64, error) {
	err := t.fail(statement)
	if err == nil && strings.Contains(statement, "password = $1") {
		t.logins[strings.Split(statement, `"`)[1]+"/"+arguments[0].(string)] = true
	}
	return 1, err
}

func (t *talk) Strings(_ context.Context, query string, _ ...any) ([][]string, error) {
	rows, err := t.reply(query)
	switch asksJobs := strings.Contains(query, "FROM sys.jobs"); {
	case asksJobs && t.hidesJobs:
		return nil, err
	case asksJobs:
		return append(slices.Clone(rows), []string{query}), err
	}
	return rows, err
}

func (t *talk) reply(query string) ([][]string, error) {
	for part, all := range t.replies {
		if strings.Contains(query, part) {
			if len(all) > 1 {
				t.replies[part] = all[1:]
			}
			return all[0], t.fail(query)
		}
	}
	if q := gates.Asked(query); q != nil {
		return q.None(), t.fail(query)
	}
	return t.rows, t.fail(query)
}

func (s *script) tools() execute.Tools {
	return execute.Tools{Secrets: s, Database: s, Crash: s, Password: func() (string, error) { return "once", nil }}
}

func newScript(logins ...string) *script {
	s := &script{secrets: map[string]string{"system": "real", "ada": "lovelace"}, logins: map[string]bool{}, fails: map[string]error{}}
	for _, l := range logins {
		s.logins[l] = true
	}
	return s
}

var systemAction = model.Action{
	Kind: model.ActionSetSystemUser, Pod: "p", Secret: model.SecretKey{Name: "system", Key: "password"},
	SecretVersion: model.SecretVersion{UID: "system", ResourceVersion: "1"},
}

var userAction = model.Action{
	Kind: model.ActionSetUser, Pod: "p", User: "ada", SystemSecret: "system", Secret: model.SecretKey{Name: "ada", Key: "password"},
}

func TestTheSystemUsersRealPasswordIsBoundAndNeverGivenToCrash(t *testing.T) {
	s := newScript("system/once")
	r, err := execute.Run(context.Background(), systemAction, s.tools())
	require.NoError(t, err)
	assert.Equal(t, "system user: created", r.Message)
	assert.Equal(t, systemAction.SecretVersion, r.SecretVersion)
	assert.Equal(t, []string{
		"login system", privileges,
		`crash: CREATE USER "system" WITH (password = 'once')`,
		`crash: GRANT ALL PRIVILEGES TO "system"`,
		"login system", `ALTER USER "system" SET (password = $1)`, "login system",
	}, s.told)
}

const (
	privileges    = "crash: SELECT type FROM sys.privileges WHERE grantee = 'system' AND class = 'CLUSTER' AND state = 'GRANT'"
	allPrivileges = `[{"type": "AL"}, {"type": "DDL"}, {"type": "DML"}, {"type": "DQL"}]`
)

// Two statements are enough for one who is there with all privileges: a process
// that keeps dying has to live through them in one piece.
func TestASystemUserWithPrivilegesTakesTwoWrites(t *testing.T) {
	s := newScript("system/once")
	s.answers = map[string]string{"SELECT type FROM sys.privileges": allPrivileges, "SELECT id FROM sys.cluster": `[{"id": "id-1"}]`}
	repair := systemAction
	repair.ClusterID = "id-1"
	r, err := execute.Run(context.Background(), repair, s.tools())
	require.NoError(t, err)
	assert.Equal(t, "system user: it existed, its password was set", r.Message)
	assert.Equal(t, []string{
		"login system", "crash: SELECT id FROM sys.cluster", privileges,
		`crash: ALTER USER "system" SET (password = 'once')`,
		"login system", `ALTER USER "system" SET (password = $1)`, "login system",
	}, s.told)
}

func TestTheSystemUserOfAnotherClusterIsNotTouched(t *testing.T) {
	for name, answer := range map[string]string{"another id": `[{"id": "id-2"}]`, "no cluster": `[{"id": "_na_"}]`, "no answer": ""} {
		s := newScript("system/once")
		s.answers = map[string]string{"SELECT id FROM sys.cluster": answer}
		repair := systemAction
		repair.ClusterID = "id-1"
		_, err := execute.Run(context.Background(), repair, s.tools())
		require.ErrorContains(t, err, "not of the cluster with the id id-1", name)
		for _, told := range s.told {
			assert.NotContains(t, told, "USER", name)
		}
	}
}

var passwordAction = model.Action{
	Kind: model.ActionChangePassword, Pod: "p", User: "ada", SystemSecret: "system", Secret: model.SecretKey{Name: "ada", Key: "password"},
}

func TestOutcomes(t *testing.T) {
	down := errors.New("connection refused")
	for _, c := range []struct {
		name    string
		script  *script
		action  model.Action
		prepare func(*script)
		err     error
		words   string
		never   string
	}{
		{name: "the user exists: its password is set", script: newScript("system/once"), action: systemAction, words: "system user: it existed, its password was set",
			prepare: func(s *script) { s.fails["crash: CREATE USER"] = execute.ErrUserExists }},
		{name: "the login works: only its grants are looked at", script: newScript("system/real"), action: systemAction, words: "system user: it logs in already", never: "CREATE USER"},
		{name: "an unknown answer is no refusal", script: newScript(), action: systemAction, err: down, never: "CREATE USER",
			prepare: func(s *script) { s.fails["login system"] = down }},
		{name: "the gateway has not recovered", script: newScript(), action: systemAction, err: execute.ErrNotRecovered, never: "ALTER USER",
			prepare: func(s *script) { s.fails["crash: CREATE USER"] = execute.ErrNotRecovered }},
		{name: "the Secret is gone", script: newScript(), action: systemAction, err: execute.ErrNotFound, never: "crash",
			prepare: func(s *script) { delete(s.secrets, "system") }},
		{name: "the grant failed: the real password waits for it", script: newScript("system/once"), action: systemAction, err: down, never: `ALTER USER "system" SET (password = $1)`,
			prepare: func(s *script) { s.fails["crash: GRANT"] = down }},
		{name: "a user is made", script: newScript("system/real"), action: userAction, words: "user created"},
		{name: "a user exists with another password", script: newScript("system/real"), action: userAction, words: "user existed, its password was set",
			prepare: func(s *script) { s.fails["CREATE USER"] = execute.ErrUserExists }},
		{name: "a user exists and logs in", script: newScript("system/real", "ada/lovelace"), action: userAction, words: "user existed and logs in", never: "ALTER USER",
			prepare: func(s *script) { s.fails["CREATE USER"] = execute.ErrUserExists }},
		{name: "a password is changed", script: newScript("system/real", "ada/old"), action: passwordAction, words: "the user's password was changed to its Secret's", never: "CREATE USER"},
		{name: "a password was changed before a kill", script: newScript("system/real", "ada/lovelace"), action: passwordAction, words: "the user logs in with its Secret's password already", never: "ALTER USER"},
		{name: "a password is not changed on an unknown answer", script: newScript("system/real"), action: passwordAction, err: down, never: "ALTER USER",
			prepare: func(s *script) { s.fails["login ada"] = down }},
		{name: "a password that cannot be set", script: newScript("system/real", "ada/old"), action: passwordAction, err: execute.ErrUserUnknown, never: "CREATE USER",
			prepare: func(s *script) { s.fails["ALTER USER"] = execute.ErrUserUnknown }},
		{name: "system cannot log in", script: newScript(), action: userAction, err: execute.ErrLoginRefused, never: "CREATE USER"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.prepare != nil {
				c.prepare(c.script)
			}
			r, err := execute.Run(context.Background(), c.action, c.script.tools())
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
				assert.NotContains(t, err.Error(), "real")
			} else {
				require.NoError(t, err)
				assert.Equal(t, c.words, r.Message)
			}
			if c.never != "" {
				assert.False(t, slices.ContainsFunc(c.script.told, func(s string) bool { return strings.Contains(s, c.never) }), "%v", c.script.told)
			}
		})
	}
}

func TestTheSuperuserIsNeverMade(t *testing.T) {
	for _, name := range []string{"crate", "system", ""} {
		s := newScript("system/real")
		for _, a := range []model.Action{userAction, passwordAction} {
			a.User = name
			_, err := execute.Run(context.Background(), a, s.tools())
			require.Error(t, err)
			assert.Empty(t, s.told)
		}
	}
}

func TestASecretIsUsedOnlyAsItWasDecidedOn(t *testing.T) {
	s := newScript("system/real")
	a := systemAction
	a.SecretVersion.ResourceVersion = "0"
	_, err := execute.Run(context.Background(), a, s.tools())
	require.ErrorContains(t, err, "has changed")
	assert.Empty(t, s.told)
}

func TestARefusedPasswordCountsOnlyWhileSystemIsLetIn(t *testing.T) {
	a := userAction
	a.Kind = model.ActionVerifyUser
	r, err := execute.Run(context.Background(), a, newScript("system/real").tools())
	require.NoError(t, err)
	assert.Equal(t, model.ResultRefused, r.Code)
	_, err = execute.Run(context.Background(), a, newScript().tools())
	require.Error(t, err, "28000 has several causes")
	r, err = execute.Run(context.Background(), a, newScript("ada/lovelace").tools())
	require.NoError(t, err)
	assert.Equal(t, model.ResultDone, r.Code)
}

func TestNamesAndTextsAreQuoted(t *testing.T) {
	s := newScript("system/real", `e"v'e/lovelace`)
	a := userAction
	a.User = `e"v'e`
	_, _ = execute.Run(context.Background(), a, s.tools())
	assert.Contains(t, s.told, `CREATE USER "e""v'e" WITH (password = $1)`)

	s = newScript()
	s.secrets["licence"] = "it's\n"
	_, err := execute.Run(context.Background(), model.Action{Kind: model.ActionSetLicense, Pod: "p", Secret: model.SecretKey{Name: "licence", Key: "password"}}, s.tools())
	require.NoError(t, err)
	assert.Equal(t, []string{"crash: SET LICENSE 'it''s'"}, s.told)
}

// What is given back is as it was: without a list, if there was none.
func TestATablesExcludeListThatBecomesEmptyIsTakenOff(t *testing.T) {
	for _, c := range []struct {
		name, there, before, told string
		kind                      model.ActionKind
	}{
		{"ours is put on", "", "", `SET ("routing.allocation.exclude._id" = 'ours')`, model.ActionExcludeInTable},
		{"to another's", "a", "a", `SET ("routing.allocation.exclude._id" = 'a,ours')`, model.ActionExcludeInTable},
		{"ours is taken off", "ours", "", `RESET ("routing.allocation.exclude._id")`, model.ActionIncludeInTable},
		{"another's stays", "a,ours", "a", `SET ("routing.allocation.exclude._id" = 'a')`, model.ActionIncludeInTable},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript("system/real")
			s.rows = [][]string{{c.there, `{"require": {}}`}}
			_, err := execute.Run(t.Context(), model.Action{Kind: c.kind, Pod: "p", SystemSecret: "system", Table: "doc.t", NodeIDs: "ours", Before: c.before}, s.tools())
			require.NoError(t, err)
			assert.Contains(t, s.told, `ALTER TABLE "doc"."t" `+c.told)
		})
	}
}

func TestAnUnknownActionIsAnError(t *testing.T) {
	_, err := execute.Run(context.Background(), model.Action{Kind: "no-such"}, execute.Tools{})
	require.Error(t, err)
}
