package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/fetch"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/snapshots"
	"stevedore.dev/stevedore/ops/view"
	"stevedore.dev/stevedore/render/definition"
)

// The settings of a repository that no person writes.
const (
	typeSetting = "type"
	// nameDigits of the hash of its place are in a repository's name.
	nameDigits = 8
)

// place is the folder of this cluster: two clusters that write to one corrupt it, and a cluster that
// is recreated under the same name has another id.
func place(v *view.View) string {
	return path.Join(v.Desired.Namespace, v.Desired.Name, v.Record.ClusterID)
}

// settings of the desired repository, those that are secret left out.
func settings(v *view.View) model.SettingList { return placed(v, place(v), false) }

// parameterSince is the version from which CrateDB knows a parameter (manual, CREATE REPOSITORY), by the type of the
// repository; it is not there for those that each version knows.
var parameterSince = map[[2]string]string{
	{"s3", "region"}: "6.3", {"s3", "use_path_style_access"}: "5.7", {"azure", "sas_token"}: "5.9",
}

// known reports whether a version of CrateDB knows a parameter.
func known(kind, parameter, version string) bool {
	since := parameterSince[[2]string{kind, parameter}]
	return since == "" || version == "" || gates.CompareMinor(version, since) >= 0
}

// Name is what CrateDB calls the repository: another place has another name, so that no repository of
// somebody's is taken for ours, and what is in a former place stays.
func Name(settings model.SettingList) string {
	sum := sha256.Sum256([]byte(placeOf(settings)))
	return "stevedore_" + hex.EncodeToString(sum[:])[:nameDigits]
}

// placeOf is what makes a repository another one: everything that says where it is.
func placeOf(settings model.SettingList) string {
	return strings.Join(model.Texts(settings.Settings(), func(s *model.Setting) string {
		switch s.Name {
		case typeSetting, "location", "base_path", "bucket", "container", "account", "endpoint", "region":
			return s.Name + "=" + s.Value
		}
		return ""
	}), "\n")
}

// secrets are the parameters whose values Secrets have, as an action carries them.
func secrets(v *view.View) string {
	all := slices.DeleteFunc(slices.Clone(v.Desired.Backups.Repository.Secrets), func(s definition.SecretSetting) bool {
		return !known(v.Desired.Backups.Repository.Type, s.Name, view.Version(v))
	})
	if len(all) == 0 {
		return ""
	}
	data, _ := json.Marshal(all) // names and keys are texts
	return string(data)
}

// versions are those of the Secrets that the repository is made with, and the first that is missing;
// "" for none.
func versions(v *view.View) (all, missing string) {
	var lines []string
	for _, s := range v.Desired.Backups.Repository.Secrets {
		found := v.Secret(s.Ref.Name)
		if !found.Exists || !slices.Contains(found.Keys, s.Ref.Key) {
			return "", s.Ref.Name + ", key " + s.Ref.Key
		}
		lines = append(lines, s.Ref.Name+" "+found.Version.UID+" "+found.Version.ResourceVersion)
	}
	return strings.Join(model.Distinct(lines), "\n"), ""
}

// Unsettled reports whether the repository is still to be made or changed as the definition says: a snapshot
// that runs holds that up, and success is said after it.
func Unsettled(v *view.View) bool {
	b := v.Record.Backups
	if v.Desired.Backups == nil || b == nil || v.Suspending || len(v.Record.Suspended) > 0 {
		return false
	}
	want := settings(v)
	secretVersions, _ := versions(v)
	return b.Repository.Name != Name(want) || b.Repository.Settings != want || b.Repository.Secrets != secretVersions
}

// foreignAgain is how long after a look at a repository that has somebody else's snapshots the next one is.
const foreignAgain = 10 * time.Minute

