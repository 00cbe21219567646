package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// effectiveAllocation is cluster.routing.allocation.enable as it has effect.
func effectiveAllocation(ctx context.Context, s Session) (string, error) {
	rows, err := s.Strings(ctx, allocation)
	if err != nil {
		return "", fmt.Errorf("reading cluster.routing.allocation.enable: %w", err)
	}
	if len(rows) != 1 || len(rows[0]) != 1 || rows[0][0] == "" {
		return "", errors.New("reading cluster.routing.allocation.enable: the answer is not one value")
	}
	return rows[0][0], nil
}

// lockAllocation sets the allocation lock and reads it back. Where a transient value hides it, the lock is given
// back, and that is the result.
func lockAllocation(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	s, err := t.system(ctx, a)
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	value, err := effectiveAllocation(ctx, s)
	switch {
	case err != nil:
		return model.Result{}, err
	case value == a.Allocation:
		return model.Result{Message: "replica allocation is held already"}, nil
	case value != a.Before:
		return model.Result{}, fmt.Errorf("holding the allocation of replicas: cluster.routing.allocation.enable is '%s' and not '%s': somebody has changed it", value, a.Before)
	}
	if _, err := s.Exec(ctx, setAllocation(a.Allocation)); err != nil {
		return model.Result{}, fmt.Errorf("holding the allocation of replicas: %w", err)
	}
	if value, err = effectiveAllocation(ctx, s); err != nil {
		return model.Result{}, err
	}
	if value == a.Allocation {
		return model.Result{Message: "replica allocation is held"}, nil
	}
	if value != a.Before {
		// It was Before a moment ago: somebody has set this, in the place of ours or above
		// it, and what they have set is not written over.
		return model.Result{}, fmt.Errorf("holding the allocation of replicas: cluster.routing.allocation.enable is '%s' right after it was set to '%s': somebody has changed it", value, a.Allocation)
	}
	if _, err := s.Exec(ctx, setAllocation(a.Before)); err != nil {
		return model.Result{}, fmt.Errorf("taking back an allocation lock that a transient value hides: %w", err)
	}
	return model.Result{Code: model.ResultHidden, Message: "a transient value hides the allocation lock, which was given back"}, nil
}

// systemAndAllocation logs `system` in and looks at what is effective, before
// anything is written. The caller closes the session.
func systemAndAllocation(ctx context.Context, a model.Action, t Tools) (Session, string, error) {
	s, err := t.system(ctx, a)
	if err != nil {
		return nil, "", err
	}
	value, err := effectiveAllocation(ctx, s)
	if err != nil {
		s.Close()
		return nil, "", err
	}
	return s, value, nil
}

// unlockAllocation writes also where the value reads as before: a transient one
// may hide ours. Doing it twice does no harm.
func unlockAllocation(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	s, value, err := systemAndAllocation(ctx, a, t)
	if err != nil {
		return model.Result{}, err
	}
	defer s.Close()
	if value != a.Allocation && value != a.Before {
		return model.Result{}, fmt.Errorf("giving back the allocation of replicas: cluster.routing.allocation.enable is '%s', which somebody else has set", value)
	}
	if _, err := s.Exec(ctx, setAllocation(a.Before)); err != nil {
		return model.Result{}, fmt.Errorf("giving back the allocation of replicas: %w", err)
	}
	if value, err = effectiveAllocation(ctx, s); err != nil {
		return model.Result{}, err
	}
	if value == a.Allocation {
		return model.Result{}, fmt.Errorf("giving back the allocation of replicas: cluster.routing.allocation.enable is still '%s', by a transient value; run RESET GLOBAL \"cluster.routing.allocation.enable\"", value)
	}
	return model.Result{Message: "replica allocation is given back"}, nil
}

// restartPod asks the node in the pod once more, then deletes the pod. What has
// changed since the decision is an error, and is decided again.
func restartPod(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	if err := askOnceMore(ctx, a, t); err != nil {
		return model.Result{}, err
	}
	if err := keepsVolumes(ctx, a, t, a.Pod); err != nil {
		return model.Result{}, err
	}
	err := orGone(t.Objects.RestartPod(ctx, a.Pod, a.PodUID, !a.Unready))
	return model.Result{Message: "the pod was deleted, to be restarted"}, err
}

