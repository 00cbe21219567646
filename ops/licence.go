package ops

import (
	"fmt"

	"stevedore.dev/stevedore/ops/gates"
)

// SecretChange is a Secret whose content is being brought into the database.
type SecretChange struct {
	// Pending is the version that is about to be set.
	Pending SecretVersion `json:"pending"`
	// Told is what was told of it; "" when there is none.
	Told PasswordChange `json:"told,omitempty"`
}

// licenceDue is true while the definition's licence is not the one that the
// database was given. SET LICENSE is idempotent, and a licence that is gone from
// the definition cannot be taken back.
func (t *turn) licenceDue() bool {
	if !t.r.Bootstrap.Done || t.d.License == nil || !gates.TakesLicence(t.runs()) {
		return false
	}
	s := t.secret(t.d.License.Name)
	return t.r.Bootstrap.Licence != LicenceSet || licenceName(t.r.License) != licenceName(t.d.License) ||
		s.has(t.d.License.Key) && s.Version != t.r.LicenseSecret
}

// runs is the version that the cluster runs.
func (t *turn) runs() string {
	if t.r.Version != "" {
		return t.r.Version
	}
	return t.d.Version
}

// relicence sets the licence again when its Secret or the reference changed, by
// exec: a cluster that is above its limit lets nobody else in.
func (t *turn) relicence() {
	if !t.licenceDue() {
		if t.r.Bootstrap.Done && !gates.TakesLicence(t.runs()) {
			t.r.License = t.d.License
		}
		t.licenceSet()
		return
	}
	if t.down() {
		return
	}
	secret := t.secret(t.d.License.Name)
	if !secret.has(t.d.License.Key) {
		t.wait(gates.SecretMissing(t.d.License.Name, t.d.License.Key, "the licence", secret.Exists))
		return
	}
	pod := t.sqlPod()
	if pod == "" {
		var ready bool
		if pod, ready = t.readyMaster(); !ready {
			return
		}
	}
	change := t.r.LicenseChange
	change.Pending = secret.Version
	if change.Told == "" {
		change.Told = PasswordChangeStarted
	}
	a := Action{Kind: ActionSetLicense, Pod: pod, Secret: *t.d.License, SecretVersion: secret.Version, Version: t.runs()}
	for i := range t.o.Failures {
		f := &t.o.Failures[i]
		if f.Action.Kind == ActionSetLicense && f.Count >= passwordAttempts && change.Told != PasswordChangeFailed {
			change.Told = PasswordChangeFailed
			t.report(Report{Reason: "LicenceChangeFailed", Status: StatusFailure, Warning: true,
				Message: fmt.Sprintf("the licence of Secret %s could not be set in %d attempts and is still being tried: %s", a.Secret.Name, f.Count, f.Message)})
		}
	}
	t.r.LicenseChange = change
	t.harmless(a)
}

// licenceSet tells of one that was set.
func (t *turn) licenceSet() {
	if t.r.LicenseChange == (SecretChange{}) || t.licenceDue() {
		return
	}
	t.r.LicenseChange = SecretChange{}
	if t.d.License != nil {
		t.report(Report{Reason: "LicenceChanged", Status: StatusSuccess, Message: fmt.Sprintf("the licence of Secret %s has been set", t.d.License.Name)})
	}
}
