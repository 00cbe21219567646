package cratedb

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/loopback"
	"stevedore.dev/stevedore/internal/redact"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// From a cluster that has just formed to users that log in, on each release
// whose words differ.
func TestUsersAreMadeOnEachRelease(t *testing.T) {
	for _, c := range []struct {
		version string
		nodes   int
		licence bool
	}{{"4.4.3", 4, true}, {"5.2.0", 1, true}, {"5.5.1", 3, false}, {"5.10.7", 3, false}, {"6.4.3", 3, false}} {
		t.Run(c.version, func(t *testing.T) {
			t.Parallel()
			s := simulate(t, c.version, c.nodes)
			s.secrets["system"], s.secrets["ada"], s.secrets["licence"] = `it's "real"`, `Ada's \ pässword`, "licence-key\n"

			before := s.observe(c.nodes)
			assert.Equal(t, model.No, before.Contact)
			assert.Equal(t, model.LoginRefused, before.SystemLogin)
			assert.Equal(t, model.Unknown, before.Recovered)

			if c.licence {
				if c.version == "4.4.3" {
					_, err := s.run(model.Action{Kind: model.ActionSetSystemUser, Secret: model.SecretKey{Name: "system"}})
					require.ErrorIs(t, err, execute.ErrLicence)
				}
				_, err := s.run(model.Action{Kind: model.ActionSetLicense, Secret: model.SecretKey{Name: "licence"}})
				require.NoError(t, err)
			}
			for i, words := range []string{"system user: created", "system user: it logs in already"} {
				r, err := s.run(model.Action{Kind: model.ActionSetSystemUser, Secret: model.SecretKey{Name: "system"}})
				require.NoError(t, err, "time %d", i)
				assert.Equal(t, words, r.Message)
			}
			for _, words := range []string{"user created", "user existed and logs in"} {
				r, err := s.run(model.Action{Kind: model.ActionSetUser, User: "ada", Secret: model.SecretKey{Name: "ada"}})
				require.NoError(t, err)
				assert.Equal(t, words, r.Message)
			}
			r, err := s.run(model.Action{Kind: model.ActionVerifyUser, User: "ada", Secret: model.SecretKey{Name: "ada"}})
			require.NoError(t, err)
			assert.Equal(t, model.ResultDone, r.Code)

			s.secrets["ada"] = "another"
			r, err = s.run(model.Action{Kind: model.ActionVerifyUser, User: "ada", Secret: model.SecretKey{Name: "ada"}})
			require.NoError(t, err)
			assert.Equal(t, model.ResultRefused, r.Code)
			r, err = s.run(model.Action{Kind: model.ActionSetUser, User: "ada", Secret: model.SecretKey{Name: "ada"}})
			require.NoError(t, err)
			assert.Equal(t, "user existed, its password was set", r.Message)

			s.secrets["system"] = "the Secret was replaced"
			r, err = s.run(model.Action{Kind: model.ActionSetSystemUser, Secret: model.SecretKey{Name: "system"}})
			require.NoError(t, err)
			assert.Equal(t, "system user: it existed, its password was set", r.Message)

			db := s.observe(c.nodes)
			require.Equal(t, model.Yes, db.Contact, db.Error)
			assert.Equal(t, model.LoginOK, db.SystemLogin)
			assert.Equal(t, model.Yes, db.Recovered)
			assert.Equal(t, "crate-dev", db.ClusterName)
			assert.NotEmpty(t, db.MasterNode)
			assert.Len(t, db.Nodes, c.nodes)
			assert.Len(t, db.Pods, c.nodes)
			for _, p := range db.Pods {
				assert.Equal(t, db.ClusterID, p.ClusterID)
				assert.Equal(t, c.version, p.Version)
				assert.NotEmpty(t, p.NodeID)
			}
			assert.True(t, db.UsersKnown)
			assert.Subset(t, db.Users, []string{"ada", "crate", "system"})
			assert.Equal(t, model.Green, db.Health.Colour)
			assert.True(t, db.ChecksKnown)

			for _, command := range s.commands {
				joined := strings.Join(command, " ")
				for _, word := range []string{"one-time", "ALTER", "CREATE", "licence-key"} {
					assert.NotContains(t, joined, word, "nothing secret is an argument")
				}
			}
			// What stays in the job log is a one-time password only.
			session, err := Client{Dialer: s, Timeout: patience, WriteTimeout: patience}.Login(context.Background(), "pod-0", "system", s.secrets["system"])
			require.NoError(t, err)
			defer session.Close()
			rows, err := session.Strings(context.Background(), "SELECT stmt FROM sys.jobs_log")
			require.NoError(t, err)
			for _, row := range rows {
				assert.NotContains(t, row[0], "replaced")
			}
		})
	}
}