// restartZone asks once more, then deletes the pods one after the other. One that
// is gone or going already is no error; what is left standing is decided again.
func restartZone(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	if err := askOnceMore(ctx, a, t); err != nil {
		return model.Result{}, err
	}
	if err := keepsVolumes(ctx, a, t, zonePods(a.Pods)...); err != nil {
		return model.Result{}, err
	}
	for _, ref := range strings.Split(a.Pods, ",") {
		name, uid, ok := strings.Cut(ref, "/")
		if !ok {
			return model.Result{}, fmt.Errorf("%q is no pod and its UID", ref)
		}
		if err := orGone(t.Objects.RestartPod(ctx, name, uid, true)); err != nil {
			return model.Result{}, err
		}
	}
	return model.Result{Message: "the pods of the zone were deleted, to be restarted"}, nil
}

func askOnceMore(ctx context.Context, a model.Action, t Tools) error {
	s, value, err := systemAndAllocation(ctx, a, t)
	if err != nil {
		return err
	}
	defer s.Close()
	if value != a.Allocation {
		return fmt.Errorf("cluster.routing.allocation.enable is '%s' and not '%s' any more", value, a.Allocation)
	}
	if err := lookHealth(ctx, s, a.Whole); err != nil {
		return err
	}
	if a.Green {
		tables, err := s.Strings(ctx, notGreen)
		if err != nil {
			return fmt.Errorf("reading the health once more: %w", err)
		}
		if len(tables) > 0 {
			return fmt.Errorf("%d table(s) are not green any more", len(tables))
		}
	}
	if a.LosesVolume {
		if err := copiesElsewhere(ctx, s, a.NodeNames); err != nil {
			return err
		}
	}
	if a.NodeIDs != "" {
		if err := staysEmpty(ctx, s, a.NodeIDs); err != nil {
			return err
		}
	}
	if !a.Repair {
		if err := nothingFound(ctx, s); err != nil {
			return err
		}
	}
	// Last: of a range of replicas the health stays green while a node is away.
	nodes, err := s.Strings(ctx, nodeNames)
	if err != nil {
		return fmt.Errorf("looking for the nodes once more: %w", err)
	}
	return allThere(nodes, 0, a.Members, a.NodeNames)
}

// nothingFound is an error where one of gates.Questions finds something by now, or has no answer.
func nothingFound(ctx context.Context, s Session) error {
	for _, rule := range gates.Questions {
		rows, err := s.Strings(ctx, rule.Asks.SQL)
		if err != nil {
			return fmt.Errorf("looking once more whether %s: %w", rule.Asks.What, err)
		}
		if reason, holds := rule.Holds(rule.Asks.Answer(rows), ""); holds {
			return fmt.Errorf("%s: %s", reason.Name, reason.Message)
		}
	}
	return nil
}

// staysEmpty is an error where a shard is on one of these nodes, or on its way there: a pod is about to come
// back without the disk on which it may be.
func staysEmpty(ctx context.Context, s Session, ids string) error {
	rows, err := s.Strings(ctx, copies)
	if err != nil {
		return fmt.Errorf("looking for shards on the drained node once more: %w", err)
	}
	for _, r := range rows {
		if slices.Contains(entries(ids), r[5]) || slices.Contains(entries(ids), r[7]) {
			return fmt.Errorf("shard %s of %s.%s is on the drained node %s by now, or on its way there", r[3], r[0], r[1], r[6])
		}
	}
	return nil
}

// allThere is an error where one of the members has left, whoever has come meanwhile, or
// where it does not answer the node that was asked. Its name is in that column, and its
// version in the next. Those that are about to be restarted need not answer: it is what heals
// them.
func allThere(nodes [][]string, column int, members, restarted string) error {
	unreachable := func(r []string) bool { return len(r) > column+1 && r[column+1] == "" }
	for _, name := range entries(members) {
		i := slices.IndexFunc(nodes, func(r []string) bool { return len(r) > column && r[column] == name })
		switch {
		case i < 0:
			return fmt.Errorf("node %s is not there any more", name)
		case unreachable(nodes[i]) && !slices.Contains(entries(restarted), name):
			return fmt.Errorf("node %s does not answer the other nodes: it may have ended, and what they know of it may be old", name)
		}
	}
	return nil
}
