package ops

import (
	"fmt"
	"time"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/gates"
)

const (
	// systemRefusedAfter is how long a login of `system` has to be refused before a
	// Secret that changed is set in the database: a cluster before gateway recovery
	// and a node that leaves refuse it too. It counts on after a restart.
	systemRefusedAfter = 10 * time.Second
	// systemRefusedLong is when a refusal with a Secret that did not change is told.
	systemRefusedLong = time.Minute
	// systemChangeLong is when a change that keeps failing is told.
	systemChangeLong = 2 * time.Minute
)

// SystemChange is a password of `system` that the database does not take.
type SystemChange struct {
	// Refused is the Secret's version, Since when it was refused first.
	Refused SecretVersion `json:"refused"`
	Since   time.Time     `json:"since"`
	// Told is what was told of a change.
	Told PasswordChange `json:"told,omitempty"`
}

func (c SystemChange) equal(o SystemChange) bool {
	return c.Refused == o.Refused && c.Since.Equal(o.Since) && c.Told == o.Told
}

// systemLogin says why `system` does not log in after bootstrap, and mends it
// where its Secret has changed.
func (t *turn) systemLogin(secret Secret) {
	if t.down() {
		return
	}
	db := &t.o.Database
	asked := db.SystemSecret == (SecretVersion{}) || db.SystemSecret == secret.Version
	switch {
	case !asked:
		reason, _ := gates.Contact(false, "Secret "+secret.Name+" has just changed, and the database is asked again with what it has now")
		t.wait(reason)
		return
	case db.SystemLogin == LoginOK:
		t.r.Bootstrap.System = secret.Version
		if t.r.Bootstrap.SystemChange.Told != "" {
			t.report(passwordReport("PasswordChanged", StatusSuccess, "user system logs in with the password that its Secret has now"))
		}
		t.r.Bootstrap.SystemChange = SystemChange{}
		if why := secret.Unusable[SystemKey]; why != "" {
			t.wait(gates.PasswordOdd(secret.Name, SystemKey, "the password of the system user", why))
		}
	case db.SystemLogin == LoginRefused:
		t.systemRefused(secret)
	}
	if reason, waits := gates.Contact(t.contact(), db.Error); waits {
		t.wait(reason)
	}
}

func (t *turn) systemRefused(secret Secret) {
	c := t.r.Bootstrap.SystemChange
	if c.Refused != secret.Version {
		c = SystemChange{Refused: secret.Version, Since: t.now, Told: c.Told}
	}
	t.r.Bootstrap.SystemChange = c
	since := t.elapsed(c.Since)
	if secret.Version == t.r.Bootstrap.System {
		if p := t.gatewayWaits(); p != nil {
			t.wait(t.gatewayReason(p))
			return
		}
		if n := t.nodes(t.r.Sets); since >= systemRefusedLong && n.ready == n.wanted {
			t.refusal(gates.SystemRefused(secret.Name, since))
		}
		return
	}
	if why := secret.Unusable[SystemKey]; why != "" {
		t.refusal(gates.PasswordUnusable(secret.Name, SystemKey, "the password of the system user", why))
		return
	}
	if since < systemRefusedAfter {
		t.wait(gates.SystemChanged(secret.Name, since, systemRefusedAfter))
		t.endsIn(systemRefusedAfter - since)
		return
	}
	pod := t.repairPod()
	if pod == "" {
		return // there is nobody to ask
	}
	t.changeSystem(c, Action{
		Kind: ActionSetSystemUser, Pod: pod, User: names.SystemUser, ClusterID: t.r.ClusterID,
		Secret: SecretKey{Name: secret.Name, Key: SystemKey}, SecretVersion: secret.Version,
	})
}

// changeSystem records what is about to be set before it is set: whoever comes
// after a kill tries a login first.
func (t *turn) changeSystem(c SystemChange, a Action) {
	if c.Told == "" {
		c.Told = PasswordChangeStarted
		t.report(passwordReport("PasswordChangeStarted", StatusInProgress,
			fmt.Sprintf("Secret %s has another password for user system: it is being set in the database", a.Secret.Name)))
	}
	for i := range t.o.Failures {
		f := &t.o.Failures[i]
		if f.Action.Kind == ActionSetSystemUser && c.Told != PasswordChangeFailed && (f.Count >= passwordAttempts || t.elapsed(c.Since) > systemChangeLong) {
			c.Told = PasswordChangeFailed
			r := passwordReport("PasswordChangeFailed", StatusFailure,
				fmt.Sprintf("the password of user system could not be set for %s and is still being tried: %s", t.elapsed(c.Since).Round(time.Second), f.Message))
			r.Warning = true
			t.report(r)
		}
	}
	t.r.Bootstrap.SystemChange = c
	t.harmless(a)
}

// repairPod is a ready pod; after a failure the next one: the first may be of
// another cluster, which only the node in it can say.
func (t *turn) repairPod() string {
	var ready []string
	for _, s := range t.r.Sets {
		for ordinal := range s.Replicas {
			if p := t.pod(s.Name, ordinal); p != nil && p.Ready && !p.Terminating {
				ready = append(ready, p.Name)
			}
		}
	}
	if len(ready) == 0 {
		return ""
	}
	for i := range t.o.Failures {
		for j, pod := range ready {
			if f := &t.o.Failures[i]; f.Action.Kind == ActionSetSystemUser && f.Action.Pod == pod {
				return ready[(j+1)%len(ready)]
			}
		}
	}
	return ready[0]
}
