package execute

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// keepsVolumes is an error where one of the pods would take a volume with it, and nobody has
// agreed to that: somebody has deleted its claim since the decision.
func keepsVolumes(ctx context.Context, a model.Action, t Tools, pods ...string) error {
	return deletedClaim(ctx, a, t, func(c *model.Claim) bool { return slices.ContainsFunc(pods, c.Of) })
}

// staysDrained is an error where the volume of a drained node goes with its pod by now: what is given
// back lets shards come to that volume. We may have deleted its claim ourselves, and the watch of claims
// has not shown it.
func staysDrained(ctx context.Context, a model.Action, t Tools) error {
	pods := entries(a.Pods)
	if len(pods) == 0 {
		return nil
	}
	return deletedClaim(ctx, a, t, func(c *model.Claim) bool { return c.Replace && slices.ContainsFunc(pods, c.Of) })
}

// setKeepsVolumes is that of all pods of a set.
func setKeepsVolumes(ctx context.Context, a model.Action, t Tools) error {
	return deletedClaim(ctx, a, t, func(c *model.Claim) bool {
		dash := strings.LastIndexByte(c.Name, '-')
		return dash > 0 && strings.HasSuffix(c.Name[:dash], "-"+a.Set)
	})
}

func deletedClaim(ctx context.Context, a model.Action, t Tools, of func(*model.Claim) bool) error {
	claims, err := t.Objects.DeletedClaims(ctx)
	if err != nil {
		return err
	}
	for i := range claims {
		c := &claims[i]
		if strings.HasPrefix(c.Name, "debug-") || slices.Contains(entries(a.Free), c.Name) {
			continue
		}
		if of(c) && !(a.LosesVolume && c.Replace) {
			return fmt.Errorf("claim %s is being deleted by now, and its volume would go with the pod, which stays", c.Name)
		}
	}
	return nil
}

// zonePods are the names of "name/uid" joined by commas.
func zonePods(refs string) []string {
	names := strings.Split(refs, ",")
	for i := range names {
		names[i], _, _ = strings.Cut(names[i], "/")
	}
	return names
}

// copiesElsewhere is the last look before a volume goes with its pod: an error where a shard on
// the node is started nowhere else, or `system` may not see all of them.
func copiesElsewhere(ctx context.Context, s Session, node string) error {
	rows, err := s.Strings(ctx, copies)
	if err != nil {
		return fmt.Errorf("looking for copies on other nodes once more: %w", err)
	}
	shard := func(r []string) string { return strings.Join(r[:4], "\x00") }
	started := map[string]bool{}
	for _, r := range rows {
		if r[4] == "STARTED" && r[6] != node {
			started[shard(r)] = true
		}
	}
	for _, r := range rows {
		if r[6] == node && !started[shard(r)] {
			return fmt.Errorf("shard %s of %s.%s is on node %s only by now, and its volume would go with the pod", r[3], r[0], r[1], node)
		}
	}
	return lookDenied(ctx, s)
}
