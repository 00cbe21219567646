package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/access"
	"stevedore.dev/stevedore/ops/model"
)

// system logs in as `system`, with the password that its Secret has now.
func (t Tools) system(ctx context.Context, a model.Action) (Session, error) {
	password, err := t.password(ctx, model.SecretKey{Name: a.SystemSecret, Key: access.SystemKey}, model.SecretVersion{})
	if err != nil {
		return nil, err
	}
	session, err := t.Database.Login(ctx, a.Pod, names.SystemUser, password)
	if err != nil {
		return nil, fmt.Errorf("logging in as %s: %w", names.SystemUser, err)
	}
	return session, nil
}

// superuser is CrateDB's only one. CREATE USER crate succeeds and replaces it by
// a user without privileges.
const superuser = "crate"

// setUser makes a user with all privileges and its Secret's password.
func setUser(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	if a.User == superuser || a.User == names.SystemUser || a.User == "" {
		return model.Result{}, fmt.Errorf("user %q is not one to be made; name another in spec.users", a.User)
	}
	password, err := t.password(ctx, a.Secret, a.SecretVersion)
	if err != nil {
		return model.Result{}, err
	}
	system, err := t.system(ctx, a)
	if err != nil {
		return model.Result{}, err
	}
	defer system.Close()

	result := model.Result{SecretVersion: a.SecretVersion, Message: "user created"}
	_, err = system.Exec(ctx, createUser(a.User), password)
	existed := errors.Is(err, ErrUserExists)
	var before theirs
	set := false
	if existed {
		before = privilegesOf(ctx, system, a.User)
		result.Message = "user existed, its password was set"
		if t.verify(ctx, a.Pod, a.User, password) == nil {
			result.Message = "user existed and logs in"
			err = nil
		} else {
			_, err = system.Exec(ctx, alterUser(a.User), password)
			set = true
		}
	}
	if err != nil {
		return model.Result{}, fmt.Errorf("making the user: %w", err)
	}
	if _, err := system.Exec(ctx, grantAll(a.User)); err != nil {
		return model.Result{}, fmt.Errorf("granting all privileges: %w", err)
	}
	if existed {
		result.Overwrote = before.overwritten(a, set)
	}
	return result, t.verify(ctx, a.Pod, a.User, password)
}

// theirs are the privileges that a user had before it was ours: what it was denied on the
// whole cluster, which GRANT takes off, and on schemas and tables, which stays.
type theirs struct {
	known           bool
	denied, remains []string
}

func privilegesOf(ctx context.Context, s Session, user string) theirs {
	rows, err := s.Strings(ctx, userPrivileges, user)
	if err != nil {
		return theirs{} // nothing depends on it but the words
	}
	p := theirs{known: true}
	for _, r := range rows {
		switch {
		case len(r) != 4 || r[0] != "DENY":
		case r[2] == "CLUSTER":
			p.denied = append(p.denied, r[1])
		default:
			p.remains = append(p.remains, r[1]+" on "+strings.ToLower(r[2])+" "+r[3])
		}
	}
	slices.Sort(p.denied)
	slices.Sort(p.remains)
	return p
}

// overwritten says what of somebody's is not as it was; "" where all is.
func (p theirs) overwritten(a model.Action, set bool) string {
	if !set && len(p.denied) == 0 && len(p.remains) == 0 {
		return ""
	}
	words := fmt.Sprintf("user %q existed before this definition named it", a.User)
	if set {
		words += fmt.Sprintf("; its password was replaced by that of Secret %s, and whoever used the one before cannot log in any more", a.Secret.Name)
	}
	if len(p.denied) > 0 {
		words += "; it was denied " + strings.Join(p.denied, ", ") + " on the whole cluster, and has all privileges now, as the definition says of each user"
	}
	if len(p.remains) > 0 {
		words += "; it is denied " + strings.Join(p.remains, ", ") + " as before, which GRANT does not take off"
	}
	if !p.known {
		words += "; which privileges it had could not be read, and it has all now"
	}
	return words
}

// verifyUser distinguishes a changed password from a changed Secret. A refusal counts
// only while the same pod lets `system` in: 28000 is also what a leaving node
// and a cluster before gateway recovery answer.
func verifyUser(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	password, err := t.password(ctx, a.Secret, a.SecretVersion)
	if err != nil {
		return model.Result{}, err
	}
	result := model.Result{SecretVersion: a.SecretVersion, Message: "the user logs in with its Secret's password"}
	err = t.verify(ctx, a.Pod, a.User, password)
	if err == nil || !errors.Is(err, ErrLoginRefused) {
		return result, err
	}
	system, err := t.system(ctx, a)
	if err != nil {
		return model.Result{}, err
	}
	system.Close()
	result.Code, result.Message = model.ResultRefused, "the database does not take the Secret's password for the user"
	return result, nil
}

// changePassword gives a user that exists its Secret's password. It looks first:
// a process that was killed may have done it already. A user that is gone is an
// error, and is made by another decision.
func changePassword(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	if a.User == superuser || a.User == names.SystemUser || a.User == "" {
		return model.Result{}, fmt.Errorf("the password of user %q is not one to be changed; name another in spec.users", a.User)
	}
	password, err := t.password(ctx, a.Secret, a.SecretVersion)
	if err != nil {
		return model.Result{}, err
	}
	result := model.Result{SecretVersion: a.SecretVersion, Message: "the user logs in with its Secret's password already"}
	if err := t.verify(ctx, a.Pod, a.User, password); err == nil {
		return result, nil
	} else if !errors.Is(err, ErrLoginRefused) {
		return model.Result{}, err
	}
	system, err := t.system(ctx, a)
	if err != nil {
		return model.Result{}, err
	}
	defer system.Close()
	if _, err := system.Exec(ctx, alterUser(a.User), password); err != nil {
		return model.Result{}, fmt.Errorf("changing the password: %w", err)
	}
	result.Message = "the user's password was changed to its Secret's"
	return result, t.verify(ctx, a.Pod, a.User, password)
}

// acknowledge quietens node check 1 (expected data nodes), and reads it back.
func acknowledge(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	system, err := t.system(ctx, a)
	if err != nil {
		return model.Result{}, err
	}
	defer system.Close()
	if _, err := system.Exec(ctx, acknowledgeChecks); err != nil {
		return model.Result{}, fmt.Errorf("acknowledging node check 1: %w", err)
	}
	open, err := system.Strings(ctx, openChecks)
	if err != nil {
		return model.Result{}, fmt.Errorf("reading node check 1 back: %w", err)
	}
	if len(open) > 0 {
		return model.Result{}, fmt.Errorf("node check 1 is still open on %d node(s)", len(open))
	}
	return model.Result{Message: "node check 1 is acknowledged on all nodes"}, nil
}
