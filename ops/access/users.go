package access

import (
	"slices"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// User is the recorded user of this name; nil where there is none.
func User(v *view.View, name string) *model.RecordedUser {
	return model.Find(v.Record.Bootstrap.Users, func(u *model.RecordedUser) bool { return u.Name == name })
}

// PutUser copies before it writes: the record that was given stays as it was.
func PutUser(users []model.RecordedUser, u model.RecordedUser) []model.RecordedUser {
	next := slices.Clone(users)
	for i := range next {
		if next[i].Name == u.Name {
			next[i] = u
			return next
		}
	}
	return append(next, u)
}

// LabelSecrets puts crate-operator's label on the users' Secrets, before their versions are noted.
func LabelSecrets(t *pass.Pass) {
	for i, u := range t.Desired.Users {
		s := t.Secret(u.Secret.Name)
		again := slices.ContainsFunc(t.Desired.Users[:i], func(o model.User) bool { return o.Secret.Name == u.Secret.Name })
		if s.Exists && !s.Labelled && !again {
			t.Harmless(model.Action{Kind: model.ActionLabelSecret, Secret: model.SecretKey{Name: s.Name}})
		}
	}
}

// Users makes each of spec.users. One whose Secret is missing stops no other.
func Users(t *pass.Pass) {
	for _, u := range t.Desired.Users {
		s := t.Secret(u.Secret.Name)
		if !s.Has(u.Secret.Key) {
			t.Wait(gates.SecretMissing(t.Desired.Namespace, u.Secret.Name, u.Secret.Key, passwordOf(u), s.Exists))
			continue
		}
		if !s.Labelled {
			continue // its version is about to change
		}
		makeUser(t, u, s)
	}
	if !t.Record.Bootstrap.Done {
		return
	}
	undesired := func(r model.RecordedUser) bool {
		return !slices.ContainsFunc(t.Desired.Users, func(u model.User) bool { return u.Name == r.Name })
	}
	if !slices.ContainsFunc(t.Record.Bootstrap.Users, undesired) {
		return // nearly always: nothing is copied
	}
	t.Record.Bootstrap.Users = slices.DeleteFunc(slices.Clone(t.Record.Bootstrap.Users), func(r model.RecordedUser) bool {
		if !undesired(r) {
			return false
		}
		if dropped(&t.View, r.Name) {
			return true // somebody did what the refusal asks for
		}
		t.Refuse(gates.UserRemoval(r.Name))
		return false
	})
}

func passwordOf(u model.User) string { return "the password of user " + u.Name }

// dropped reports whether the database lacks the user; only a recovered cluster can say so.
func dropped(v *view.View, user string) bool {
	return v.Contact() && v.Observed.Database.UsersKnown && v.Observed.Database.Recovered == model.Yes && !slices.Contains(v.Observed.Database.Users, user)
}

func makeUser(t *pass.Pass, u model.User, s model.Secret) {
	pod := t.SQLPod()
	if !t.Contact() || pod == "" || t.Record.Bootstrap.System.UID == "" {
		return // SystemUser has said why
	}
	next := model.RecordedUser{Name: u.Name}
	if r := User(&t.View, u.Name); r != nil {
		next = *r
	}
	if next.Overwrote != "" {
		t.Report(model.Report{Event: model.EventFeedback, Operation: "update", Action: passwordUpdate, Reason: "UserOverwritten", Status: model.StatusSuccess, Warning: true, Message: next.Overwrote})
		next.Overwrote = ""
		t.Record.Bootstrap.Users = PutUser(t.Record.Bootstrap.Users, next)
	}
	made, gone := next.Secret != (model.SecretVersion{}), dropped(&t.View, u.Name) // one that somebody dropped is recreated
	there := made && !gone
	// A password that nobody can type, or that the login does not take, is refused. If the user logs in with it
	// already it stays; a login says whether that is so.
	odd := s.Unusable[u.Secret.Key]
	if there && next.Secret == s.Version && (next.Key == u.Secret.Key || next.Key == "") {
		passwordChanged(t, next)
		if odd != "" {
			t.Wait(gates.PasswordOdd(s.Name, u.Secret.Key, passwordOf(u), odd))
		}
		return
	}
	a := model.Action{Pod: pod, User: u.Name, Secret: u.Secret, SecretVersion: s.Version, SystemSecret: t.SystemSecret()}
	switch {
	case there && next.Refused != s.Version:
		a.Kind = model.ActionVerifyUser
		t.Harmless(a)
	case odd != "":
		t.Refuse(gates.PasswordUnusable(s.Name, u.Secret.Key, passwordOf(u), odd))
	case there:
		changePassword(t, next, a)
	default:
		if next.Pending != s.Version {
			next.Pending = s.Version
			t.Record.Bootstrap.Users = PutUser(t.Record.Bootstrap.Users, next)
		}
		a.Kind = model.ActionSetUser
		t.Harmless(a)
	}
}

// Unmade are the users that a bootstrap ends without: a person has to do something before they
// can be made, and the cluster has all else.
func Unmade(v *view.View) (names []string, waits bool) {
	for _, u := range v.Desired.Users {
		if r := User(v, u.Name); r != nil && r.Secret != (model.SecretVersion{}) {
			continue
		}
		s := v.Secret(u.Secret.Name)
		if s.Unusable[u.Secret.Key] == "" && !keepsFailing(v, u.Name) {
			return nil, true
		}
		names = append(names, u.Name)
	}
	return names, false
}

// keepsFailing reports whether making the user failed so often that nothing waits for it; it is
// tried on.
func keepsFailing(v *view.View, user string) bool {
	return model.Any(v.Observed.Failures, func(f *model.Failure) bool {
		return f.Action.Kind == model.ActionSetUser && f.Action.User == user && f.Count >= passwordAttempts
	})
}

// Claims writes on each volume claim whose data it carries, as soon as the pod
// that runs on it has said so itself.
func Claims(t *pass.Pass) {
	if t.Record.ClusterID == "" {
		return
	}
	for c := range model.Each(t.Observed.Claims) {
		if c.ClusterID != "" && c.ClusterID != t.Record.ClusterID {
			reason, _ := gates.ClaimOfAnotherCluster(c.Name, c.ClusterID, t.Record.ClusterID)
			t.Refuse(reason)
			continue
		}
		if c.ClusterID != "" && c.Version == t.Record.HighestVersion {
			continue // it says all that a pod could
		}
		p := t.Pod(c.Set, c.Ordinal)
		if p == nil || !p.Uses(c.Template) {
			continue // it may have the disk after its restart, and has not written to it
		}
		a := model.Action{Kind: model.ActionAnnotateClaim, Claim: c.Name, ClusterID: t.Record.ClusterID, Version: p.Version}
		if c.Version != "" && view.StartedNewer(p, c.Version) {
			// It may have upgraded the volume, though nobody has seen its node join: the pod
			// that comes after it starts no older version.
			t.Harmless(a)
		} else if said := answer(&t.View, p); said != nil && (c.ClusterID == "" || c.Version == "" || gates.Compare(said.Version, c.Version) > 0) {
			a.Version = said.Version
			t.Harmless(a)
		}
	}
	leavingClaims(t)
}

// leavingClaims writes it also on claims that the watch does not show yet, of nodes that are to leave: once such a node
// has left, nobody says any more whose the claim is, and no node would come onto it.
func leavingClaims(t *pass.Pass) {
	for i := range t.Observed.Pods {
		p := &t.Observed.Pods[i]
		a := answer(&t.View, p)
		if a == nil || p.Ordinal < view.Target(&t.View, p.Set) {
			continue
		}
		for _, template := range model.Listed(p.Volumes) {
			its := func(c *model.Claim) bool { return c.Name == template+"-"+p.Name }
			if p.Uses(template) && !model.Any(t.Observed.Claims, its) {
				t.Harmless(model.Action{Kind: model.ActionAnnotateClaim, Claim: template + "-" + p.Name, ClusterID: t.Record.ClusterID, Version: a.Version})
			}
		}
	}
}

// answer is what a member says of itself, or the node in a pod that is ready, where it is one of this cluster; nil where not.
func answer(v *view.View, p *model.Pod) *model.PodAnswer {
	if !p.Ready && !view.JoinedNotReady(v, p) {
		return nil
	}
	if a := v.Answer(p.Name); a != nil && a.ClusterID == v.Record.ClusterID && a.Version != "" {
		return a
	}
	return nil
}