// repository creates the repository, changes it, or has nodes that came verify it. It is true once
// snapshots can go there.
func repository(t *pass.Pass) bool {
	v, b := &t.View, t.Record.Backups
	want, have := settings(v), &b.Repository
	name := have.Name
	if name == "" || have.Settings != want {
		name = Name(want)
	}
	if have.Name == "" && used(t, name) {
		have.Name = name // the record of it was lost, and what it has is to be known before it can be changed
	}
	same := have.Name == name
	secretVersions, missing := versions(v)
	if missing != "" {
		t.Wait(gates.RepositorySecret(t.Desired.Namespace, missing))
		return false
	}
	if same && have.Settings == want && have.Secrets == secretVersions && snapshots.Verified(have, &v.Observed.Database) {
		if b.Foreign == "" {
			return true
		}
		t.Wait(gates.RepositoryNotOurs(have.Name, b.Foreign))
		if t.Elapsed(b.ForeignAt) < foreignAgain {
			return false
		}
	}
	inUse := b.Running != nil && !b.Running.Asked.IsZero() || b.Fetch.There()
	if inUse || t.Record.Operation != nil || !v.Observed.Database.NodesKnown {
		// CrateDB changes none that is in use; nodes that come and go are verified when all are there.
		return same && have.Settings != "" && b.Foreign == ""
	}
	t.Harmless(model.Action{
		Kind: model.ActionSetRepository, Pod: t.SQLPod(), SystemSecret: t.SystemSecret(), Version: oldest(&t.View),
		Repository: name, Settings: want, Secrets: secrets(v), SecretVersions: secretVersions, NodeIDs: snapshots.Nodes(&v.Observed.Database), New: !same || have.Settings == "" || b.Foreign != "",
	})
	return false
}

// notReady says why no snapshot can go to the repository, or come from it, yet.
func notReady(t *pass.Pass) string {
	b := t.Record.Backups
	_, missing := versions(&t.View)
	failed := model.Find(t.Observed.Failures, func(f *model.Failure) bool { return f.Action.Kind == model.ActionSetRepository })
	why := "its nodes are to verify it now"
	switch {
	case missing != "":
		why = "it needs Secret " + missing
	case failed != nil:
		why = "CrateDB does not accept it: " + failed.Message
	case b.Foreign != "":
		why = "it has snapshot " + b.Foreign + ", which is not stevedore's"
	case t.Record.Operation != nil:
		why = "its nodes verify it after the operation " + string(t.Record.Operation.Kind)
	case !t.Observed.Database.NodesKnown:
		why = "it is not known which nodes are to verify it"
	}
	return "the repository is not ready: " + why
}

// used reports whether CrateDB has this repository, as it shows or says where it refuses to change it because it works
// with it: a snapshot of ours may run, or the tables of a drill come that are to be dropped first.
func used(t *pass.Pass, name string) bool {
	if db := &t.Observed.Database; db.RepositoriesKnown && slices.Contains(db.Repositories, name) {
		return true
	}
	return model.Any(t.Observed.Failures, func(f *model.Failure) bool {
		return f.Action.Kind == model.ActionSetRepository && f.Action.Repository == name && strings.Contains(f.Message, "currently used")
	})
}

// lost notices that somebody has dropped the repository, as one does that does not answer. Any node may have
// answered, also one that is behind, so two readings have to say it. It is created again, and a snapshot that ran
// there has ended.
func lost(t *pass.Pass) {
	b, db := t.Record.Backups, &t.Observed.Database
	if b.Repository.Name == "" || !db.RepositoriesKnown {
		return
	}
	switch {
	case slices.Contains(db.Repositories, b.Repository.Name):
		b.Gone = time.Time{}
	case b.Gone.IsZero():
		b.Gone = db.At
	case db.At.Sub(b.Gone) >= fetch.Suspected:
		t.Report(model.Report{Reason: "RepositoryGone", Warning: true, Message: "repository " + b.Repository.Name + " is not there any more, and is created again; what is in its folder stays"})
		if b.Running != nil {
			ended(t, model.SnapshotFailed, "somebody has dropped the repository")
		}
		b.Repository, b.Gone, b.Listed = model.RecordedRepository{}, time.Time{}, time.Time{}
	}
}

// oldest is the version of the oldest node: it says what CrateDB understands, and a record that was lost does not.
func oldest(v *view.View) string {
	out := v.Record.Version
	for i, n := range v.Observed.Database.Nodes {
		if i == 0 || gates.Compare(n.Version, out) < 0 {
			out = n.Version
		}
	}
	return out
}
