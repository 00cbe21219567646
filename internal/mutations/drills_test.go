package mutations

// drills are what tables are restored and dropped behind, in a cluster that has others.
var drills = []mutation{
	{"an operation waits for no drill for ever", "InTheWay", "return b.Fetch.Since.IsZero() || t.Elapsed(b.Fetch.Since) <= limit", "return limit > 0", "ops", "TestADrillIsInNobodysWay"},
	{"the tables of a drill go before an operation", "begins", "case fetch.InTheWay(t):", "case false:", "ops", "TestADrillIsInNobodysWay"},
	{"and when a node goes", "busy", "case away(t) != \"\":", "case false:", "ops", "TestADrillIsInNobodysWay"},
	{"and before a snapshot", "busy", `case b.Due.Schedule != "":`, "case false:", "ops", "TestADrillIsInNobodysWay"},
	{"no snapshot begins while tables come", "held", "case b.Fetch.There():", "case false:", "ops", "TestWhatIsDesiredWaitsForTablesThatAPersonAskedForAndNotForEver"},
	{"what comes is no loss", "Hidden", "return r.Backups.Fetch.Targets()", "return nil", "ops", "TestADrillIsInNobodysWay"},
	{"a table lacks no operation", "compareTable", "case facts.Operations >= recorded:", "case true:", "ops", "TestADrillFindsWhatIsWrongWithASnapshot"},
	{"what was not recorded is not compared", "compareTable", "case !known && facts.Primaries > 0:", "case !known && facts.Primaries > 1<<30:", "ops", "TestADrillThatTriesSomeTablesProvesNothingAndSaysHowMany"},
	{"a node that is behind makes no drill fail", "follow", "case f.Suspect.IsZero():", "case false:", "ops", "TestANodeThatIsBehindMakesNoDrillFail"},
	{"what does not come ends", "follow", "case running && t.Elapsed(f.Moved) >= stalledFor:", "case false:", "ops", "TestADrillOfATableThatNeverComesEnds"},
	{"half of what is free stays", "next", "known && bytes+size > room", "known && bytes+size > room+1<<60", "ops", "TestARestoreOfTablesThatFailsLeavesNothingRed"},
	{"what is left over is dropped", "Leftover", "if len(found) > 0 {", "if false {", "ops", "TestADrillLeavesNothingBehind"},
	{"only what is ours is left over", "ScratchOf", `strings.TrimSuffix(ScratchSchema(clusterID, snapshot), "$1")`, "scratchPrefix", "ops", "TestADrillLeavesNothingBehind"},
	{"no table of a person is dropped as one of a drill", "dropFetched", "if a.New && !model.Scratch(table) {", "if false {", "ops/execute", "TestOnlyWhatARestoreHasMadeIsDropped"},
	{"nor one that has come", "dropFetched", "if !a.New && !slices.ContainsFunc(rows", "if false && !slices.ContainsFunc(rows", "ops/execute", "TestOnlyWhatARestoreHasMadeIsDropped"},
	{"a table of that name is somebody's", "fetchTables", "if !a.New && !mayBeFetched(targets, origins) {", "if !a.New && len(origins) > 1<<30 && !mayBeFetched(targets, origins) {", "ops/execute", "TestTablesAreFetchedIntoARunningCluster"},
	{"what is left of a drill is looked for at each snapshot", "Leftover", "for i := range db.Facts {", "for i := range db.Facts[:0] {", "ops", "TestWhatIsLeftOfADrillIsFoundLater"},
	{"no restore that still waits is called dropped", "dropFetched", `t.answering(ctx, a, "RESTORE SNAPSHOT")`, `t.answering(ctx, a)`, "ops/execute", "TestTablesAreNotDroppedForGoodWhileARestoreStillHasNoAnswer"},
	{"a table of an earlier restore is not this one's", "unfit", "case !f.Drill && slices.Contains(t.Observed.Database.Restore.Tables, f.Target(table)):", "case false:", "ops", "TestATableOfAnEarlierRestoreIsNotTakenForThisOne"},
	{"tables that did not come are dropped during an operation", "drop", "if why := away(t); why != \"\" && !f.Drill {", "if why := busy(t); why != \"\" && !f.Drill {", "ops", "TestTablesThatDidNotComeAreDroppedDuringAnOperation"},
	{"a repository in use is known again before it is changed", "repository", "if have.Name == \"\" && used(t, Name(want)) {", "if false && used(t, Name(want)) {", "ops", "TestADrillOfALostRecordIsFoundThoughTheRepositoryIsInUse"},
	{"a snapshot that nobody can ask for ends", "givesUp", "if op.Restart != nil && op.Step == model.StepNext && t.Record.Hold == nil {", "if op.Restart != nil && false {", "ops", "TestASnapshotThatNobodyCanAskForHoldsNoOperationUp"},
	{"those that are proven stay", "keptOf", "case tried && proven <= b.KeepAtLeast:", "case false:", "ops", "TestSnapshotsThatAreProvenStay"},
}