// One of three nodes is there: the cluster looks well and is not recovered.
func TestNoUserIsMadeBeforeTheGatewayHasRecovered(t *testing.T) {
	s := simulate(t, "6.4.3", 0)
	s.start(0, "6.4.3", 3, 1)
	s.secrets["system"] = "pw-system"
	_, err := s.run(model.Action{Kind: model.ActionSetSystemUser, Secret: model.SecretKey{Name: "system"}})
	require.ErrorIs(t, err, execute.ErrNotRecovered)
	assert.NotContains(t, err.Error(), "one-time-1")
	db := s.observe(1)
	assert.Equal(t, model.No, db.Contact)
	assert.Equal(t, model.LoginRefused, db.SystemLogin)
	assert.Equal(t, model.ColourUnknown, db.Health.Colour)
}

func TestANewNodesCheckIsAcknowledged(t *testing.T) {
	s := simulate(t, "6.4.3", 1)
	s.secrets["system"] = "pw-system"
	_, err := s.run(model.Action{Kind: model.ActionSetSystemUser, Secret: model.SecretKey{Name: "system"}})
	require.NoError(t, err)
	s.start(1, "6.4.3", 2, 1)
	var db model.Database
	require.Eventually(t, func() bool {
		db = s.observe(2)
		return len(db.Nodes) == 2 && len(db.Pods) == 2
	}, patience, 20*time.Millisecond)
	open := func(db model.Database) bool {
		return slices.ContainsFunc(db.NodeChecks, func(c model.NodeCheck) bool { return c.ID == 1 && !c.Acknowledged })
	}
	assert.True(t, open(db), "the old node expects one data node: %v", db.NodeChecks)
	_, err = s.run(model.Action{Kind: model.ActionAcknowledgeNodeChecks})
	require.NoError(t, err)
	assert.False(t, open(s.observe(2)))
}

func TestAPodOfAnotherClusterIsSeen(t *testing.T) {
	s := simulate(t, "6.4.3", 1)
	s.secrets["system"] = "pw-system"
	_, err := s.run(model.Action{Kind: model.ActionSetSystemUser, Secret: model.SecretKey{Name: "system"}})
	require.NoError(t, err)
	other := simulate(t, "6.4.3", 1)
	other.secrets["system"] = "pw-other"
	_, err = other.run(model.Action{Kind: model.ActionSetSystemUser, Secret: model.SecretKey{Name: "system"}})
	require.NoError(t, err)

	both := func(password string) model.Database {
		return Client{Dialer: twoClusters{s, other}}.Observe(context.Background(), Target{
			Password: password, Pods: []PodRef{{"pod-0", "data-hot-0"}, {"pod-9", "data-hot-0"}},
		})
	}
	db := both("pw-system")
	require.Len(t, db.Pods, 2)
	assert.False(t, db.Pods[0].LoginRefused)
	assert.True(t, db.Pods[1].LoginRefused, "it has another password")

	other.secrets["system"] = "pw-system"
	_, err = other.run(model.Action{Kind: model.ActionSetSystemUser, Secret: model.SecretKey{Name: "system"}})
	require.NoError(t, err)
	db = both("pw-system")
	require.Len(t, db.Pods, 2)
	assert.NotEqual(t, db.Pods[0].ClusterID, db.Pods[1].ClusterID)
}

func TestAPasswordTravelsOnlyOnAPrivateWay(t *testing.T) {
	nobody, err := loopback.Subnet()
	require.NoError(t, err)
	s := &simulated{t: t, net: nobody, public: true}
	_, err = Client{Dialer: s, Timeout: patience, WriteTimeout: patience}.Login(context.Background(), "pod-0", "system", "secret-password")
	require.ErrorIs(t, err, errUnsafe)
	assert.NotContains(t, err.Error(), "secret-password")
	_, err = Client{}.Login(context.Background(), "pod-0", "system", "secret-password")
	require.ErrorContains(t, err, "no way to the pods")
}

func TestAnUnreachablePodIsUnknownNotEmpty(t *testing.T) {
	nobody, err := loopback.Subnet()
	require.NoError(t, err)
	s := &simulated{t: t, net: nobody, secrets: map[string]string{"system": "pw-system"}}
	db := s.observe(2)
	assert.Equal(t, model.No, db.Contact)
	assert.Equal(t, model.LoginUnknown, db.SystemLogin)
	assert.False(t, db.UsersKnown || db.ChecksKnown)
	assert.Equal(t, model.ColourUnknown, db.Health.Colour)
	assert.NotContains(t, db.Error, "pw-system")
	s.secrets = map[string]string{}
	assert.Equal(t, model.Unknown, s.observe(2).Contact)
}

