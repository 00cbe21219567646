package cratedb

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

func TestAPasswordIsChangedOnEachRelease(t *testing.T) {
	for _, version := range []string{"4.8.4", "5.10.7", "6.4.3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := simulate(t, version, 1)
			s.secrets["system"], s.secrets["ada"] = "pw-system", "old"
			_, err := s.run(model.Action{Kind: model.ActionSetSystemUser, Secret: model.SecretKey{Name: "system"}})
			require.NoError(t, err)
			user := model.Action{Kind: model.ActionSetUser, User: "ada", Secret: model.SecretKey{Name: "ada"}}
			_, err = s.run(user)
			require.NoError(t, err)

			s.secrets["ada"] = `new 'and' "odd" \`
			look := user
			look.Kind = model.ActionVerifyUser
			r, err := s.run(look)
			require.NoError(t, err)
			require.Equal(t, model.ResultRefused, r.Code)
			change := user
			change.Kind = model.ActionChangePassword
			for _, words := range []string{"the user's password was changed to its Secret's", "the user logs in with its Secret's password already"} {
				r, err := s.run(change)
				require.NoError(t, err)
				assert.Equal(t, words, r.Message)
			}
			_, err = Client{Dialer: s, Timeout: patience, WriteTimeout: patience}.Login(context.Background(), "pod-0", "ada", "old")
			require.ErrorIs(t, err, execute.ErrLoginRefused)
			session, err := Client{Dialer: s, Timeout: patience, WriteTimeout: patience}.Login(context.Background(), "pod-0", "system", "pw-system")
			require.NoError(t, err)
			defer session.Close()
			log, err := session.Strings(context.Background(), "SELECT stmt FROM sys.jobs_log")
			require.NoError(t, err)
			for _, row := range log {
				assert.NotContains(t, row[0], s.secrets["ada"])
			}
		})
	}
}
