package execute

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
)

func createSystemSecret(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	password, err := t.Password()
	if err != nil {
		return model.Result{}, err
	}
	err = t.Objects.CreateSecret(ctx, a.Secret.Name, map[string][]byte{a.Secret.Key: []byte(password)})
	switch {
	case errors.Is(err, ErrExists):
		return model.Result{Message: "the Secret existed already and stays as it is"}, nil
	case err != nil:
		return model.Result{}, err
	}
	return model.Result{Message: "the Secret was made with a random password"}, nil
}

// setLicense runs SET LICENSE, which is idempotent; from 4.5 on it does nothing.
func setLicense(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	key, err := t.password(ctx, a.Secret, a.SecretVersion)
	if err != nil {
		return model.Result{}, err
	}
	if _, err := t.Crash.Run(ctx, a.Pod, setLicenseStatement(strings.TrimSpace(key))); err != nil {
		return model.Result{}, fmt.Errorf("setting the licence: %w", err)
	}
	return model.Result{SecretVersion: a.SecretVersion, Message: "licence: set"}, nil
}

// setSystemUser makes `system` log in with its Secret's password. What `crash`
// is given stays in the database's job log, so it gives `system` a random
// one-time password only; `system` itself then sets the real one, bound.
//
// Before the gateway has recovered CREATE USER waits and then fails, so an
// existing user is never taken for a missing one.
func setSystemUser(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	real, err := t.password(ctx, a.Secret, a.SecretVersion)
	if err != nil {
		return model.Result{}, err
	}
	result := model.Result{SecretVersion: a.SecretVersion, Message: "system user: it logs in already"}
	session, err := t.Database.Login(ctx, a.Pod, names.SystemUser, real)
	switch {
	case err == nil:
		defer session.Close()
		if granted(ctx, session, names.SystemUser) {
			return result, nil
		}
		return result, t.crashGrant(ctx, a.Pod)
	case !errors.Is(err, ErrLoginRefused):
		return model.Result{}, err
	}

	if err := t.sameCluster(ctx, a); err != nil {
		return model.Result{}, err
	}
	once, err := t.Password()
	if err != nil {
		return model.Result{}, err
	}
	// One who has privileges is there. Whoever has none may be, too.
	privileged := t.crashGranted(ctx, a.Pod)
	result.Message = "system user: created"
	if !privileged {
		_, err = t.Crash.Run(ctx, a.Pod, createUserLiteral(names.SystemUser, once))
	}
	if privileged || errors.Is(err, ErrUserExists) {
		result.Message = "system user: it existed, its password was set"
		_, err = t.Crash.Run(ctx, a.Pod, alterUserLiteral(names.SystemUser, once))
	}
	if err != nil {
		return model.Result{}, fmt.Errorf("giving it a one-time password: %w", err)
	}
	// The grant comes before the real password: who logs in with that one has
	// all privileges. What is there already is not done again: the fewer writes
	// there are until the real password is set, the surer a process that keeps
	// dying comes there.
	if !privileged {
		if err := t.crashGrant(ctx, a.Pod); err != nil {
			return model.Result{}, err
		}
	}
	if err := t.setOwnPassword(ctx, a.Pod, once, real); err != nil {
		return model.Result{}, err
	}
	return result, t.verify(ctx, a.Pod, names.SystemUser, real)
}

// sameCluster asks the node itself, as its superuser, whether it is of the
// cluster that is to be repaired; a node before gateway recovery, or on another
// cluster's volume, refuses `system` just the same.
func (t Tools) sameCluster(ctx context.Context, a model.Action) error {
	if a.ClusterID == "" {
		return nil
	}
	said, err := t.Crash.Run(ctx, a.Pod, clusterID)
	if err != nil {
		return fmt.Errorf("asking pod %s for its cluster: %w", a.Pod, err)
	}
	if !strings.Contains(said, `"`+a.ClusterID+`"`) {
		return fmt.Errorf("pod %s is not of the cluster with the id %s: the password of its user system stays as it is", a.Pod, a.ClusterID)
	}
	return nil
}

// crashGranted is false when it cannot be read: granting again does no harm.
func (t Tools) crashGranted(ctx context.Context, pod string) bool {
	said, err := t.Crash.Run(ctx, pod, systemPrivileges)
	return err == nil && strings.Count(said, `"type"`) >= allPrivileges
}

func (t Tools) crashGrant(ctx context.Context, pod string) error {
	if _, err := t.Crash.Run(ctx, pod, grantAll(names.SystemUser)); err != nil {
		return fmt.Errorf("granting it all privileges: %w", err)
	}
	return nil
}

func (t Tools) setOwnPassword(ctx context.Context, pod, once, real string) error {
	session, err := t.Database.Login(ctx, pod, names.SystemUser, once)
	if err != nil {
		return fmt.Errorf("logging in with its one-time password: %w", err)
	}
	defer session.Close()
	if _, err := session.Exec(ctx, alterUser(names.SystemUser), real); err != nil {
		return fmt.Errorf("setting its password: %w", err)
	}
	return nil
}

func (t Tools) verify(ctx context.Context, pod, user, password string) error {
	session, err := t.Database.Login(ctx, pod, user, password)
	if err != nil {
		return fmt.Errorf("verifying the password by a login: %w", err)
	}
	session.Close()
	return nil
}

// granted reports whether a user has all privileges on the cluster; false when
// it cannot be read, since granting again does no harm.
func granted(ctx context.Context, s Session, user string) bool {
	rows, err := s.Strings(ctx, clusterPrivileges, user)
	return err == nil && len(rows) >= allPrivileges
}
