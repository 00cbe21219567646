package access

import (
	"fmt"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// LicenceDue reports whether the licence of the definition is not the one that the database was
// given. SET LICENSE is idempotent, and a licence that has left the definition cannot be taken
// back.
func LicenceDue(v *view.View) bool {
	if !v.Record.Bootstrap.Done || v.Desired.License == nil || !gates.TakesLicence(view.Version(v)) {
		return false
	}
	s := v.Secret(v.Desired.License.Name)
	return v.Record.Bootstrap.Licence != model.LicenceSet || model.LicenceName(v.Record.License) != model.LicenceName(v.Desired.License) ||
		s.Has(v.Desired.License.Key) && s.Version != v.Record.LicenseSecret
}

// Relicence sets the licence again when its Secret or the reference changed, by exec: a cluster
// above its limit lets nobody else in.
func Relicence(t *pass.Pass) {
	if !LicenceDue(&t.View) {
		if t.Record.Bootstrap.Done && !gates.TakesLicence(view.Version(&t.View)) {
			t.Record.License = t.Desired.License
		}
		licenceSet(t)
		return
	}
	if Down(&t.View) {
		return
	}
	secret := t.Secret(t.Desired.License.Name)
	if !secret.Has(t.Desired.License.Key) {
		t.Wait(gates.SecretMissing(t.Desired.Namespace, t.Desired.License.Name, t.Desired.License.Key, "the licence", secret.Exists))
		return
	}
	pod := t.SQLPod()
	if pod == "" {
		var ready bool
		if pod, ready = ReadyMaster(t); !ready {
			return
		}
	}
	change := t.Record.LicenseChange
	change.Pending = secret.Version
	if change.Reported == "" {
		change.Reported = model.PasswordChangeStarted
	}
	a := model.Action{Kind: model.ActionSetLicense, Pod: pod, Secret: *t.Desired.License, SecretVersion: secret.Version, Version: view.Version(&t.View)}
	for f := range model.Each(t.Observed.Failures) {
		if f.Action.Kind == model.ActionSetLicense && f.Count >= passwordAttempts && change.Reported != model.PasswordChangeFailed {
			change.Reported = model.PasswordChangeFailed
			t.Report(model.Report{Reason: "LicenceChangeFailed", Status: model.StatusFailure, Warning: true,
				Message: fmt.Sprintf("the licence of Secret %s could not be set in %d attempts and is still being tried: %s", a.Secret.Name, f.Count, f.Message)})
		}
	}
	t.Record.LicenseChange = change
	t.Harmless(a)
}

func licenceSet(t *pass.Pass) {
	if t.Record.LicenseChange == (model.SecretChange{}) || LicenceDue(&t.View) {
		return
	}
	t.Record.LicenseChange = model.SecretChange{}
	if t.Desired.License != nil {
		t.Report(model.Report{Reason: "LicenceChanged", Status: model.StatusSuccess, Message: fmt.Sprintf("the licence of Secret %s has been set", t.Desired.License.Name)})
	}
}
