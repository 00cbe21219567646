package mutations

// fewerDisks are what a disk is taken away behind: what is on it would be missing.
var fewerDisks = []mutation{
	{"the template does without the disk before its pod goes", "lockStep", "case view.Removes(&t.View, p) && !narrowed(t, r, p):", "case false:", "ops", "TestDisksAreRemovedNodeByNode"},
	{"it has the disk again as soon as the pod is made", "Narrowing", "p != nil && p.UID != r.PodUID {", "p != nil && p.UID != r.PodUID && false {", "ops", "TestTheTemplateHasTheDiskAgainWhileThePodStarts"},
	{"and whoever pauses the cluster in that moment", "mayTouch", "if keep(t); closes {", "if keep(t); closes && false {", "ops", "TestARemovalOfDisksFollowsWhatIsDesiredByThen"},
	{"a node that has a shard again keeps its disks", "Restart", "keepsDisk(t, op)\n", "", "ops", "TestANodeThatTakesAShardAgainKeepsItsDisks"},
	{"a node is looked at once more before its pod goes", "askOnceMore", "if a.NodeIDs != \"\" {", "if false {", "ops/execute", "TestAPodComesBackWithFewerDisksOnlyWhereItsNodeIsEmpty"},
	{"a pod whose node was not found empty gets its disk again", "IsToUse", "return v.Record.Removing.Has(p.UID)", "return true", "ops", "TestAPodThatVanishesWhileDisksAreRemovedLosesNothing"},
	{"its restart waits for no shard that only it brings back", "ask", "if m.LacksCopies && ", "if false && ", "ops", "TestAPodThatVanishesWhileDisksAreRemovedLosesNothing"},
	{"and what waits for such shards lets it go first", "stableStep", "lacksCopies := view.AnyPodLacksCopies(&t.View)", "lacksCopies := false", "ops", "TestAPodThatVanishesWhileDisksAreRemovedLosesNothing"},
	{"a StatefulSet that is recreated meanwhile keeps what its pods use", "keptDisks", "return view.SurplusDisks(v, set)", "return nil", "ops", "TestFewerDisksAndAnotherChangeInOneCommit"},
	{"what is desired is not applied before", "differs", "len(view.SurplusDisks(v, set)) > 0 || ", "", "ops", "TestDisksAreRemovedNodeByNode"},
	{"a template keeps the mounts of what its pods use", "asWanted", "keepsDisks(set, wanted, e.Sizes)", "", "ops", "TestATemplateKeepsADiskThatIsToGo"},
	{"what all nodes have fits on fewer disks", "refuseSmaller", "!smaller(&t.View) && !fewer(&t.View) ||", "!smaller(&t.View) ||", "ops", "TestNoDiskIsRemovedWithoutWhatItNeeds"},
	{"all pods have the same disks before one goes", "refuseNumber", "&& t.AnyPod(lacks):", "&& t.AnyPod(lacks) && false:", "ops", "TestNoDiskIsRemovedWithoutWhatItNeeds"},
	{"a disk comes back to its own node only", "itsOwn", " && !o.Made.After(c.Made.Add(createdTogether))", "", "ops", "TestADiskThatWasThisVeryNodesComesBack"},
	{"a claim that a pod is to use again is not free", "free", "!slices.Contains(IsToUse(v, p), c.Template)", "!slices.Contains(IsToUse(v, p)[:0], c.Template)", "ops", "TestAFreeClaimHoldsNothingUp"},
	{"`system` sees all shards before a pod comes back without a disk", "podWaits", "return view.Removes(&t.View, p) && carriesData(&t.View, p) && access.TablesMayBeHidden(t)", "_ = access.TablesMayBeHidden\n\treturn false", "ops", "TestNoPodComesBackWithoutADiskWhileSystemDoesNotSeeAllShards"},
	{"a removal ends when no further disk is desired", "Removed", " && !anyFurther(&t.View)", " && (true || anyFurther(&t.View))", "ops", "TestARemovalOfDisksEndsWhenEachNodeHasWhatIsDesired"},
	{"the template does without a disk for one pod only", "noteDone", "widens(t) //", "//", "ops", "TestTheNextPodOfARestartHasItsDisksAgain"},
	{"a template that is kept mounts the disks that nodes have", "KeepClaimTemplates", "e.Mounts = view.DisksInUse(v, e.Name, e.Sizes)", "_ = view.DisksInUse", "ops", "TestATemplateThatIsKeptMountsTheDisksThatNodesHave"},
	{"so does one that is recreated", "KeepClaimTemplates", "= op.Recreation.Mounts, op", "= \"\", op", "ops", "TestATemplateThatIsKeptMountsTheDisksThatNodesHave"},
	{"a disk on which nothing is is not forced on others", "hasDisk", "written(v, p, disk) || ", "true || ", "ops", "TestATemplateThatIsKeptMountsTheDisksThatNodesHave"},
	{"such a template has the mark of the pods that run it", "keepTemplate", "slices.Contains(model.Listed(e.Marks), hash)", "true", "ops", "TestATemplateGetsTheDisksBackThatNodesHave"},
	{"a StatefulSet that loses what pods lack has their mark", "keptHash", "!e.Lacked && ", "", "ops", "TestAStatefulSetThatLosesADiskHasTheMarkOfItsPods"},
	{"a pause keeps the exclusion while the template does without a disk", "StillLeaving", "|| !wide && t.Waits", "|| false && wide && t.Waits", "ops", "TestAPausedRemovalGivesTheExclusionBackOnceTheTemplateHasItsDisks"},
}
