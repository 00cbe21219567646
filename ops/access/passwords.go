package access

import (
	"fmt"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
)

// passwordAttempts is how often a change fails before that is reported; it is still tried.
const passwordAttempts = 3

// changePassword gives a user the password that its Secret has now, which the database has just
// refused. The version is recorded as pending before the statement leaves: after a kill the
// daemon tries a login first.
func changePassword(t *pass.Pass, u model.RecordedUser, a model.Action) {
	u.Pending = a.SecretVersion
	if u.Change == "" {
		u.Change = model.PasswordChangeStarted
		t.Feedback(passwordUpdate, model.StatusInProgress, "PasswordChangeStarted",
			fmt.Sprintf("Secret %s has another password for user %q: it is being changed in the database", a.Secret.Name, u.Name))
	}
	for f := range model.Each(t.Observed.Failures) {
		if f.Action.Kind == model.ActionChangePassword && f.Action.User == u.Name && f.Count >= passwordAttempts && u.Change != model.PasswordChangeFailed {
			u.Change = model.PasswordChangeFailed
			t.Feedback(passwordUpdate, model.StatusFailure, "PasswordChangeFailed",
				fmt.Sprintf("the password of user %q could not be changed in %d attempts and is still being tried: %s", u.Name, f.Count, f.Message))
		}
	}
	t.Record.Bootstrap.Users = PutUser(t.Record.Bootstrap.Users, u)
	a.Kind = model.ActionChangePassword
	t.Harmless(a)
}

// passwordChanged reports a change that a login has verified.
func passwordChanged(t *pass.Pass, u model.RecordedUser) {
	if u.Change == "" {
		return
	}
	u.Change = ""
	t.Record.Bootstrap.Users = PutUser(t.Record.Bootstrap.Users, u)
	t.Feedback(passwordUpdate, model.StatusSuccess, "PasswordChanged", fmt.Sprintf("user %q logs in with the password that its Secret has now", u.Name))
}

// passwordUpdate is crate-operator's action.
const passwordUpdate = "password_update"
