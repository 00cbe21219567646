package mutations

// adopted are what the pods of an adopted cluster stay up behind.
var adopted = []mutation{
	{"what was adopted keeps its template", "keepsAdopted", "return v.Record.KeepsAdopted(&v.Desired, set) && !restartAsked(v)", "return false && !restartAsked(v)", "ops", "TestWhatWasAdoptedIsDoneWithoutARestart"},
	{"and gets no other one in place", "templateWaits", "\tif view.KeepsAdopted(v, set) {\n\t\treturn true\n\t}\n", "", "ops", "TestWhatWasAdoptedIsDoneWithoutARestart"},
	{"a restart that is asked for releases it", "keepsAdopted", " && !restartAsked(v)", "", "ops", "TestWhatReleasesAnAdoptedTemplate"},
	{"and one that is under way", "restartAsked", "if view.Restarting(v) && !v.Record.Operation.Restart.Before.IsZero() {", "if false {", "ops", "TestAGroupThatWasEvictedMeanwhileIsReleasedToo"},
	{"another template releases it", "KeepsAdopted", " || a.Desired == d.Sets[i].Template", " || true", "ops", "TestWhatReleasesAnAdoptedTemplate"},
	{"what a lost record knew is on the StatefulSet", "AdoptedOf", "Desired: note.Desired}", "Desired: \"\"}", "ops", "TestWhatALostRecordKnewOfAnAdoptedSetIsOnIt"},
	{"a refused definition says nothing", "SettleAdopted", "desired != nil && !t.Rejected:", "desired != nil:", "ops", "TestADefinitionThatIsRefusedIsNotTheOneItWasAdoptedWith"},
	{"a pod of an adopted template is marked", "observeKubernetes", "\t\t\tsayAdopted(&out, observed.Sets)\n", "", "internal/daemon", "TestTheRecordedClusterOfCrateOperatorIsReadAsOneOfOurs"},
	{"it is forgotten only when no pod has it", "SettleAdopted", "replacedAdopted(live) && !t.AnyPod(old) && !mayReturn:", "replacedAdopted(live) && (true || !t.AnyPod(old) && !mayReturn):", "ops", "TestALostRecordInTheMiddleOfTheRestartLeavesNoPodBehind"},
	{"a policy that keeps all claims is the default", "filledIn", `policy["whenDeleted"] == "Retain" && policy["whenScaled"] == "Retain"`, `len(policy) > 9`, "internal/daemon", "TestTheRecordedClusterOfCrateOperatorIsReadAsOneOfOurs"},
	{"an adopted template counts the nodes that there are", "effective", "if !kept && !present && view.KeepsAdopted(&t.View, s.Name) {", "if false {", "ops", "TestWhatKeepsAnAdoptedTemplate"},
	{"a volume is replaced on an adopted template", "templateApplied", " && !view.KeepsAdopted(v, s.Name)", "", "ops", "TestTheVolumesOfAnAdoptedClusterAreReplacedOnItsTemplate"},

	{"a guard is closed before a StatefulSet is away", "closing", "case !b.closed():", "case false:", "ops/adopt", "TestAnAdoptionThatIsKilledAnywhereEndsForwardsAndBack"},
	{"crate-operator's budgets stay until the daemon has its own", "opening", "b == nil || !b.Ours || !b.Seen", "false && (b == nil || !b.Ours || !b.Seen)", "ops/adopt", "TestAnAdoptionThatIsKilledAnywhereEndsForwardsAndBack"},
	{"a budget loses its owner, too", "detaching", `case d.Kind == "StatefulSet":`, `case d.Kind == "StatefulSet", d.Kind == "PodDisruptionBudget":`, "ops/adopt", "TestAnUnattendedAdoptionKeepsItsPodsUntilADaemonComes"},
	{"a way back that is given up is an adoption again", "Adopted", " && s.Returning == nil", "", "ops/adopt", "TestAnAdoptionThatIsKilledAnywhereEndsForwardsAndBack"},
	{"an adoption by half is not refused for its health", "Refusals", "case r.Saved == nil:\n\t\tbegin(", "case true:\n\t\tbegin(", "ops/adopt", "TestAnAdoptionByHalfIsNeverRefusedForItsHealth"},
	{"only a person takes the last step", "Steps", "if wish.Finish {", "if true {", "ops/adopt", "TestTheObjectGoesOnlyWithFinish"},
	{"settings are taken off after they are kept", "Steps", "(wish.Reset || len(r.saved().Settings) > 0)", "wish.Reset && r.Saved == nil", "ops/adopt", "TestSettingsAreTakenOffOnceTheyAreKept"},
	{"a cluster that has grown keeps its pods", "source", "if was != is {", "if false && was != is {", "internal/adopt", "TestAStatefulSetThatHasGrownKeepsItsPodsInBothDirections"},
	{"a claim is not born with an owner", "asOurs", `unstructured.RemoveNestedField(template, "metadata", "ownerReferences")`, "_ = template", "internal/adopt", "TestAStatefulSetIsMadeAgainWithTheSamePodsAndNothingThatTiesIt"},
	{"no password is kept", "essence", "strings.HasPrefix(key, adopt.OperatorPrefix)", `strings.HasPrefix(key, "?")`, "internal/adopt", "TestNoValueOfASecretIsKept"},
	{"an earlier restore is not this one", "restoring", `last["ref"] != begun`, `last["ref"] == nil && begun == "?"`, "internal/adopt", "TestARestoreHasEndedOnceItsSnapshotWasReset"},
	{"the right to delete the guard is asked for", "rightsFor", `"create", "patch", "delete")`, `"create", "patch")`, "internal/adopt", "TestARightThatIsMissingIsRefusedBeforeTheFirstWrite"},
	{"who writes the object meanwhile is seen", "unwatched", "live.GetResourceVersion() != r.Object.Version", `live.GetResourceVersion() == ""`, "internal/adopt", "TestAWriteOfSomebodyElseIsNoticedBeforeTheNextOne"},
}
