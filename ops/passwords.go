package ops

import "fmt"

// passwordAttempts before a change that fails is reported as failed; it is
// tried on all the same.
const passwordAttempts = 3

// changePassword gives a user the password that its Secret has now, which the
// database has just refused. The version is recorded as pending before the
// statement leaves: whoever comes after a kill tries a login first.
func (t *turn) changePassword(u RecordedUser, a Action) {
	if u.Pending != a.SecretVersion {
		u.Pending = a.SecretVersion
	}
	if u.Change == "" {
		u.Change = PasswordChangeStarted
		t.report(passwordReport("PasswordChangeStarted", StatusInProgress,
			fmt.Sprintf("Secret %s has another password for user %q: it is being changed in the database", a.Secret.Name, u.Name)))
	}
	for i := range t.o.Failures {
		f := &t.o.Failures[i]
		if f.Action.Kind == ActionChangePassword && f.Action.User == u.Name && f.Count >= passwordAttempts && u.Change != PasswordChangeFailed {
			u.Change = PasswordChangeFailed
			r := passwordReport("PasswordChangeFailed", StatusFailure,
				fmt.Sprintf("the password of user %q could not be changed in %d attempts and is still being tried: %s", u.Name, f.Count, f.Message))
			r.Warning = true
			t.report(r)
		}
	}
	t.r.Bootstrap.Users = putUser(t.r.Bootstrap.Users, u)
	a.Kind = ActionChangePassword
	t.harmless(a)
}

// passwordChanged tells of a change that was verified by a login.
func (t *turn) passwordChanged(u RecordedUser) {
	if u.Change == "" {
		return
	}
	u.Change = ""
	t.r.Bootstrap.Users = putUser(t.r.Bootstrap.Users, u)
	t.report(passwordReport("PasswordChanged", StatusSuccess, fmt.Sprintf("user %q logs in with the password that its Secret has now", u.Name)))
}

func passwordReport(reason string, status Status, message string) Report {
	return Report{Event: EventFeedback, Operation: "update", Action: "password_update", Reason: reason, Status: status, Message: message}
}
