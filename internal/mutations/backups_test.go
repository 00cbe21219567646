package mutations

// backups are what snapshots are taken and dropped behind: what was dropped cannot come back.
var backups = []mutation{
	{"a listing without any of ours says nothing", "compare", "if len(ours) == 0 && (", "if false && (", "ops", "TestAListThatIsEmptyAllAtOnceSaysNothing"},
	{"nothing is dropped while the newest did not succeed", "keptOf", "case b.Taken[of[0]].State != model.SnapshotSuccess:", "case false:", "ops", "TestOnlyASuccessCounts"},
	{"keepAtLeast are kept", "keptOf", "case good && successes <= b.KeepAtLeast:", "case false:", "ops", "TestRetention"},
	{"what is young is kept", "keptOf", "case young:", "case false && young:", "ops", "TestRetention"},
	{"none begins in mixed versions", "held", "case len(versions) != 1:", "case false:", "ops", "TestSnapshotsAndOperationsWaitForEachOther"},
	{"none begins while a pod of ours is away", "held", "op.Step != model.StepNext || t.Record.Hold != nil", "false", "ops", "TestSnapshotsAndOperationsWaitForEachOther"},
	{"an operation waits for one that is due", "goesFirst", "return v.Contact() && ", "return false && ", "ops", "TestSnapshotsAndOperationsWaitForEachOther"},
	{"and not for ever", "goesFirst", "return v.Elapsed(b.Running.Began) <= v.Desired.Backups.MaxDelay", "return true", "ops", "TestSnapshotsAndOperationsWaitForEachOther"},
	{"only what is ours is in the folder", "setRepository", "!ours {", "false && !ours {", "ops/execute", "TestARepositoryIsCreatedOrVerifiedAndLookedInto"},
	{"a statement that hangs gets no other behind it", "unanswered", "if strings.HasPrefix(r[0], verb", "if false && strings.HasPrefix(r[0], verb", "ops/execute", "TestNothingIsSentToARepositoryThatDoesNotAnswer"},
	{"the newest is there when one is dropped", "removeSnapshot", "case !newest:", "case false:", "ops/execute", "TestASnapshotIsDroppedOnlyBehindThoseThatAreKept"},
	{"and as many as are kept", "removeSnapshot", "case counts && others < a.Value:", "case false && counts:", "ops/execute", "TestASnapshotIsDroppedOnlyBehindThoseThatAreKept"},
	{"a cluster with tables is not restored into", "source", "case len(d.Tables) > 0:", "case false:", "ops", "TestNothingIsRestoredIntoAClusterThatWasMade"},
	{"one that has been made neither", "Restore", "case t.Record.Bootstrap.Done:", "case false:", "ops", "TestNothingIsRestoredIntoAClusterThatWasMade"},
	{"only a snapshot that succeeded is restored", "choose", "good && (found == nil", "(found == nil", "ops", "TestANewClusterIsMadeFromASnapshot"},
	{"the source is read only", "placed", "if readOnly {", "if false {", "ops", "TestANewClusterIsMadeFromASnapshot"},
	{"the cluster counts as made when its tables are there", "bootstrapEnds", "!waits && !view.Restoring(&t.View)", "!waits", "ops", "TestARestoreThatCannotBeSaysWhy"},
	{"what is there is not dropped", "dropRestored", "if !slices.ContainsFunc(rows", "if false && !slices.ContainsFunc(rows", "ops/execute", "TestOnlyWhatCouldNotBeFetchedIsDropped"},
	{"a node that is behind makes nothing fail", "followRestore", "case r.Suspect.IsZero():", "case false:", "ops", "TestANodeThatIsBehindMakesNoRestoreFail"},
	{"users of the definition are made again", "RestoreResult", "record.Bootstrap.Users = nil", "_ = record", "ops", "TestANewClusterIsMadeFromASnapshot"},
	{"a snapshot of some tables is none of all", "whole", "return len(s.Tables) == 0", "return true", "ops", "TestASnapshotOfSomeTablesIsNotNewEnough"},
	{"what mends a red cluster waits for none", "TooOld", " || !takes(t)", "", "ops", "TestWhatMendsARedClusterWaitsForNoSnapshot"},
	{"a snapshot that fails is not taken at each look", "First", "failed := b.Failed", "failed := false && b.Failed", "ops", "TestAnOperationWaitsForASnapshotThatFails"},
	{"no secret in an error", "masked", "text = strings.ReplaceAll(text, p.Value, \"…\")", "", "ops/execute", "TestNoSecretOfARepositoryIsInAnError"},
}
