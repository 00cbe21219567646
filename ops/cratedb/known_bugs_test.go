package cratedb

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// What users of crate-operator ran into, each as a test of what holds instead.
// The guard of each is taken out in internal/mutations, and its test goes red.

// There, CrateDB 5.6 said in other words that a user exists, and the bootstrap
// failed for ever.
func TestAUserThatExistsIsKnownInTheWordsOfEveryRelease(t *testing.T) {
	for release, words := range map[string]string{
		"up to 5.5": "User 'system' already exists",
		"from 5.6":  "Role 'system' already exists",
	} {
		t.Run(release, func(t *testing.T) {
			require.ErrorIs(t, classified(&pgconn.PgError{Code: "XX000", Message: words}), execute.ErrUserExists)
			_, err := Crash{Executor: failing{"", words, 1}}.Run(t.Context(), "pod-0", `CREATE USER "system"`)
			require.ErrorIs(t, err, execute.ErrUserExists)
		})
	}
	t.Run("words that are not known are no answer at all", func(t *testing.T) {
		err := classified(&pgconn.PgError{Code: "XX000", Message: "system? never again"})
		for _, kind := range []error{execute.ErrUserExists, execute.ErrUserUnknown, execute.ErrLoginRefused} {
			assert.NotErrorIs(t, err, kind)
		}
	})
	t.Run("and a bootstrap that finds the user goes on", func(t *testing.T) {
		for _, version := range []string{"5.5.3", "5.10.7", "6.4.3"} {
			s := simulate(t, version, 1)
			s.secrets["system"] = "pw-first"
			set := model.Action{Kind: model.ActionSetSystemUser, Secret: model.SecretKey{Name: "system"}}
			_, err := s.run(set)
			require.NoError(t, err, version)
			s.secrets["system"] = "pw-second"
			result, err := s.run(set)
			require.NoError(t, err, version)
			assert.Equal(t, "system user: it existed, its password was set", result.Message, version)
		}
	})
}

// There, passwords were arguments of commands in pods, and stood in the process
// list and in the API server's audit log.
func TestNoPasswordIsAnArgumentOfACommand(t *testing.T) {
	s := simulate(t, "6.4.3", 1)
	s.secrets["system"], s.secrets["ada"] = "pw-system", "pw-ada"
	_, err := s.run(model.Action{Kind: model.ActionSetSystemUser, Secret: model.SecretKey{Name: "system"}})
	require.NoError(t, err)
	_, err = s.run(model.Action{Kind: model.ActionSetUser, User: "ada", Secret: model.SecretKey{Name: "ada"}})
	require.NoError(t, err)
	s.secrets["ada"] = "pw-other"
	_, err = s.run(model.Action{Kind: model.ActionChangePassword, User: "ada", Secret: model.SecretKey{Name: "ada"}})
	require.NoError(t, err)
	require.NotEmpty(t, s.commands)
	for _, command := range s.commands {
		for _, secret := range []string{"pw-", "one-time", "password", "USER"} {
			assert.NotContains(t, strings.Join(command, " "), secret)
		}
	}
}
