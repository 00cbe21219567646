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
}
