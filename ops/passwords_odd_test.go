package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
)

// A Secret made from a file ends in a line break, which nobody can type.
func TestAPasswordThatNobodyCanTypeIsRefusedAtItsSecret(t *testing.T) {
	odd := func(s *situation, name string) {
		secret(s, name).Unusable = map[string]string{"password": "it ends in a line break"}
	}
	another := func(s *situation, name string) {
		odd(s, name)
		secret(s, name).Version.ResourceVersion = "99"
	}
	const kept = "password-odd"
	for _, c := range []struct {
		name    string
		change  func(*situation)
		action  model.ActionKind
		refuses bool
		waits   string
	}{
		{"a user that was verified with it keeps it", func(s *situation) { odd(s, "ada") }, "", false, kept},
		{"a Secret that changed: a login says whether its value did", func(s *situation) { another(s, "ada") }, model.ActionVerifyUser, false, ""},
		{"the database does not take it", func(s *situation) {
			another(s, "ada")
			s.r.Bootstrap.Users = []model.RecordedUser{{Name: "ada", Secret: s.r.Bootstrap.Users[0].Secret, Refused: secret(s, "ada").Version}}
		}, "", true, ""},
		{"a user that is new", func(s *situation) { odd(s, "ada"); s.r.Bootstrap.Users = nil }, "", true, ""},
		{"one that somebody dropped", func(s *situation) { odd(s, "ada"); s.o.Database.Users = []string{"system"} }, "", true, ""},
		{"another key of the Secret", func(s *situation) {
			secret(s, "ada").Unusable = map[string]string{"notes": "it ends in a line break"}
			s.r.Bootstrap.Users = nil
		}, model.ActionSetUser, false, ""},
		{"what heals it passes", func(s *situation) {
			another(s, "ada")
			secret(s, "ada").Unusable = nil
			s.r.Bootstrap.Users = nil
		}, model.ActionSetUser, false, ""},
		{"that of system, verified", func(s *situation) { odd(s, "user-system-c"); s.o.Database.SystemLogin = model.LoginOK }, "", false, kept},
		{"that of system, which the database does not take", func(s *situation) {
			another(s, "user-system-c")
			s.o.Database.SystemLogin, s.o.Database.Contact = model.LoginRefused, model.Unknown
			s.o.Database.SystemSecret = secret(s, "user-system-c").Version
		}, "", true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			c.change(s)
			d := s.decide()
			if c.action == "" {
				assert.Empty(t, kinds(d))
			} else {
				assert.Equal(t, []model.ActionKind{c.action}, kinds(d))
			}
			assert.Equal(t, c.refuses, contains(reasons(d.Refusals), "password-unusable"), "%v", d.Refusals)
			if c.waits != "" {
				assert.Contains(t, reasons(d.Waits), c.waits)
				assert.Equal(t, model.Done, d.Verdict, "it holds nothing up: %v", d.Waits)
			}
		})
	}
}

func contains(list []string, name string) bool {
	for _, n := range list {
		if n == name {
			return true
		}
	}
	return false
}

// Nobody could log in as system with it, and the bootstrap would wait for ever at that login.
func TestABootstrapDoesNotBeginWithASystemPasswordThatNobodyCanType(t *testing.T) {
	w := newWorld(t, passwordCluster())
	for range 60 {
		w.pass()
		if s := w.secrets["user-system-c"]; s != nil {
			s.data = map[string][]byte{"password": []byte("from a file\n")}
			break
		}
	}
	var refused bool
	for range 60 {
		d, _ := w.pass()
		refused = refused || contains(reasons(d.Refusals), "password-unusable")
	}
	assert.True(t, refused)
	assert.NotContains(t, w.users, "system")
	w.change("user-system-c", "typed")
	w.run(60)
	assert.Equal(t, "typed", w.users["system"].password, "what heals it passes")
}

// The cluster is there and serves all others; what is missing is said until it is so.
func TestAUserWithoutAPasswordHoldsUpNoBootstrapAndNoOtherUser(t *testing.T) {
	w := newWorld(t, passwordCluster())
	w.secrets["ada"].data = map[string][]byte{"password": []byte("from a file\n")}
	for range 60 {
		w.pass()
		if w.record.Bootstrap.Done {
			break
		}
	}
	require.True(t, w.record.Bootstrap.Done)
	assert.Contains(t, w.users, "bob")
	assert.NotContains(t, w.users, "ada")
	assert.Equal(t, 1, reported(w, "BootstrapIncomplete"))
	assert.Zero(t, reported(w, "BootstrapSucceeded"))
	assert.Zero(t, reported(w, "RevisionVerified"))

	w.change("ada", "typed")
	w.run(30)
	assert.Equal(t, "typed", w.users["ada"].password)
	assert.Equal(t, "typed", w.users["eve"].password)
	assert.Equal(t, 1, reported(w, "RevisionVerified"), "and then all is as the definition says")
}

// Making one user keeps failing: it is tried on, and the bootstrap ends without it.
func TestAUserThatCannotBeMadeHoldsUpNoBootstrap(t *testing.T) {
	s := made(t)
	s.r.Bootstrap.Done = false
	s.r.Bootstrap.Users = nil
	s.r.Operation = &model.Operation{Kind: model.OperationBootstrap, Started: s.o.At, Revision: s.d.Revision}
	d := s.decide()
	require.Equal(t, []model.ActionKind{model.ActionSetUser}, kinds(d))
	require.False(t, d.Record.Bootstrap.Done, "it has just begun")
	s.o.Failures = []model.Failure{{Action: d.Harmless[0], Message: "the login is refused", Count: 2, At: s.o.At}}
	require.False(t, s.decide().Record.Bootstrap.Done)
	s.o.Failures[0].Count = 3
	d = s.decide()
	assert.True(t, d.Record.Bootstrap.Done)
	assert.Equal(t, []model.ActionKind{model.ActionSetUser}, kinds(d), "it is tried on")
	require.Len(t, d.Reports, 1)
	assert.Equal(t, model.StatusFailure, d.Reports[0].Status)
	assert.Contains(t, d.Reports[0].Message, "ada")
	assert.NotEqual(t, model.Done, d.Verdict)
}

// A user that somebody had made before: what of it was replaced is told once, and only of
// one that was not ours.
func TestWhatWasOverwrittenOfAUserIsReportedOnce(t *testing.T) {
	s := made(t)
	a := model.Action{Kind: model.ActionSetUser, User: "ada", Secret: model.SecretKey{Name: "ada", Key: "password"}, SecretVersion: secret(s, "ada").Version}
	result := model.Result{SecretVersion: a.SecretVersion, Overwrote: "its password was replaced"}

	ours := ops.RecordResult(s.r, a, result, s.o.At)
	assert.Empty(t, ours.Bootstrap.Users[0].Overwrote, "it was ours already")

	s.r.Bootstrap.Users = nil
	s.r = ops.RecordResult(s.r, a, result, s.o.At)
	d := s.decide()
	require.Len(t, d.Reports, 1)
	assert.Equal(t, "UserOverwritten", d.Reports[0].Reason)
	assert.True(t, d.Reports[0].Warning)
	assert.Equal(t, model.EventFeedback, d.Reports[0].Event)
	assert.Contains(t, d.Reports[0].Message, "its password was replaced")
	require.True(t, d.Save)
	s.r = d.Record
	assert.Empty(t, s.decide().Reports)
	assert.Equal(t, model.Done, s.decide().Verdict)
}
