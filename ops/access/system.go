package access

import (
	"fmt"
	"time"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

const (
	// systemRefusedAfter is how long a login of `system` has to be refused before a
	// Secret that changed is set in the database: a cluster before gateway recovery
	// and a node that leaves refuse it too. It counts on after a restart.
	systemRefusedAfter = 10 * time.Second
	// systemChangeLong is how long a change may fail before that is reported.
	systemChangeLong = 2 * time.Minute
)

// SystemLogin says why `system` does not log in after bootstrap, and sets its password where
// its Secret has changed.
func SystemLogin(t *pass.Pass, secret model.Secret) {
	if Down(&t.View) {
		t.Record.Bootstrap.SystemChange.Refused = model.SecretVersion{} // what resumes refuses it for a while, too
		return
	}
	db := &t.Observed.Database
	asked := db.SystemSecret == (model.SecretVersion{}) || db.SystemSecret == secret.Version
	switch {
	case !asked:
		reason, _ := gates.Contact(false, "Secret "+secret.Name+" has just changed, and the database is asked again with what it has now")
		t.Wait(reason)
		return
	case db.SystemLogin == model.LoginOK:
		t.Record.Bootstrap.System = secret.Version
		if t.Record.Bootstrap.SystemChange.Reported != "" {
			t.Feedback(passwordUpdate, model.StatusSuccess, "PasswordChanged", "user system logs in with the password that its Secret has now")
		}
		t.Record.Bootstrap.SystemChange = model.SystemChange{}
		if why := secret.Unusable[SystemKey]; why != "" {
			t.Wait(gates.PasswordOdd(secret.Name, SystemKey, "the password of the system user", why))
		}
	case db.SystemLogin == model.LoginRefused:
		systemRefused(t, secret)
	}
	t.Waits(gates.Contact(t.Contact(), db.Error))
}

func systemRefused(t *pass.Pass, secret model.Secret) {
	c := t.Record.Bootstrap.SystemChange
	if c.Refused != secret.Version {
		c = model.SystemChange{Refused: secret.Version, Since: t.Now, Reported: c.Reported}
	}
	t.Record.Bootstrap.SystemChange = c
	since := t.Elapsed(c.Since)
	if secret.Version == t.Record.Bootstrap.System {
		if p := t.PodAwaitsGateway(); p != nil {
			t.Wait(gates.GatewayWaits(p.Name, p.RecoverAfter, view.GatewayNodes(&t.View)))
			return
		}
		if n := t.Nodes(t.Record.Sets); since >= pass.SystemRefusedLong && n.Ready == n.Expected {
			t.Refuse(gates.SystemRefused(secret.Name, since))
		}
		return
	}
	if why := secret.Unusable[SystemKey]; why != "" {
		t.Refuse(gates.PasswordUnusable(secret.Name, SystemKey, "the password of the system user", why))
		return
	}
	if since < systemRefusedAfter {
		t.Wait(gates.SystemChanged(secret.Name, since, systemRefusedAfter))
		t.EndsIn(systemRefusedAfter - since)
		return
	}
	pod := repairPod(&t.View)
	if pod == "" {
		return // there is nobody to ask
	}
	changeSystem(t, c, model.Action{
		Kind: model.ActionSetSystemUser, Pod: pod, User: names.SystemUser, ClusterID: t.Record.ClusterID,
		Secret: model.SecretKey{Name: secret.Name, Key: SystemKey}, SecretVersion: secret.Version,
	})
}

// changeSystem records what it sets before it is set: after a kill the daemon tries a login
// first.
func changeSystem(t *pass.Pass, c model.SystemChange, a model.Action) {
	if c.Reported == "" {
		c.Reported = model.PasswordChangeStarted
		t.Feedback(passwordUpdate, model.StatusInProgress, "PasswordChangeStarted",
			fmt.Sprintf("Secret %s has another password for user system: it is being set in the database", a.Secret.Name))
	}
	for f := range model.Each(t.Observed.Failures) {
		if f.Action.Kind == model.ActionSetSystemUser && c.Reported != model.PasswordChangeFailed && (f.Count >= passwordAttempts || t.Elapsed(c.Since) > systemChangeLong) {
			c.Reported = model.PasswordChangeFailed
			t.Feedback(passwordUpdate, model.StatusFailure, "PasswordChangeFailed",
				fmt.Sprintf("the password of user system could not be set for %s and is still being tried: %s", t.Elapsed(c.Since).Round(time.Second), f.Message))
		}
	}
	t.Record.Bootstrap.SystemChange = c
	t.Harmless(a)
}

// repairPod is a ready pod in which to set the password of `system`, after a failure the next
// one: the first may be of another cluster, which only its node can say. "" for none.
func repairPod(v *view.View) string {
	var ready []string
	for _, p := range view.Expected(v, v.Record.Sets) {
		if view.Serves(p) {
			ready = append(ready, p.Name)
		}
	}
	if len(ready) == 0 {
		return ""
	}
	for i := range v.Observed.Failures {
		for j, pod := range ready {
			if f := &v.Observed.Failures[i]; f.Action.Kind == model.ActionSetSystemUser && f.Action.Pod == pod {
				return ready[(j+1)%len(ready)]
			}
		}
	}
	return ready[0]
}
