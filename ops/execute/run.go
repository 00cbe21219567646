package execute

import (
	"context"
	"errors"
	"fmt"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops"
)

// Run carries out one action. An error means that it failed or that its end is
// unknown: decide again, from a new observation. No error holds a secret.
func Run(ctx context.Context, action ops.Action, tools Tools) (ops.Result, error) {
	result, err := run(ctx, action, tools)
	if err != nil {
		return ops.Result{}, fmt.Errorf("%s %s: %w", action.Kind, action.Subject(), err)
	}
	return result, nil
}

func run(ctx context.Context, a ops.Action, t Tools) (ops.Result, error) {
	switch a.Kind {
	case ops.ActionCreateSystemSecret:
		return createSystemSecret(ctx, a, t)
	case ops.ActionLabelSecret:
		err := t.Objects.LabelSecret(ctx, a.Secret.Name, names.UserPasswordLabel, "true")
		return ops.Result{Message: "the Secret is labelled as a user's password"}, err
	case ops.ActionSetLicense:
		return setLicense(ctx, a, t)
	case ops.ActionSetSystemUser:
		return setSystemUser(ctx, a, t)
	case ops.ActionSetUser:
		return setUser(ctx, a, t)
	case ops.ActionVerifyUser:
		return verifyUser(ctx, a, t)
	case ops.ActionChangePassword:
		return changePassword(ctx, a, t)
	case ops.ActionAnnotateClaim:
		err := t.Objects.AnnotateClaim(ctx, a.Claim, map[string]string{
			names.ClusterIDAnnotation: a.ClusterID,
			names.VersionAnnotation:   a.Version,
		})
		return ops.Result{Message: "the volume claim says whose data it carries"}, err
	case ops.ActionAcknowledgeNodeChecks:
		return acknowledge(ctx, a, t)
	case ops.ActionSetBudget:
		err := t.Objects.SetBudget(ctx, a.Budget, a.Value)
		return ops.Result{Message: fmt.Sprintf("the disruption budget stands at %d", a.Value)}, err
	case ops.ActionHoldAllocation:
		return holdAllocation(ctx, a, t)
	case ops.ActionReleaseAllocation:
		return releaseAllocation(ctx, a, t)
	case ops.ActionRestartPod:
		return restartPod(ctx, a, t)
	case ops.ActionSuspendSet:
		err := t.Objects.ShrinkSet(ctx, a.Set, a.SetUID, a.SetVersion, a.From, a.Value)
		return ops.Result{Message: fmt.Sprintf("the StatefulSet went from %d to %d replicas, because its cluster is suspended", a.From, a.Value)}, err
	case ops.ActionStopSet:
		err := orGone(t.Objects.ShrinkSet(ctx, a.Set, a.SetUID, a.SetVersion, a.From, 0))
		return ops.Result{Message: fmt.Sprintf("the StatefulSet went from %d to 0 replicas, because its cluster is deleted", a.From)}, err
	case ops.ActionForgetHold:
		err := orGone(t.Objects.ForgetHold(ctx, a.Set, a.SetUID))
		return ops.Result{Message: "the StatefulSet's annotation says no longer that something is held"}, err
	case ops.ActionDeleteObject:
		err := t.Objects.DeleteObject(ctx, a.Object, a.SetUID, a.SetVersion)
		return ops.Result{Message: "the object is made no more and was deleted"}, err
	case ops.ActionSetSettings:
		return setSettings(ctx, a, t)
	case ops.ActionResetSettings:
		return resetSettings(ctx, a, t)
	case ops.ActionRestartZone:
		return restartZone(ctx, a, t)
	case ops.ActionExcludeNodes:
		return excludeNodes(ctx, a, t)
	case ops.ActionIncludeNodes:
		return includeNodes(ctx, a, t)
	case ops.ActionExcludeInTable, ops.ActionIncludeInTable:
		return filterTable(ctx, a, t)
	case ops.ActionRetryAllocation:
		return retryAllocation(ctx, a, t)
	case ops.ActionShrinkSet:
		return shrinkSet(ctx, a, t)
	case ops.ActionDeleteSet:
		err := orGone(t.Objects.DeleteSet(ctx, a.Set, a.SetUID, a.SetVersion))
		return ops.Result{Message: "the StatefulSet of a group that is gone was deleted; its volume claims stay"}, err
	case ops.ActionCurePod:
		return curePod(ctx, a, t)
	case ops.ActionRecoverPod:
		return recoverPod(ctx, a, t)
	case ops.ActionRecreatePod:
		err := orGone(t.Objects.DeletePod(ctx, a.Pod, a.PodUID))
		return ops.Result{Message: "the pod was deleted, to come back on its set's template"}, err
	}
	return ops.Result{}, errors.New("this action is not known; the daemon and what it reads are of different releases")
}

// orGone is the error of a write whose object may be gone already, which is as well.
func orGone(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// password is the value of a Secret's key, read from the API server; err when
// the Secret is not at the version that was decided on.
func (t Tools) password(ctx context.Context, key ops.SecretKey, version ops.SecretVersion) (string, error) {
	data, found, err := t.Secrets.Get(ctx, key.Name)
	if err != nil {
		return "", err
	}
	if version != (ops.SecretVersion{}) && found != version {
		return "", fmt.Errorf("reading Secret %s: it has changed since it was decided on and is decided again", key.Name)
	}
	value := data[key.Key]
	if len(value) == 0 {
		return "", fmt.Errorf("key %s of Secret %s is empty; put a value there", key.Key, key.Name)
	}
	return string(value), nil
}
