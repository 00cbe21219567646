package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// reason says of guards that no schedule notices why that is as it should be. Each of them
// is noticed by a test of its own all the same.
type reason struct {
	why string
	of  []guard
}

// guard names sites by what they are, for lines move: all of a kind and a name whose text
// has this in it, where ^ is its beginning. A function keeps its reason when it is exported.
type guard struct {
	kind     kind
	name, in string
}

func (g guard) is(s site) bool {
	return g.kind == s.kind && strings.EqualFold(g.name, s.name) && strings.Contains("^"+s.text, g.in)
}

// reasons are decisions, one a row. What the simulation could notice and does not is a hole
// in it, and what nobody needs goes out of the code: neither of them is here.
var reasons = []reason{
	{"one cluster has the model, with one source", []guard{
		{gate, "another-owner", ""}, {gate, "foreign-cluster-id", ""}, {gate, "defined-twice", ""}, {gate, "object-not-ours", ""}, {gate, "disrupted-clusters", ""},
		{reread, "sameCluster", ""}, {call, "sameCluster Run", ""},
	}},
	{"the model lists no storage classes, and no volume of it has a VolumeAttributesClass", []guard{
		{gate, "storage-class-missing", ""}, {gate, "storage-class-not-expandable", ""},
		{gate, "volume-attributes-class-unusable", ""}, {gate, "volume-attributes-class-stays", ""}, {gate, "volume-attributes-class-dropped", ""}, {gate, "volume-modify-failed", ""},
	}},
	{"no cluster of the model is made from a snapshot", []guard{
		{gate, "restore-not-new", ""}, {gate, "restore-waits", ""}, {gate, "restore-running", ""}, {gate, "repository-secret-missing", "return }"}, {action, "Restore", ""}, {action, "source", ""},
		{call, "restoreUsers Exec", ""}, {call, "restoreTables Exec", ""}, {call, "dropRestored Exec", ""}, {call, "endRestore Exec", ""},
	}},
	{"in the model nobody runs `stevedore adopt` while a daemon runs, and no group has other names", []guard{{gate, "adoption-in-progress", ""}, {gate, "names-stay", ""}}},
	{"each pod of the model fits on a Kubernetes node, and each of its API servers resizes pods", []guard{{gate, "no-node-fits", ""}, {gate, "resize-not-served", ""}}},
	{"no table of the model is read only", []guard{{call, "dropAny Exec", "writable(table)"}, {call, "dropAny Exec", "dropTable(table)"}}},
	{"people of the model who change a filter of a table change the one that decides during a drain, and then all of them are theirs", []guard{{call, "giveBackOne Exec", ""}}},
	{"fewer than one of 20,000 schedules comes to it, where two rare things have to meet", []guard{
		{gate, "disk-not-blank", ""}, {gate, "set-recreated", "live == nil { t.Wait(gates.SetRecreated(r.Set, \"it is gone, and is recreated\")) return true }"}, {gate, "claim-being-deleted", "gates.NotProven)) return }"},
		{action, "leavingClaims", ""}, {gate, "set-recreated", "live.ObservedGeneration < live.Generation"}, {gate, "set-recreated", "no group of the definition has its pods"},
		{gate, "resize-stopped", "refused("}, {gate, "volume-change-not-supported", "case other:"}, {gate, "table-filter-decides-alone", "f.Leaving, func"},
	}},
	{"in fewer than one of 20,000 schedules it comes about between the decision and the last look", []guard{
		{reread, "staysEmpty", ""}, {reread, "setFilters", ""}, {reread, "lookFiltered", ""}, {reread, "copiesElsewhere", ""}, {reread, "removeSnapshot", "others < a.Value"},
	}},
	{"said twice: the store of the model is read as a whole or not at all, so that of these two each holds where the other is out", []guard{{reread, "removeSnapshot", "!newest"}, {reread, "removeSnapshot", "case unread"}}},
	{"the node that is asked alone was the only one a moment ago, and so is the master, which is never behind", []guard{{reread, "seconded", ""}}},
	{"each node of the model answers, and no process outlives its pod", []guard{
		{gate, "nodes-answer", ""}, {gate, "node-name-twice", ""}, {reread, "allThere", "unreachable("},
	}},
	{"no definition is deleted in the model", []guard{
		{gate, "mass-removal", ""}, {gate, "removal-count-known", ""}, {gate, "removal-pending", ""}, {call, "writeObject ShrinkSet", "a.From, 0)"}, {action, "dismantle", ""},
	}},
	{"what `system` may not see, and what one view lacks, other witnesses of the model know, and each of them holds a removal up by itself", []guard{
		{reread, "lookHealth", ""}, {reread, "lookDenied", ""}, {gate, "system-denied", ""}, {gate, "privileges-known", ""}, {gate, "nodes-known", ""}, {gate, "cluster-health", ""},
	}},
	{"the model has no licences, and no Secret of it goes", []guard{
		{gate, "licence-missing", ""}, {call, "setLicense Run", ""}, {action, "licence", ""}, {action, "relicence", ""},
		{gate, "secret-missing", ""}, {gate, "password-unusable", ""}, {gate, "password-odd", ""},
	}},
	{"people of the model push nothing that is refused by its name for ever", []guard{
		{gate, "cluster-name-change", ""}, {gate, "downgrade-refused", ""}, {gate, "tls-change-not-supported", ""}, {gate, "version-path", ""}, {gate, "tables-too-old", ""}, {gate, "table-ages-known", ""},
		{gate, "release-loses-data", ""}, {gate, "master-group-stays", ""}, {gate, "new-group-not-supported", ""}, {gate, "update-strategy-change", ""}, {gate, "unreplicated-tables", ""},
	}},
	{"schedules of the first seeds have nothing that a rule asks for", []guard{{reread, "nothingFound", ""}}},
	{"it is said of a pod that a person has named, and schedules of the first seeds have no such command", []guard{{gate, "replace-pod-waits", ""}}},
	{"they are said before a restart, and hold nothing back", []guard{
		{gate, "writes-wait", ""}, {gate, "only-copies-away", ""}, {gate, "less-memory", ""},
	}},
	{"a drain that cannot end, and copies that do not return, cost the model time and no data, until people clean up", []guard{
		{gate, "copies-do-not-return", ""}, {gate, "table-allocation-held", ""}, {gate, "shard-has-no-place", ""},
	}},
	{"the model has no shard limits, no tables that need a zone, and no disk that a drain fills", []guard{
		{gate, "last-node-of-zone", ""}, {gate, "shards-do-not-fit", ""}, {gate, "disk-does-not-fit", ""}, {gate, "volumes-too-small", ""}, {gate, "table-filter-overrides-drain", "uneven"},
		{gate, "set-recreated", "SmallerUnread"},
	}},
	{"no process of the model ends while its pod stays", []guard{
		{gate, "node-ended", ""},
	}},
	{"objects beside StatefulSets, budgets and Secrets are not in the model, nor is admission that changes one", []guard{
		{gate, "changed-by-admission", ""}, {gate, "object-kept", ""}, {call, "writeObject DeleteObject", ""}, {action, "prune", ""},
	}},
	{"each answer of the model's database has its rows, and each claim what was written on it", []guard{
		{reread, "readExclusions", ""}, {reread, "effectiveAllocation", ""}, {reread, "effectiveSetting", ""}, {gate, "allocation-known", ""},
		{gate, "claim-version-unreadable", ""}, {gate, "system-password-lost", ""},
	}},
	{"no decision makes such an action: it guards against one that is made wrongly", []guard{
		{reread, "filterTable", ""}, {reread, "restartZone", ""}, {reread, "shrinkSet", "len(names) == 0"}, {reread, "resetSettings", ""},
		{reread, "setUser", ""}, {reread, "changePassword", ""}, {reread, "password", "len(value) == 0"}, {reread, "removeSnapshot", "!ours"},
		{reread, "dropCopy", "!model.Kept(other)"}, {reread, "dropKept", "!model.Kept(other)"},
		{reread, "dropFetched", "!model.Scratch(table)"}, {reread, "deleteClaims", ""},
	}},
	{"what somebody excludes transiently hides what is below it, which nobody can know", []guard{
		{reread, "excludeNodes", ""}, {call, "excludeNodes Exec", "without(was.ids, ids)"}, {reread, "includeNodes", ""}, {gate, "exclusion-hidden", ""},
	}},
	{"between two questions of one action, or two nodes' answers of one moment, nothing comes in the model", []guard{
		{reread, "recoverPod", ""}, {reread, "acknowledge", ""}, {reread, "lookEmpty", "slices.Contains(names, n[1])"}, {reread, "empty", ""}, {reread, "putInForce", ""},
		{gate, "setting-not-effective", `e.Done && pod != ""`}, {gate, "fresh-reading", ""}, {gate, "version-running", ""},
	}},
	{"said twice: one witness is enough to hold a removal up, and `system-denied` holds it up before any is asked", []guard{
		{gate, "superuser-sees-shards", ""}, {gate, "volume-has-shards", ""}, {gate, "evidence-missing", ""},
		{reread, "lookEmpty", "x.Verdict("}, {call, "superuserSees Run", ""}, {call, "seen Run", ""},
	}},
	{"writes of the model wait for one copy or for all, and so no range comes to too few", []guard{{gate, "node-cannot-leave", ""}}},
	{"it rests on a node that never joins though its record was lost", []guard{{action, "markClaims", ""}}},
	{"said twice: the executor looks for the same once more, or the write has its precondition", []guard{
		{gate, "replicas-live", ""}, {gate, "other-pod-down", ""}, {gate, "nodes-gone", "p.Set == sh.Set"},
		{gate, "claim-of-another-cluster", ""}, {gate, "draining", "DrainedOnce"}, {gate, "allocation-enabled", ""}, {gate, "set-recreated", "!aim.Applied("},
		{gate, "set-recreated", "notWhole("}, {gate, "set-recreated", "budgetLetsGo("}, {gate, "nodes-gone", "DrainedForNewVolume"},
		{gate, "claim-being-deleted", "gates.AllStop"}, {gate, "claim-being-deleted", `why == "" && kept != ""`},
	}},
	{"said twice: another rule of the same list waits while nodes are away or the health is yellow", []guard{{gate, "replicas-complete", ""}}},
	{"what it recreates joins after all, or is recreated by the next rule", []guard{{call, "writeObject DeletePod", ""}}},
	{"in the model nobody changes the password of `system`", []guard{{action, "changeSystem", ""}}},
	{"fewer than one of 20,000 schedules has a gateway that waits for more nodes than there are", []guard{
		{call, "recoverPod Run", ""}, {call, "recoverPod RestartPod", ""},
	}},
	{"said twice: the question after it, to the same node, holds as well", []guard{{reread, "stillUnreachable", ""}}},
	{"words: another rule holds, or tells the same, with fewer of them", []guard{
		{gate, "setting-not-effective", "asked && read && is"}, {gate, "setting-not-effective", "!e.Reset"}, {gate, "system-login-refused", ""},
		{gate, "bootstrap-first", "PendingRestart"}, {gate, "suspended", "t.DesiredSet(s.Name) == nil"},
		{reread, "setSettings", "hidden"}, {gate, "set-recreated", "!live.Ours"}, {gate, "pod-returns", ""}, {gate, "tables-restored", "model.FetchDropKept"}, {gate, "claim-being-deleted", "^if claim, why := claimKeeps("}, {gate, "setting-not-effective", "|| setByOthers("},
		{gate, "budget-closed", "^if t.Record.DeletedClaims"}, {gate, "exclusions-return", "gates.ExclusionsReturn("},
		{gate, "gateway-recovered", "gates.GatewayWaits("}, {gate, "no-master", "gates.NoMaster("},
	}},
	{"said twice: it is asked again when it is the pod's turn", []guard{
		{gate, "claim-being-deleted", "gates.NobodyAgreed"}, {gate, "claim-being-deleted", "gates.FewVoters"}, {gate, "claim-being-deleted", "gates.SoleCopiesOn"},
	}},
	{"said twice: a shrink marks the claims of nodes that never joined before they leave", []guard{{action, "claimsUnmarked", ""}}},
	{"said twice: the record has the allocation lock as well, and the StatefulSet is made again with its annotation", []guard{{gate, "set-recreated", "the allocation lock is given back first"}}},
	{"said twice: each pod of the StatefulSet is looked for before", []guard{{gate, "nodes-gone", "live.Current > 0"}}},
	{"said twice: the next question of the same forecast finds no place for the copies either", []guard{{gate, "replicas-do-not-fit", ""}}},
	{"in the model CrateDB sees what a volume has grown by as soon as its node is there", []guard{{gate, "size-not-visible", ""}}},
	{"said twice: the budget keeps the pods that no StatefulSet owns, whatever is recorded", []guard{{gate, "set-recreated", "the new one takes its pods"}}},
	{"it saves restarts: a pod that came back on the template before is restarted once more, and the judge counts none", []guard{{gate, "controller-behind", ""}}},
	{"said twice: the next pass gives back what belongs to no restart", []guard{{giveBack, "Restart", ""}}},
	{"people of the model set the number of disks back in the end: without the one rule a removal waits for ever, without the other a cluster that never starts has no words for its way out", []guard{
		{gate, "volume-change-not-supported", "t.AnyPod(lacks)"}, {gate, "volume-change-not-supported", "case !t.Record.Bootstrap.Done"},
	}},
	{"words: what a person has commanded, and the tables that are restored, are named by other rules", []guard{{gate, "drill-waits", "aim.Aborted"}, {gate, "restore-first", ""}}},
	{"it saves room: a drill proves as much of a table with replicas", []guard{{call, "fetchTables Exec", "withoutReplicas"}}},
	{"what it takes off says nothing any more: an empty filter", []guard{{call, "resetEmpty Exec", "resetFilterList"}}},
	{"it saves writes: what is there is granted, or made, once more without it", []guard{{call, "crashGranted Run", ""}}},
}

