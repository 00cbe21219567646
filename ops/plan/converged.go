package plan

import (
	"slices"
	"time"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/access"
	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// Converged is a cluster that is as desired and healthy, without tables: what a plan begins
// from where no cluster is asked. The same decisions make it, from nothing; done is false where
// they do not come to an end.
func Converged(desired model.Desired, templates Templates, now time.Time) (observed model.Observed, record model.Record, done bool) {
	first := desired
	still := !slices.ContainsFunc(desired.Sets, func(s model.Set) bool { return s.Data && s.Replicas > 0 })
	if still {
		// A suspended cluster has run before; how large it was is not in Git.
		first.Sets = slices.Clone(desired.Sets)
		for i := range first.Sets {
			first.Sets[i].Replicas = max(first.Sets[i].Replicas, 1)
		}
	}
	first.Paused, first.Released, first.Abort = false, false, false
	// It stands there, so it may: what is refused is what changes.
	first.Operations.Consent = []definition.Consent{definition.ConsentSuspend}
	start := Start{Desired: first, Templates: templates, Observed: model.Observed{Secrets: Secrets(desired, nil)}, Now: now.Add(-2 * longEnough)}
	r, err := newRun(start)
	if err != nil {
		return model.Observed{}, model.Record{}, false
	}
	done = r.toTheEnd()
	if still && done {
		again := desired
		again.Operations.Consent = first.Operations.Consent
		again.Windowless = true
		r.start.Desired, r.idle = again, 0
		r.model.desired = &r.start.Desired
		done = r.toTheEnd()
	}
	r.start.Desired, r.record.VolumesConsent = desired, desired.Operations.Has(definition.ConsentDeleteVolumes)
	if r.record.Bootstrap.Done {
		if lifecycle.Consents(&desired) {
			r.record.DeleteConsent = desired.Revision
		}
		r.record.Stage = model.StageVerified
	}
	observed = r.model.observe(&desired, &r.record)
	return observed, r.record, done
}

// Secrets are those that a definition names, taken to be there, as they were
// recorded; for a role that may not read them, and for a repository that does not
// hold them.
func Secrets(desired model.Desired, record *model.Record) []model.Secret {
	var out []model.Secret
	add := func(name, key string, version model.SecretVersion, labelled bool) {
		i := slices.IndexFunc(out, func(s model.Secret) bool { return s.Name == name })
		if i < 0 {
			if version == (model.SecretVersion{}) {
				version, labelled = model.SecretVersion{UID: madeHere + name, ResourceVersion: "1"}, false
			}
			i, out = len(out), append(out, model.Secret{Name: name, Exists: true, Version: version, Labelled: labelled})
		}
		if key != "" && !slices.Contains(out[i].Keys, key) {
			out[i].Keys = append(out[i].Keys, key)
		}
	}
	if record == nil {
		record = &model.Record{}
	}
	if record.Bootstrap.System != (model.SecretVersion{}) || record.Bootstrap.Done {
		add(names.SystemSecret(desired.Name), access.SystemKey, record.Bootstrap.System, true)
	}
	for _, u := range desired.Users {
		var version model.SecretVersion
		if i := slices.IndexFunc(record.Bootstrap.Users, func(r model.RecordedUser) bool { return r.Name == u.Name }); i >= 0 {
			version = record.Bootstrap.Users[i].Secret
		}
		add(u.Secret.Name, u.Secret.Key, version, true)
	}
	if l := desired.License; l != nil {
		version := record.LicenseSecret
		if record.License == nil || *record.License != *l {
			version = model.SecretVersion{}
		}
		add(l.Name, l.Key, version, false)
	}
	if b := desired.Backups; b != nil {
		for _, s := range b.Repository.Secrets {
			add(s.Ref.Name, s.Ref.Key, recordedVersion(record.Backups, s.Ref.Name), false)
		}
	}
	for _, ref := range desired.References {
		var version model.SecretVersion
		if i := slices.IndexFunc(record.References, func(r model.RecordedReference) bool { return r.Secret == ref.Secret }); i >= 0 {
			version = record.References[i].Version
		}
		add(ref.Secret, "", version, false)
	}
	return out
}
