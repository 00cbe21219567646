package execute

import (
	"context"
	"errors"
	"fmt"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
)

// Run carries out one action. An error means that it failed or that its end is
// unknown: decide again, from a new observation. No error holds a secret.
func Run(ctx context.Context, action model.Action, tools Tools) (model.Result, error) {
	result, err := run(ctx, action, tools)
	if err != nil {
		return model.Result{}, fmt.Errorf("%s %s: %w", action.Kind, action.Subject(), err)
	}
	return result, nil
}

func run(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	switch a.Kind {
	case model.ActionCreateSystemSecret:
		return createSystemSecret(ctx, a, t)
	case model.ActionSetLicense:
		return setLicense(ctx, a, t)
	case model.ActionSetSystemUser:
		return setSystemUser(ctx, a, t)
	case model.ActionSetUser:
		return setUser(ctx, a, t)
	case model.ActionVerifyUser:
		return verifyUser(ctx, a, t)
	case model.ActionChangePassword:
		return changePassword(ctx, a, t)
	case model.ActionAcknowledgeNodeChecks:
		return acknowledge(ctx, a, t)
	case model.ActionLockAllocation:
		return lockAllocation(ctx, a, t)
	case model.ActionUnlockAllocation:
		return unlockAllocation(ctx, a, t)
	case model.ActionRestartPod:
		return restartPod(ctx, a, t)
	case model.ActionSetSettings:
		return setSettings(ctx, a, t)
	case model.ActionResetSettings:
		return resetSettings(ctx, a, t)
	case model.ActionRestartZone:
		return restartZone(ctx, a, t)
	case model.ActionExcludeNodes:
		return excludeNodes(ctx, a, t)
	case model.ActionIncludeNodes:
		return includeNodes(ctx, a, t)
	case model.ActionExcludeInTable, model.ActionIncludeInTable:
		return filterTable(ctx, a, t)
	case model.ActionRetryAllocation:
		return retryAllocation(ctx, a, t)
	case model.ActionDeleteClaims:
		return deleteClaims(ctx, a, t)
	case model.ActionShrinkSet:
		return shrinkSet(ctx, a, t)
	case model.ActionReplaceStuckPod:
		return replaceStuckPod(ctx, a, t)
	case model.ActionRecoverPod:
		return recoverPod(ctx, a, t)
	}
	if run, ok := onSnapshots[a.Kind]; ok {
		return run(ctx, a, t)
	}
	return writeObject(ctx, a, t)
}

// onSnapshots are the actions on repositories and snapshots.
var onSnapshots = map[model.ActionKind]func(context.Context, model.Action, Tools) (model.Result, error){
	model.ActionSetRepository:  setRepository,
	model.ActionCreateSnapshot: beginSnapshot,
	model.ActionDropSnapshot:   removeSnapshot,
	model.ActionRestoreUsers:   restoreUsers,
	model.ActionRestoreTables:  restoreTables,
	model.ActionDropRestored:   dropRestored,
	model.ActionFetchTables:    fetchTables,
	model.ActionDropFetched:    dropFetched,
	model.ActionPrepareSwap:    prepareSwap,
	model.ActionSwapTables:     swapTables,
	model.ActionDropCopy:       dropCopy,
	model.ActionDropKept:       dropKept,
	model.ActionEndRestore:     endRestore,
}

// writeObject carries out what is one write to Kubernetes and asks the database nothing. What
// stops or deletes names the object's UID: another object of that name stays.
func writeObject(ctx context.Context, a model.Action, t Tools) (model.Result, error) {
	switch a.Kind {
	case model.ActionLabelSecret:
		err := t.Objects.LabelSecret(ctx, a.Secret.Name, names.UserPasswordLabel, "true")
		return model.Result{Message: "the Secret is labelled as a user's password"}, err
	case model.ActionAnnotateClaim:
		err := t.Objects.AnnotateClaim(ctx, a.Claim, map[string]string{
			names.ClusterIDAnnotation: a.ClusterID,
			names.VersionAnnotation:   a.Version,
		})
		return model.Result{Message: "the volume claim says whose data it carries"}, err
	case model.ActionSetBudget:
		err := t.Objects.SetBudget(ctx, a.Budget, a.Value)
		return model.Result{Message: fmt.Sprintf("the disruption budget stands at %d", a.Value)}, err
	case model.ActionSuspendSet:
		err := setKeepsVolumes(ctx, a, t)
		if err == nil {
			err = t.Objects.ShrinkSet(ctx, a.Set, a.SetUID, a.SetVersion, a.From, a.Value)
		}
		return model.Result{Message: fmt.Sprintf("the StatefulSet went from %d to %d replicas, because its cluster is suspended", a.From, a.Value)}, err
	case model.ActionStopSet:
		err := orGone(t.Objects.ShrinkSet(ctx, a.Set, a.SetUID, a.SetVersion, a.From, 0))
		return model.Result{Message: fmt.Sprintf("the StatefulSet went from %d to 0 replicas, because its cluster is deleted", a.From)}, err
	case model.ActionForgetOwned:
		err := orGone(t.Objects.ForgetOwned(ctx, a.Set, a.SetUID))
		return model.Result{Message: "the StatefulSet's annotation says no longer that something is held"}, err
	case model.ActionDeleteObject:
		err := t.Objects.DeleteObject(ctx, a.Object, a.SetUID, a.SetVersion)
		return model.Result{Message: "the object is made no more and was deleted"}, err
	case model.ActionDeleteSet:
		err := orGone(t.Objects.DeleteSet(ctx, a.Set, a.SetUID, a.SetVersion))
		return model.Result{Message: "the StatefulSet of a group that is gone was deleted; its volume claims stay"}, err
	case model.ActionGrowClaim:
		err := t.Objects.GrowClaim(ctx, a.Claim, a.ClaimUID, a.Change)
		if errors.Is(err, ErrDropped) {
			return model.Result{Code: model.ResultDropped, Message: err.Error()}, nil
		}
		return model.Result{Message: "the volume claim asks for " + a.Change.Words()}, err
	case model.ActionResizePod:
		err := orGone(t.Objects.ResizePod(ctx, a.Pod, a.PodUID, a.Resources))
		return model.Result{Message: "the pod is asked to have " + a.Resources.Words()}, err
	case model.ActionRecreateSet:
		err := orGone(t.Objects.OrphanSet(ctx, a.Set, a.SetUID, a.SetVersion, a.From, entries(a.Pods), a.Budget, a.Value))
		return model.Result{Message: "the StatefulSet was deleted without its pods, to be recreated with other claim templates"}, err
	case model.ActionRecreatePod:
		err := keepsVolumes(ctx, a, t, a.Pod)
		if err == nil {
			err = orGone(t.Objects.DeletePod(ctx, a.Pod, a.PodUID))
		}
		return model.Result{Message: "the pod was deleted, to come back on its set's template"}, err
	}
	return model.Result{}, errors.New("this action is not known; the daemon and what it reads are of different releases")
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
func (t Tools) password(ctx context.Context, key model.SecretKey, version model.SecretVersion) (string, error) {
	data, found, err := t.Secrets.Get(ctx, key.Name)
	if err != nil {
		return "", err
	}
	if version != (model.SecretVersion{}) && found != version {
		return "", fmt.Errorf("reading Secret %s: it has changed since it was decided on and is decided again", key.Name)
	}
	value := data[key.Key]
	if len(value) == 0 {
		return "", fmt.Errorf("key %s of Secret %s is empty; put a value there", key.Key, key.Name)
	}
	return string(value), nil
}
