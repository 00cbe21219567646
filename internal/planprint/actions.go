package planprint

import (
	"cmp"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
)

// sentences say for people what a step does to its target, which comes after them. JSON has the name
// of the action.
var sentences = map[string]string{
	plan.ActionApply:                          "apply StatefulSet",
	string(model.ActionCreateSystemSecret):    "make Secret",
	string(model.ActionLabelSecret):           "label Secret",
	string(model.ActionSetLicense):            "set the licence of Secret",
	string(model.ActionSetSystemUser):         "set the password of user",
	string(model.ActionSetUser):               "make user",
	string(model.ActionVerifyUser):            "try the password of user",
	string(model.ActionChangePassword):        "change the password of user",
	string(model.ActionAnnotateClaim):         "write the cluster id on volume claim",
	string(model.ActionAcknowledgeNodeChecks): "acknowledge node check 1 of the",
	string(model.ActionSetBudget):             "set PodDisruptionBudget",
	string(model.ActionRecreatePod):           "recreate pod",
	string(model.ActionReplaceStuckPod):       "replace stuck pod",
	string(model.ActionRecoverPod):            "recreate pod",
	string(model.ActionLockAllocation):        "take the allocation lock for",
	string(model.ActionUnlockAllocation):      "give the allocation lock back for",
	string(model.ActionRestartPod):            "restart pod",
	string(model.ActionRestartZone):           "restart the pods of",
	string(model.ActionSuspendSet):            "stop all pods of StatefulSet",
	string(model.ActionStopSet):               "stop all pods of StatefulSet",
	string(model.ActionSetSettings):           "set",
	string(model.ActionResetSettings):         "reset",
	string(model.ActionExcludeNodes):          "exclude from allocation",
	string(model.ActionIncludeNodes):          "end the exclusion for",
	string(model.ActionExcludeInTable):        "change the filters of table",
	string(model.ActionIncludeInTable):        "give back the filters of table",
	string(model.ActionRetryAllocation):       "retry failed allocations of the",
	string(model.ActionShrinkSet):             "lower the replicas of",
	string(model.ActionDeleteSet):             "delete StatefulSet",
	string(model.ActionForgetOwned):           "remove our note from",
	string(model.ActionDeleteObject):          "delete",
	string(model.ActionGrowClaim):             "change volume claim",
	string(model.ActionDeleteClaims):          "delete the volume claims of pod",
	string(model.ActionRecreateSet):           "recreate StatefulSet",
	string(model.ActionSetRepository):         "create snapshot repository",
	string(model.ActionCreateSnapshot):        "take snapshot",
	string(model.ActionDropSnapshot):          "drop snapshot",
	string(model.ActionRestoreUsers):          "restore the users of",
	string(model.ActionRestoreTables):         "restore the tables of",
	string(model.ActionDropRestored):          "drop incomplete tables of",
	string(model.ActionEndRestore):            "end the restore from",
	string(model.ActionResizePod):             "resize pod",
	string(model.ActionFetchTables):           "restore tables of",
	string(model.ActionDropFetched):           "drop incomplete tables of",
	string(model.ActionPrepareSwap):           "prepare the swap of table",
	string(model.ActionSwapTables):            "swap table",
	string(model.ActionDropCopy):              "drop the copy of table",
	string(model.ActionDropKept):              "drop what was kept of table",
}

// inTurns say it of the pod that is named before.
var inTurns = map[string]string{
	string(model.ActionLockAllocation):   "take the allocation lock",
	string(model.ActionUnlockAllocation): "give the allocation lock back",
	string(model.ActionRestartPod):       "restart the pod",
}

// sentence is what a step does, before its target.
func sentence(action string) string { return cmp.Or(sentences[action], action) }

// inTurn is what it does to the target that is named before; ok is false where it has to be named.
func (r row) inTurn() (words string, ok bool) {
	if len(r.targets) != 1 || r.targets[0] != "…" || r.detail != "" {
		return "", false
	}
	words, ok = inTurns[r.action]
	return words, ok
}
