package mutations

// replacements are what volumes are replaced behind: a deleted claim cannot come back.
var replacements = []mutation{
	{"one push does not ask for other volumes and consent to the deletion of the old ones", "MayReplace", "return v.Record.VolumesConsent && ", "return ", "ops", "TestNoVolumeIsReplacedWithoutWhatItNeeds"},
	{"the right is known before a node is drained", "replaceWaits", "case t.Observed.DeletesClaims == model.No:", "case false:", "ops", "TestNoVolumeIsReplacedWithoutWhatItNeeds"},
	{"a right that is not known is none", "replaceWaits", "case t.Observed.DeletesClaims == model.Unknown:", "case false:", "ops", "TestNoVolumeIsReplacedWithoutWhatItNeeds"},
	{"a node of few voters keeps its volume", "replaceWaits", "case view.FewVoters(&t.View, p):", "case false:", "ops", "TestAVolumeOfFewVotersIsNotReplaced"},
	{"a claim that somebody has made larger stays", "OnOtherVolume", "v.Record.Replacing.Shrinks(c.Set) && ", "v.Record.Replacing != nil && ", "ops", "TestAClaimOfAnotherGroupThatSomebodyHasMadeLargerStays"},
	{"no shard comes back to a drained node before its pod goes", "StillLeaving", "p != nil && !t.Desired.Removed", "p != nil && false && !t.Desired.Removed", "ops", "TestVolumesAreReplacedNodeByNode"},
	{"what is excluded stands beside what is held, should the record be lost", "RebuildHold", "rebuildExclusions(t, live.Name, said[\"excluded\"])", "_ = said", "ops", "TestAReplacementSurvivesAKillAtEachWrite"},
	{"a consent that is taken back stops it", "stays", "!aim.MayReplace(v), ", "", "ops", "TestAReplacementFollowsWhatIsDesiredByThen"},
	{"a node is looked at once more before its claims are deleted", "deleteClaims", "if err := lookEmpty(ctx, a, t); err != nil {", "if false {\n\t\tvar err error", "ops/execute", "TestASetIsLookedAtOnceMoreBeforeItIsMadeSmaller"},
	{"the claims of one drained node are deleted, and of no other", "deleteClaims", "len(claims) == 0 || len(entries(a.NodeIDs)) != 1", "len(claims) == 0", "ops/execute", "TestTheClaimsOfOneNodeAreDeleted"},
	{"a claim goes only under Kubernetes' protection", "DeleteClaim", "case !slices.Contains(claim.Finalizers, claimProtection):", "case len(slices.Clone(claim.Finalizers)) < 0:", "internal/daemon", "TestOnlyTheClaimThatWasDecidedOnIsDeletedAndNeverUnderAPod"},
	{"a claim of another UID is another volume", "DeleteClaim", ", err == nil && string(claim.UID) != uid:", ":", "internal/daemon", "TestOnlyTheClaimThatWasDecidedOnIsDeletedAndNeverUnderAPod"},
	{"what lacks a copy does not hold back a drained node without one", "move", " || emptied(&t.View, going)", "", "ops", "TestEachGateHoldsAPodBack"},
	{"a drained node with a copy is not empty", "emptied", "return !slices.ContainsFunc(v.Observed.Database.Shards, on)", "_ = on\n\treturn true", "ops", "TestEachGateHoldsAPodBack"},
	{"an only copy that comes back to a drained node is moved off again", "DrainAgain", "if !view.Refilled(&t.View) || aim.Stops(&t.View) {", "if true {", "ops", "TestAReplacementFollowsWhatIsDesiredByThen"},
	{"nodes that are desired come before a drain for other volumes that is blocked", "scale.left", "case sh.Replaces != \"\" && aim.NodesCome(&t.View) && view.Doomed(&t.View) == nil:", "case false:", "ops", "TestAReplacementFollowsWhatIsDesiredByThen"},
	{"a node whose volume goes comes back with another id", "ahead", "excludedThen(v, pods, away)", "db.Settings.Exclude", "ops", "TestEachGateHoldsAPodBack"},
	{"a group that is written back comes first", "start", "volume.TakesBack(t)", "false", "ops", "TestNothingBeginsWhileNobodyKnowsAStatefulSetThatIsGone"},
	{"a second node waits for the volume of the first", "StartReplace", "first != nil {", "first != nil && begun {", "ops", "TestASecondNodeWaitsForTheVolumeOfTheFirst"},
	{"of two nodes whose claims are being deleted the one that may go is first", "nextReplaced", "earlier = view.ReplacesVolume(v, p)", "", "ops", "TestWhichNodeIsDrainedNextForAnotherVolume"},
	{"an exclusion is kept while a pod that goes with its volume is not ready", "Doomed", "losesVolume(v, p)", "ReplacesVolume(v, p)", "ops", "TestAnExclusionIsKeptUntilTheVolumeHasGone"},
	{"no resize succeeds before a restart that brings it", "compute.finish", " || byRestart(v, s)", "", "ops", "TestNoResizeSucceedsBeforeARestartThatBringsIt"},
	{"a wish that has changed is asked of the same pod first", "compute.next", "); i >= 0 {", "); i >= 0 && false {", "ops", "TestAWishThatHasChangedIsAskedOfTheSamePodFirst"},
	{"an exclusion is kept until the pod goes that comes back without a disk", "StillLeaving", "if p.UID == x.Replaces && view.Restarting(&t.View) {", "if false {", "ops", "TestDisksAreRemovedNodeByNode"},
}
