package ops

import (
	"slices"

	"stevedore.dev/stevedore/ops/gates"
)

func (t *turn) user(name string) *RecordedUser {
	for i := range t.r.Bootstrap.Users {
		if t.r.Bootstrap.Users[i].Name == name {
			return &t.r.Bootstrap.Users[i]
		}
	}
	return nil
}

// putUser copies before it writes: the record that was given stays as it was.
func putUser(users []RecordedUser, u RecordedUser) []RecordedUser {
	next := slices.Clone(users)
	for i := range next {
		if next[i].Name == u.Name {
			next[i] = u
			return next
		}
	}
	return append(next, u)
}

// labelSecrets puts crate-operator's label on the users' Secrets, before their
// versions are noted.
func (t *turn) labelSecrets() {
	for i, u := range t.d.Users {
		s := t.secret(u.Secret.Name)
		again := slices.ContainsFunc(t.d.Users[:i], func(o User) bool { return o.Secret.Name == u.Secret.Name })
		if s.Exists && !s.Labelled && !again {
			t.harmless(Action{Kind: ActionLabelSecret, Secret: SecretKey{Name: s.Name}})
		}
	}
}

// users makes each of spec.users. One whose Secret is missing stops no other.
func (t *turn) users() {
	for _, u := range t.d.Users {
		s := t.secret(u.Secret.Name)
		if !s.has(u.Secret.Key) {
			t.wait(gates.SecretMissing(u.Secret.Name, u.Secret.Key, "the password of user "+u.Name, s.Exists))
			continue
		}
		if !s.Labelled {
			continue // its version is about to change
		}
		t.makeUser(u, s)
	}
	if !t.r.Bootstrap.Done {
		return
	}
	unwanted := func(r RecordedUser) bool {
		return !slices.ContainsFunc(t.d.Users, func(u User) bool { return u.Name == r.Name })
	}
	if !slices.ContainsFunc(t.r.Bootstrap.Users, unwanted) {
		return
	}
	t.r.Bootstrap.Users = slices.DeleteFunc(slices.Clone(t.r.Bootstrap.Users), func(r RecordedUser) bool {
		if !unwanted(r) {
			return false
		}
		if t.dropped(r.Name) {
			return true // somebody did what the refusal asks for
		}
		t.refusal(gates.UserRemoval(r.Name))
		return false
	})
}

// dropped says that the database has no such user; only a cluster that has
// recovered can say so.
func (t *turn) dropped(user string) bool {
	return t.contact() && t.o.Database.UsersKnown && t.o.Database.Recovered == Yes && !slices.Contains(t.o.Database.Users, user)
}

func (t *turn) makeUser(u User, s Secret) {
	pod := t.sqlPod()
	if !t.contact() || pod == "" || t.r.Bootstrap.System.UID == "" {
		return // systemUser has said why
	}
	r := t.user(u.Name)
	var next RecordedUser
	if r != nil {
		next = *r
	}
	next.Name = u.Name
	if next.Overwrote != "" {
		t.report(Report{Event: EventFeedback, Operation: "update", Action: "password_update", Reason: "UserOverwritten", Status: StatusSuccess, Warning: true, Message: next.Overwrote})
		next.Overwrote = ""
		t.r.Bootstrap.Users = putUser(t.r.Bootstrap.Users, next)
	}
	a := Action{Pod: pod, User: u.Name, Secret: u.Secret, SecretVersion: s.Version, SystemSecret: t.systemSecret()}
	made := next.Secret != (SecretVersion{})
	// A user that somebody dropped is made again.
	gone := t.dropped(u.Name)
	if why := s.Unusable[u.Secret.Key]; why != "" {
		t.oddPassword(u, s, next, made && !gone, a, why)
		return
	}
	switch {
	case !made || gone:
		a.Kind = ActionSetUser
	case next.Secret == s.Version && (next.Key == u.Secret.Key || next.Key == ""):
		t.passwordChanged(next)
		return
	case next.Refused != s.Version:
		a.Kind = ActionVerifyUser
		t.harmless(a)
		return
	case t.r.Bootstrap.Done:
		t.changePassword(next, a)
		return
	default:
		a.Kind = ActionSetUser
	}
	if next.Pending != s.Version {
		next.Pending = s.Version
		t.r.Bootstrap.Users = putUser(t.r.Bootstrap.Users, next)
	}
	t.harmless(a)
}

// oddPassword: what nobody can type, or the login does not take, is made nobody's password.
// Where the user logs in with it already it stays; whether it does is what a login says.
func (t *turn) oddPassword(u User, s Secret, r RecordedUser, made bool, a Action, why string) {
	purpose := "the password of user " + u.Name
	switch {
	case made && r.Secret == s.Version && (r.Key == u.Secret.Key || r.Key == ""):
		t.passwordChanged(r)
		t.wait(gates.PasswordOdd(s.Name, u.Secret.Key, purpose, why))
	case made && r.Refused != s.Version:
		a.Kind = ActionVerifyUser
		t.harmless(a)
	default:
		t.refusal(gates.PasswordUnusable(s.Name, u.Secret.Key, purpose, why))
	}
}

// unmade are the users that a bootstrap ends without: they cannot be made before a person
// does something, and the cluster has all else.
func (t *turn) unmade() (names []string, waits bool) {
	for _, u := range t.d.Users {
		if r := t.user(u.Name); r != nil && r.Secret != (SecretVersion{}) {
			continue
		}
		s := t.secret(u.Secret.Name)
		if s.Unusable[u.Secret.Key] == "" && !t.keepsFailing(u.Name) {
			return nil, true
		}
		names = append(names, u.Name)
	}
	return names, false
}

// keepsFailing: making the user has failed so often that nobody else waits for it; it is
// tried on.
func (t *turn) keepsFailing(user string) bool {
	return slices.ContainsFunc(t.o.Failures, func(f Failure) bool {
		return f.Action.Kind == ActionSetUser && f.Action.User == user && f.Count >= passwordAttempts
	})
}

// claims writes on each volume claim whose data it carries, as soon as the pod
// that runs on it has said so itself.
func (t *turn) claims() {
	if t.r.ClusterID == "" {
		return
	}
	for i := range t.o.Claims {
		c := &t.o.Claims[i]
		if c.ClusterID != "" && c.ClusterID != t.r.ClusterID {
			reason, _ := gates.ClaimOfAnotherCluster(c.Name, c.ClusterID, t.r.ClusterID)
			t.refusal(reason)
			continue
		}
		if c.ClusterID != "" && c.Version == t.r.HighestVersion {
			continue // it says all that a pod could
		}
		p := t.pod(c.Set, c.Ordinal)
		if p == nil || !p.Ready {
			continue
		}
		a := t.answer(p.Name)
		if a == nil || a.ClusterID != t.r.ClusterID || a.Version == "" {
			continue
		}
		if c.ClusterID == "" || c.Version == "" || gates.Compare(a.Version, c.Version) > 0 {
			t.harmless(Action{Kind: ActionAnnotateClaim, Claim: c.Name, ClusterID: t.r.ClusterID, Version: a.Version})
		}
	}
}