// why is the reason for a site; "" where nothing has been decided.
func why(s site) string {
	for _, r := range reasons {
		for _, g := range r.of {
			if g.is(s) {
				return r.why
			}
		}
	}
	return ""
}

// named is a list of names, each once, with how often it is in the list.
func named(names []string) string {
	var out []string
	slices.Sort(names)
	for i := 0; i < len(names); {
		n := 1
		for i+n < len(names) && names[i+n] == names[i] {
			n++
		}
		text := names[i]
		if n > 1 {
			text += fmt.Sprintf(" (%d)", n)
		}
		out, i = append(out, text), i+n
	}
	return strings.Join(out, ", ")
}

// decided is what was not noticed, by its reason, with the tests that notice it.
type decided struct {
	why   string
	sites []string
	tests []string
}

// groups are the guards that no schedule notices: why, which, and by which tests.
type groups []*decided

// undecided is what stands where reasons have none.
const undecided = "nothing has been decided"

func (g *groups) add(s site, test string) {
	text := cmp.Or(why(s), undecided)
	i := slices.IndexFunc(*g, func(d *decided) bool { return d.why == text })
	if i < 0 {
		i = len(*g)
		*g = append(*g, &decided{why: text})
	}
	d := (*g)[i]
	d.sites = append(d.sites, s.name)
	if test != "" && !slices.Contains(d.tests, test) {
		d.tests = append(d.tests, test)
	}
}

// print says how many are undecided.
func (g groups) print(to io.Writer) (lacking int) {
	slices.SortFunc(g, func(a, b *decided) int { return len(b.sites) - len(a.sites) })
	fmt.Fprint(to, "\n| why no schedule notices | guards | which | noticed by |\n|---|---:|---|---|\n")
	for _, d := range g {
		if d.why == undecided {
			lacking = len(d.sites)
		}
		fmt.Fprintf(to, "| %s | %d | %s | %s |\n", d.why, len(d.sites), named(d.sites), named(d.tests))
	}
	return lacking
}
