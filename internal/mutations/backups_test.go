package mutations

// backups are what snapshots are taken and dropped behind: what was dropped cannot come back.
var backups = []mutation{
	{"a listing without any of ours says nothing", "compare", "if len(ours) == 0 && (", "if false && (", "ops", "TestAListThatIsEmptyAllAtOnceSaysNothing"},
	{"nothing is dropped while the newest did not succeed", "Kept", "case b.Taken[of[0]].State != model.SnapshotSuccess:", "case false:", "ops", "TestOnlyASuccessCounts"},
	{"keepAtLeast are kept", "Kept", "case good && successes <= b.KeepAtLeast:", "case false:", "ops", "TestRetention"},
	{"what is young is kept", "Kept", "case young:", "case false && young:", "ops", "TestRetention"},
	{"none begins in mixed versions", "held", "case len(versions) != 1:", "case false:", "ops", "TestSnapshotsAndOperationsWaitForEachOther"},
	{"none begins while a pod of ours is away", "held", "op.Step != model.StepNext || t.Record.Hold != nil", "false", "ops", "TestSnapshotsAndOperationsWaitForEachOther"},
	{"an operation waits for one that is due", "goesFirst", "return v.Contact() && ", "return false && ", "ops", "TestSnapshotsAndOperationsWaitForEachOther"},
	{"and not for ever", "goesFirst", "return v.Elapsed(b.Running.Began) <= v.Desired.Backups.MaxDelay", "return true", "ops", "TestSnapshotsAndOperationsWaitForEachOther"},
	{"only what is ours is in the folder", "setRepository", "!ours {", "false && !ours {", "ops/execute", "TestARepositoryIsCreatedOrVerifiedAndLookedInto"},
	{"a statement that hangs gets no other behind it", "unanswered", "if strings.HasPrefix(r[0], verb", "if false && strings.HasPrefix(r[0], verb", "ops/execute", "TestNothingIsSentToARepositoryThatDoesNotAnswer"},
	{"the newest is there when one is dropped", "removeSnapshot", "case !newest:", "case false:", "ops/execute", "TestASnapshotIsDroppedOnlyBehindThoseThatAreKept"},
	{"and as many as are kept", "removeSnapshot", "case others < a.Value:", "case false:", "ops/execute", "TestASnapshotIsDroppedOnlyBehindThoseThatAreKept"},
	{"no secret in an error", "masked", "text = strings.ReplaceAll(text, p.Value, \"…\")", "", "ops/execute", "TestNoSecretOfARepositoryIsInAnError"},
}
