package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
)

// change gives a Secret another value, as somebody who rotates a password.
func (w *world) change(secret, password string) {
	s := w.secrets[secret]
	next := *s
	next.data = map[string][]byte{"password": []byte(password)}
	next.version.ResourceVersion = w.next()
	w.secrets[secret] = &next
}

func passwordCluster() model.Desired {
	d := wantedCluster(2)
	d.Users = append(d.Users,
		model.User{Name: "eve", Secret: model.SecretKey{Name: "ada", Key: "password"}},
		model.User{Name: "bob", Secret: model.SecretKey{Name: "bob", Key: "password"}})
	return d
}

func rotated(t *testing.T, c cut) *world {
	w := newWorld(t, passwordCluster())
	w.run(30)
	w.change("ada", "rotated")
	w.dies(c)
	w.run(30)
	return w
}

func TestAChangedSecretChangesEachUserThatUsesIt(t *testing.T) {
	w := rotated(t, cut{})
	assert.Equal(t, "rotated", w.users["ada"].password)
	assert.Equal(t, "rotated", w.users["eve"].password)
	assert.Equal(t, "pw-bob", w.users["bob"].password)
	assert.Equal(t, 2, reported(w, "PasswordChangeStarted"))
	assert.Equal(t, 2, reported(w, "PasswordChanged"))
	for _, r := range w.reports {
		if r.Reason == "PasswordChanged" {
			assert.Equal(t, "update/password_update", r.Operation+"/"+r.Action)
		}
		assert.NotContains(t, r.Message, "rotated")
	}
	writes := w.writes
	w.run(3)
	assert.Equal(t, writes, w.writes, "and then nothing is written")
}

func TestAPasswordChangeKilledAtAnyWriteEndsTheSame(t *testing.T) {
	atEachWrite(t, 6, 1, func(t *testing.T, c cut) *world {
		w := rotated(t, c)
		for user, password := range map[string]string{"ada": "rotated", "eve": "rotated", "bob": "pw-bob"} {
			assert.Equal(t, password, w.users[user].password, user)
			i := slices.IndexFunc(w.record.Bootstrap.Users, func(u model.RecordedUser) bool { return u.Name == user })
			require.GreaterOrEqual(t, i, 0)
			u := w.record.Bootstrap.Users[i]
			assert.Equal(t, model.SecretVersion{}, u.Pending)
			assert.Empty(t, u.Change)
		}
		if !c.lose {
			assert.Equal(t, 2, reported(w, "PasswordChanged"))
		}
		return w
	})
}

func TestASecretWhoseValueStayedChangesNothing(t *testing.T) {
	w := newWorld(t, passwordCluster())
	w.run(30)
	w.change("ada", string(w.secrets["ada"].data["password"]))
	w.run(30)
	assert.Zero(t, reported(w, "PasswordChangeStarted"))
	assert.Zero(t, reported(w, "PasswordChanged"))
}

func TestAnotherKeyOfTheSameSecretIsAnotherPassword(t *testing.T) {
	w := newWorld(t, passwordCluster())
	w.secrets["bob"].data["next"] = []byte("pw-next")
	w.run(30)
	w.desired.Users[2].Secret.Key, w.desired.Revision = "next", "rev-key"
	w.run(30)
	assert.Equal(t, "pw-next", w.users["bob"].password)
}

func TestASecretThatIsGoneHoldsUpNoOtherUser(t *testing.T) {
	w := newWorld(t, passwordCluster())
	w.run(30)
	delete(w.secrets, "bob")
	w.change("ada", "rotated")
	w.passes(8)
	assert.Equal(t, "rotated", w.users["ada"].password)
	d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
	i := slices.Index(reasons(d.Waits), "secret-missing")
	require.GreaterOrEqual(t, i, 0)
	assert.Contains(t, d.Waits[i].Message, "bob")
}

func TestAPasswordChangeThatFailsIsReportedOnceAndTriedOn(t *testing.T) {
	s := made(t)
	s.o.Secrets[slices.IndexFunc(s.o.Secrets, func(x model.Secret) bool { return x.Name == "ada" })].Version.ResourceVersion = "99"
	version := s.o.Secrets[slices.IndexFunc(s.o.Secrets, func(x model.Secret) bool { return x.Name == "ada" })].Version
	s.r.Bootstrap.Users = []model.RecordedUser{{Name: "ada", Secret: s.r.Bootstrap.Users[0].Secret, Refused: version, Pending: version, Change: model.PasswordChangeStarted}}
	s.o.Failures = []model.Failure{{Action: model.Action{Kind: model.ActionChangePassword, User: "ada"}, Message: "no", At: time.Time{}, Count: 3}}
	d := s.decide()
	require.Len(t, d.Reports, 1)
	assert.Equal(t, model.StatusFailure, d.Reports[0].Status)
	assert.Equal(t, []model.ActionKind{model.ActionChangePassword}, kinds(d), "it is tried on")
	s.r = d.Record
	assert.Empty(t, s.decide().Reports)
}
