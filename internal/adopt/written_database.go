package adopt

import (
	"context"
	"errors"
	"fmt"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/adopt"
	"stevedore.dev/stevedore/ops/cratedb"
	"stevedore.dev/stevedore/ops/execute"
)

// Superuser works in CrateDB as its superuser crate, who needs no password over a port-forward: CrateDB
// trusts whoever comes from within the pod, in its own configuration and in that of its image.
type Superuser interface {
	// Look reads a cluster, and notes what is known of the user system.
	Look(ctx context.Context, pods []NamedPod, note *adopt.Written) adopt.Database
	// Make makes the user system with the password of its Secret and all privileges; of one that is there
	// it sets the password.
	Make(ctx context.Context, pods []NamedPod) error
	// Drop takes the user system away.
	Drop(ctx context.Context, pods []NamedPod) error
}

// superuser is CrateDB's only one.
const superuser = "crate"

// Look reads as the superuser: there may be no other user yet.
func (s SQL) Look(ctx context.Context, pods []NamedPod, note *adopt.Written) adopt.Database {
	target := cratedb.Target{User: superuser, Settings: leftovers}
	for _, p := range pods {
		target.Pods = append(target.Pods, cratedb.PodRef{Name: p.Pod, NodeName: p.Node})
	}
	read := s.client(pods).Observe(ctx, target)
	out := readingOf(read, len(pods))
	note.ClusterName = read.ClusterName
	if !out.Known {
		return out
	}
	note.User = contains(read.Users, names.SystemUser)
	if password, err := s.password(ctx); err == nil && note.User {
		session, err := s.client(pods).Login(ctx, pods[0].Pod, names.SystemUser, password)
		switch {
		case err == nil:
			note.Login = true
			session.Close()
		case !errors.Is(err, execute.ErrLoginRefused):
			out.Known, out.Why = false, err.Error()
		}
	}
	return out
}

func contains(list []string, one string) bool {
	for _, each := range list {
		if each == one {
			return true
		}
	}
	return false
}

// as runs statements as the superuser in the first pod.
func (s SQL) as(ctx context.Context, pods []NamedPod, what string, run func(execute.Session) error) error {
	if len(pods) == 0 {
		return fmt.Errorf("%s of cluster %s: no pod is there that could be asked: scale the StatefulSet up first, then run the command again", what, s.Cluster)
	}
	session, err := s.client(pods).Login(ctx, pods[0].Pod, superuser, "")
	if err != nil {
		return fmt.Errorf("%s of cluster %s: %w", what, s.Cluster, err)
	}
	defer session.Close()
	if err := run(session); err != nil {
		return fmt.Errorf("%s of cluster %s: %w", what, s.Cluster, err)
	}
	return nil
}

// Make binds the password: it stands in no statement, and so in no log.
func (s SQL) Make(ctx context.Context, pods []NamedPod) error {
	password, err := s.password(ctx)
	if err != nil {
		return fmt.Errorf("making the user %s of cluster %s: %w", names.SystemUser, s.Cluster, err)
	}
	create, again, grant := execute.MakeUser(names.SystemUser)
	return s.as(ctx, pods, "making the user "+names.SystemUser, func(session execute.Session) error {
		_, err := session.Exec(ctx, create, password)
		if errors.Is(err, execute.ErrUserExists) {
			_, err = session.Exec(ctx, again, password)
		}
		if err != nil {
			return err
		}
		_, err = session.Exec(ctx, grant)
		return err
	})
}

// Drop leaves everything but the user.
func (s SQL) Drop(ctx context.Context, pods []NamedPod) error {
	return s.as(ctx, pods, "dropping the user "+names.SystemUser, func(session execute.Session) error {
		_, err := session.Exec(ctx, execute.DropUser(names.SystemUser))
		return err
	})
}
