package mutations

// replacedTables are what a table is replaced behind.
var replacedTables = []mutation{
	{"names are exchanged once", "swapTables", "case slices.Contains(indexes[schema], a.Index):", "case false:", "ops", "TestAnExchangeWhoseAnswerIsLostIsNotDoneAgain"},
	{"only what is as whole takes another's place", "lessWhole", "case fewer[otherSchema] > fewer[schema]:", "case false:", "ops", "TestATableIsReplacedOnlyByOneThatIsAsWhole"},
	{"what is red takes nobody's place", "lessWhole", "case missing[otherSchema] > 0:", "case false:", "ops/execute", "TestTablesExchangeTheirNamesOnlyWhenBothAreWhole"},
	{"what was there before is not dropped as a copy", "isCopy", "its, unmoved := came[otherSchema], true", "its, unmoved := true || came[otherSchema], true", "ops", "TestAReplacementSurvivesAKill"},
	{"what has taken the place is not dropped", "isCopy", "its = slices.Contains(indexes[otherSchema], a.Index)", "its = indexes != nil", "ops/execute", "TestACopyIsDroppedOnlyBeforeItHasTakenThePlace"},
	{"what is kept goes only while the other is whole", "dropKept", `return r[0] == schema && r[1] == "0"`, "return r[0] == schema", "ops/execute", "TestWhatIsKeptIsDroppedOnlyWhileTheOtherIsWhole"},
	{"two nodes show what is dropped", "all", "if i > 0 && !slices.Equal(lines(rows), lines(more)) {", "if i < 0 && !slices.Equal(lines(rows), lines(more)) {", "ops/execute", "TestNoTableIsDroppedNorExchangedOnTheWordOfOneNode"},
	{"one node is enough where there is one", "seconded", "if len(rows) != 1 {", "if len(rows) < 0 {", "ops/execute", "TestNoTableIsDroppedNorExchangedOnTheWordOfOneNode"},
	{"there the record, or how its shards came, says that it is the copy", "isCopy", "unmoved = len(both) > 1 || !a.Tried || came[otherSchema]", "unmoved = true", "ops/execute", "TestInAClusterOfOneNodeTheRecordSaysWhetherNamesWereExchanged"},
	{"an exchange that was asked for is recorded", "swap", "f.Tried || !a.New", "f.Tried", "ops", "TestAnExchangeThatWasAskedForIsRecordedBefore"},
	{"one of the two nodes is the master", "SecondPod", "case \"\":\n\t\treturn \"\"", "case \"\":\n\t\treturn second", "ops", "TestOneOfTheTwoNodesThatAreAskedIsTheMaster"},
	{"the index of a copy goes with it", "resultOfSwap", "f.Index, f.Tried = nil, model.FetchNext, \"\", false", "f.Index, f.Tried = nil, model.FetchNext, f.Index, f.Tried", "ops/fetch", "TestTheIndexOfACopyGoesWithIt"},
	{"privileges stay with the name", "prepareSwap", `refused, err := alike(ctx, s, a); err != nil || refused != ""`, `refused, err := "", error(nil); refused != ""`, "ops/execute", "TestWhatTakesAnotherTablesPlaceHasWhatThatHas"},
	{"one exchange at a time", "swapping", "if err == nil && len(swaps.Answer(rows).Found) > 0 {", "if err == nil && len(swaps.Answer(rows).Found) < 0 {", "ops/execute", "TestNoExchangeIsAskedForBehindAnother"},
	{"what is kept of before is not lost", "irreplaceable", "case slices.Contains(d.Tables, f.Target(table)):", "case false:", "ops", "TestAReplacementThatFailsChangesNothing"},
	{"a copy has all that was recorded", "come", "case f.Verb == model.FetchReplace && f.Failed != \"\":", "case false:", "ops", "TestAReplacementThatFailsChangesNothing"},
	{"no name is exchanged while something else goes on", "swap", "a.New = busy(t) != \"\"", "a.New = false", "ops", "TestAReplacementWaitsForWhatElseGoesOn"},
	{"no operation begins while names are exchanged", "InTheWay", "limit += stalledFor", "limit += 0", "ops", "TestNoOperationBeginsWhileTwoTablesExchangeTheirNames"},
	{"what was about to begin ends with its definition", "withoutPlan", "if t.Desired.Backups != nil || f.Drill ||", "if true || f.Drill ||", "ops", "TestNothingIsRestoredAnyMoreThatWasAboutToBe"},
	{"an abort leaves the table as it was", "abort", "case f.Step == model.FetchReady, f.Step == model.FetchSwap && !f.Sent:", "case false:", "ops", "TestAnAbortOfAReplacementLeavesTheTableAsItWas"},
	{"a copy makes way for an operation", "makesWay", "if f.Verb != model.FetchReplace || t.Record.Operation == nil {", "if true {", "ops", "TestACopyMakesWayForAnOperation"},
	{"what has waited goes first", "goesFirst", "f.Held = late", "return false", "ops", "TestACopyMakesWayForAnOperation"},
	{"masters have no room", "roomFor", "if view.Master(v, n.Name) {", "if false {", "ops/fetch", "TestOnlyTheDisksOfDataNodesAreRoomForTables"},
}
