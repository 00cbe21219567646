package execute

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/access"
	"stevedore.dev/stevedore/ops/model"
)

// replaceStuckPod asks another node whether the one in the pod has joined meanwhile, or where
// none can be asked that one itself; Kubernetes says that it is ready only some time
// after that.
func replaceStuckPod(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	switch a.Ask {
	case "":
	case a.Pod:
		if err := stillUnreachable(ctx, a, t); err != nil {
			return model.Result{}, err
		}
	default:
		if err := stillAway(ctx, a, t); err != nil {
			return model.Result{}, err
		}
	}
	if err := keepsVolumes(ctx, a, t, a.Pod); err != nil {
		return model.Result{}, err
	}
	err := orGone(t.Objects.RestartPod(ctx, a.Pod, a.PodUID, false))
	return model.Result{Message: "the pod did not run and was deleted, to come back on its set's template"}, err
}

func stillAway(ctx context.Context, a model.Action, t Tools) error {
	asked := a
	asked.Pod = a.Ask
	s, err := t.system(ctx, asked)
	if err != nil {
		return err
	}
	defer s.Close()
	if a.LosesVolume {
		if err := lookHealth(ctx, s, a.Whole); err != nil {
			return err
		}
	}
	if a.Led {
		rows, err := s.Strings(ctx, masterNode)
		if err != nil {
			return fmt.Errorf("asking once more for the master: %w", err)
		}
		if len(rows) != 1 || len(rows[0]) != 1 || rows[0][0] == "" {
			return fmt.Errorf("there is no master any more, and node %s may be what it waits for: its pod stays", a.NodeNames)
		}
	}
	rows, err := s.Strings(ctx, nodeNames)
	if err != nil {
		return fmt.Errorf("asking once more whether node %s has joined: %w", a.NodeNames, err)
	}
	if slices.ContainsFunc(rows, func(r []string) bool { return len(r) > 0 && r[0] == a.NodeNames }) {
		return fmt.Errorf("node %s has joined meanwhile: its pod stays", a.NodeNames)
	}
	return nil
}

// stillUnreachable: a node that lets `system` in has joined, and its gateway has recovered.
// One that is stuck, or waits for others, does not. The superuser is let in before the
// gateway has recovered, and one that has a master takes part. A node that could not be
// asked in its own pod either may be well: it is not known to be silent.
func stillUnreachable(ctx context.Context, a model.Action, t Tools) error {
	password, err := t.password(ctx, model.SecretKey{Name: a.SystemSecret, Key: access.SystemKey}, model.SecretVersion{})
	if err != nil {
		return err
	}
	if s, err := t.Database.Login(ctx, a.Pod, names.SystemUser, password); err == nil {
		s.Close()
		return fmt.Errorf("the node in pod %s answers by now: its pod stays", a.Pod)
	}
	said, err := t.Crash.Run(ctx, a.Pod, masterNode)
	switch {
	case err == nil && masterless.MatchString(said), errors.Is(err, ErrCrashFailed):
		return nil
	case err == nil:
		return fmt.Errorf("the node in pod %s has a master by now: its pod stays", a.Pod)
	}
	return fmt.Errorf("asking the node in pod %s itself, which stays until it can be asked: %w", a.Pod, err)
}

// masterless is crash's answer where there is no master.
var masterless = regexp.MustCompile(`"master_node"\s*:\s*(null|"")`)

// recoverPod asks the node itself, as its superuser, once more: one that has recovered
// knows more users than that one.
func recoverPod(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	said, err := t.Crash.Run(ctx, a.Pod, userNames)
	if err != nil {
		return model.Result{}, fmt.Errorf("asking the node in pod %s whether it has recovered: %w", a.Pod, err)
	}
	if !strings.Contains(said, `"crate"`) || strings.Contains(said, `"`+a.User+`"`) {
		return model.Result{}, fmt.Errorf("the node in pod %s is not one that waits for others: it stays", a.Pod)
	}
	if err := keepsVolumes(ctx, a, t, a.Pod); err != nil {
		return model.Result{}, err
	}
	err = orGone(t.Objects.RestartPod(ctx, a.Pod, a.PodUID, !a.Unready))
	return model.Result{Message: "the pod waited for more nodes than there are and was deleted, to come back on its set's template"}, err
}