func TestErrorsAreKnownByTheirWords(t *testing.T) {
	for _, c := range []struct {
		code, message string
		want          error
	}{
		{"XX000", "Role 'system' already exists", execute.ErrUserExists},
		{"XX000", "User 'system' already exists", execute.ErrUserExists},
		{"", "RoleAlreadyExistsException[Role 'x' already exists]", execute.ErrUserExists},
		{"", "UserAlreadyExistsException[User 'x' already exists]", execute.ErrUserExists},
		{"XX000", "Relation 'doc.t' already exists.", nil},
		{"42704", "Role 'x' does not exist", execute.ErrUserUnknown},
		{"XX000", "User 'x' does not exist", execute.ErrUserUnknown},
		{"28000", `password authentication failed for user "x"`, execute.ErrLoginRefused},
		{"28000", "No valid auth.host_based entry found for host", execute.ErrLoginRefused},
		{"28000", "[n2][127.0.0.12:4300][sql] disconnected", nil},
		{"XX000", "MasterNotDiscoveredException[ClusterBlockException[blocked by: [STATE_NOT_RECOVERED/1/state not recovered / initialized];]]", execute.ErrNotRecovered},
		{"XX000", "License is violated - Statement not allowed. If expired or more nodes are required", execute.ErrLicence},
		{"XX000", "line 1:1: mismatched input 'X'", nil},
	} {
		err := classified(&pgconn.PgError{Code: c.code, Message: c.message})
		for _, kind := range []error{execute.ErrUserExists, execute.ErrUserUnknown, execute.ErrLoginRefused, execute.ErrNotRecovered, execute.ErrLicence} {
			assert.Equal(t, kind == c.want, errors.Is(err, kind), "%s is %v", c.message, kind)
		}
	}
}

// A node without a master refuses what needs one without a word, over this protocol.
func TestAnErrorWithoutWordsSaysWhatItMayBe(t *testing.T) {
	assert.EqualError(t, classified(&pgconn.PgError{Code: "XX000"}), "CrateDB says that it failed, and not why, as a node without a master does")
}

// An error of an object store is several lines, with a backtrace (run on 6.4.3).
func TestAnErrorIsOneLine(t *testing.T) {
	for _, c := range []struct{ said, want string }{
		{"two  spaces", "two  spaces"},
		{"OpenDALException 'PermissionDenied at stat\n\nContext:\n   uri: http://x/y\n   service: s3\n'", "OpenDALException 'PermissionDenied at stat Context: uri: http://x/y service: s3 '"},
		{"OpenDALException[Unexpected\n\nSource:\n   Connection refused\n\nBacktrace:\n   0: <unknown>\n  10: <unknown>\n\n]", "OpenDALException[Unexpected Source: Connection refused"},
	} {
		assert.EqualError(t, classified(&pgconn.PgError{Code: "XX000", Message: c.said}), c.want)
	}
}

func TestNoSecretIsInAnError(t *testing.T) {
	statement := `ALTER USER "system" SET (password = 'it''s secret')`
	assert.Equal(t, []string{"it's secret"}, literals(statement))
	assert.Equal(t, []string{"a", "", "b'c"}, literals(`x 'a' y '' 'b''c`))
	for _, text := range []string{"mismatched input 'it''s secret'", "bad it's secret"} {
		assert.NotContains(t, redact.Values(text, literals(statement)...), "secret")
	}
	err := classified(errors.New("boom it's secret"), "it's secret")
	assert.Equal(t, "boom ***", err.Error())
	assert.ErrorIs(t, classified(context.DeadlineExceeded), context.DeadlineExceeded)
}

func TestHealthIsTheWorstTables(t *testing.T) {
	row := func(table, health string) []string { return []string{"doc", table, health, "1", "2"} }
	assert.Equal(t, model.Health{Colour: model.Green}, health(nil))
	assert.Equal(t, model.Health{Colour: model.Red, Rows: 3, Tables: []string{"doc.b", "doc.c"}, Red: []string{"doc.c"}, Missing: 3, Underreplicated: 6},
		health([][]string{row("a", "GREEN"), row("c", "RED"), row("b", "YELLOW")}))
	assert.Equal(t, model.ColourUnknown, health([][]string{row("a", "GREEN"), row("b", "PURPLE")}).Colour, "an unknown word is unknown")
}

type failing struct {
	stdout, stderr string
	exit           int
}

func TestCrashFailsByItsExitCodeOrItsWords(t *testing.T) {
	for _, c := range []struct {
		name string
		out  failing
		want error
		ok   bool
	}{
		{"done", failing{"CONNECT OK\nCREATE OK, 1 row affected", "", 0}, nil, true},
		{"exit code", failing{"", "Role 'x' already exists", 1}, execute.ErrUserExists, false},
		{"words only", failing{"RoleAlreadyExistsException[Role 'x' already exists]", "", 0}, execute.ErrUserExists, false},
		{"no connection", failing{"CONNECT ERROR\n", "", 0}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Crash{Executor: c.out}.Run(context.Background(), "pod-0", `CREATE USER "x" WITH (password = 'hidden-word')`)
			if c.ok {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.NotContains(t, err.Error(), "hidden-word")
			assert.ErrorIs(t, err, execute.ErrCrashFailed)
			if c.want != nil {
				assert.ErrorIs(t, err, c.want)
			}
		})
	}
}
