package plan

import (
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
)

// ActionApply is the Action of a Step that writes a StatefulSet whose replicas or
// pod template change.
const ActionApply = "apply"

// written is a StatefulSet that a decision has written, and what it was before.
type written struct {
	Set
	new      bool
	again    bool // it takes the pods that one of its name had
	replicas int
	template bool // it changes
}

// recreatedWords are of a StatefulSet that was deleted without its pods.
const recreatedWords = "recreated with the claim templates that are desired; it takes its pods back"

func (w *written) step() Step {
	step := Step{Action: ActionApply, Target: w.Name}
	const template = "its new pod template; each pod keeps its own until it restarts"
	switch {
	case w.again:
		step.Detail = recreatedWords
	case w.Unused != "" && w.template:
		step.Detail = "its pod template, without " + strings.ReplaceAll(w.Unused, ",", ", ") + " for as long as one pod restarts"
	case w.new:
		step.Detail = fmt.Sprintf("new, %s", count(w.Replicas, "replica"))
	case w.Replicas == w.replicas:
		step.Detail = template
	default:
		step.Detail = fmt.Sprintf("%s instead of %d", count(w.Replicas, "replica"), w.replicas)
		if w.template {
			step.Detail += "; " + template
		}
	}
	return step
}

// StepOf is the step that an action is. Where the action only says at which pod
// it asks the database, the target is what the record says that it is about.
// nodeName translates the id of a node that is there.
func StepOf(a model.Action, record *model.Record, nodeName func(id string) string) Step {
	nodes := nodeNames(a.NodeIDs, record, nodeName)
	step := Step{Action: string(a.Kind), Target: a.Subject()}
	switch a.Kind {
	case model.ActionExcludeNodes:
		step.Target, step.Detail = nodes, "the shards move to the other nodes"
	case model.ActionIncludeNodes:
		// The nodes are gone, and not every one of them has left its name.
		step.Target, step.Detail = nodes, "the exclusion is taken back"
		if x := record.Exclusions; x != nil && x.Set != "" {
			step.Target, step.Detail = x.Set, "the exclusion of "+step.Target+" is taken back"
		}
	case model.ActionExcludeInTable, model.ActionIncludeInTable:
		if step.Detail = nodes; a.Settings != "" {
			step.Detail = filterWords(a, record)
		}
	case model.ActionLockAllocation, model.ActionUnlockAllocation:
		step.Target = heldFor(record.Operation)
	case model.ActionRestartPod:
		step.Detail = restartWords(a, record.Operation)
	case model.ActionRestartZone:
		step.Target, step.Detail = "zone "+a.Zone, strings.Join(podNames(a.Pods), ", ")
	case model.ActionAcknowledgeNodeChecks, model.ActionRetryAllocation:
		step.Target = "cluster"
	case model.ActionSetSystemUser:
		step.Target = names.SystemUser
	case model.ActionShrinkSet:
		step.Detail = fmt.Sprintf("%d replicas instead of %d: %s goes, its volume claims stay", a.To, a.From, strings.ReplaceAll(a.NodeNames, ",", ", "))
		if strings.Contains(a.NodeNames, ",") {
			step.Detail = strings.Replace(step.Detail, " goes, its ", " go, their ", 1)
		}
	case model.ActionDeleteSet:
		step.Detail = "it has no pods; the volume claims stay"
	case model.ActionSuspendSet, model.ActionStopSet:
		step.Detail = fmt.Sprintf("0 replicas instead of %d, the volume claims stay", a.From)
	case model.ActionSetSettings:
		var all []string
		for _, s := range a.Settings.Settings() {
			all = append(all, s.Name+" = "+s.Value)
		}
		step.Detail = strings.Join(all, ", ")
	case model.ActionGrowClaim:
		step.Detail = a.Change.Words() + ", in place, while its pod runs"
	case model.ActionResizePod:
		step.Detail = a.Resources.Words() + ", while it runs"
	case model.ActionDeleteClaims:
		step.Target = a.Pods
		step.Detail = "the claims of its drained node, which go with the pod: " + strings.Join(podNames(a.Claims), ", ")
	case model.ActionRecreateSet:
		step.Detail = fmt.Sprintf("deleted without its %s, and recreated with %s", count(a.From, "pod"), templatesOf(record))
	case model.ActionSetRepository, model.ActionRestoreUsers, model.ActionRestoreTables, model.ActionDropRestored, model.ActionEndRestore:
		step.Target, step.Detail = snapshotWords(&a)
	case model.ActionAnnotateClaim:
		if a.Version != "" {
			step.Detail = "this cluster, and CrateDB " + a.Version
		}
	}
	return step
}

// restartWords say on which volumes a pod comes back, where those are others; "" for the same.
func restartWords(a model.Action, op *model.Operation) string {
	switch {
	case a.LosesVolume:
		return newVolumeWords(op)
	case op != nil && op.Restart != nil && op.Restart.Removes == a.PodUID:
		return "it comes back with fewer disks, on the volumes that stay"
	}
	return ""
}

func newVolumeWords(op *model.Operation) string {
	if op != nil && op.Restart != nil && op.Restart.Replaces {
		return "it comes back on new volumes; its node was drained"
	}
	return "its volume goes with it, because its claim is being deleted; its copies are recreated from other nodes"
}

// heldFor is what goes down while an operation holds the allocation.
func heldFor(op *model.Operation) string {
	switch {
	case op == nil || op.Restart == nil || op.Restart.Pod == "":
		return "cluster"
	case op.Restart.Zone != "":
		return "zone " + op.Restart.Zone
	}
	return op.Restart.Pod
}

// nodeNames are those of nodes by id: that of a node that leaves stands in the record, for it
// may be gone already.
func nodeNames(ids string, record *model.Record, nodeName func(id string) string) string {
	var leaving []model.LeavingNode
	if op := record.Operation; op != nil && op.Shrink != nil {
		leaving = op.Shrink.Leaving
	}
	var all []string
	for _, id := range listed(ids) {
		if i := slices.IndexFunc(leaving, func(n model.LeavingNode) bool { return n.ID == id }); i >= 0 {
			all = append(all, leaving[i].Name)
		} else {
			all = append(all, nodeName(id))
		}
	}
	return strings.Join(all, ", ")
}

// nodeName of a node id; the id where it is not known.
func (m *world) nodeName(id string) string {
	for name, n := range m.volumes {
		if n.ID == id {
			return name
		}
	}
	return id
}

// Reacts reports whether an action is only an answer to what a look happens to
// meet on the way: a plan cannot know of it, and does not name it.
func Reacts(action string) bool {
	switch model.ActionKind(action) {
	case model.ActionRetryAllocation, model.ActionVerifyUser, model.ActionAcknowledgeNodeChecks, model.ActionCreateSnapshot, model.ActionDropSnapshot, model.ActionFetchTables, model.ActionDropFetched,
		model.ActionPrepareSwap, model.ActionSwapTables, model.ActionDropCopy, model.ActionDropKept:
		return true
	}
	return false
}

// Alongside reports whether an action never waits behind others, nor others for
// it: its place among them is a matter of moments.
func Alongside(action string) bool {
	switch model.ActionKind(action) {
	case model.ActionLabelSecret, model.ActionSetUser, model.ActionChangePassword, model.ActionAnnotateClaim, model.ActionSetLicense, model.ActionGrowClaim, model.ActionResizePod,
		model.ActionSetRepository,
		model.ActionRecreateSet, // it is due when the claims of the StatefulSet have grown
		model.ActionSetSettings, model.ActionResetSettings:
		return true
	}
	return false
}

// Same compares two sequences as a plan means them: the main line step by step,
// what runs alongside as a set; repetitions in a row and what only reacts are
// left out. It returns "" or the first difference in words.
func Same(planned, done []Step) string {
	p, alongP := lines(planned)
	d, alongD := lines(done)
	for i := range max(len(p), len(d)) {
		switch {
		case i >= len(p):
			return fmt.Sprintf("step %d was done and not planned: %s", i+1, d[i])
		case i >= len(d):
			return fmt.Sprintf("step %d was planned and not done: %s", i+1, p[i])
		case p[i] != d[i]:
			return fmt.Sprintf("step %d was planned as %q and done as %q", i+1, p[i], d[i])
		}
	}
	for line := range alongP {
		if !alongD[line] {
			return fmt.Sprintf("planned and not done: %s", line)
		}
	}
	for line := range alongD {
		if !alongP[line] {
			return fmt.Sprintf("done and not planned: %s", line)
		}
	}
	return ""
}

func lines(steps []Step) (main []string, alongside map[string]bool) {
	alongside = map[string]bool{}
	again := ""
	for _, s := range steps {
		line := s.Action + " " + s.Target
		made := s.Action == ActionApply && s.Target == again
		if again = ""; s.Action == string(model.ActionRecreateSet) {
			again = s.Target
		}
		switch {
		case Reacts(s.Action), made: // a StatefulSet that was deleted without its pods is recreated
		case Alongside(s.Action):
			alongside[line] = true
		case len(main) == 0 || main[len(main)-1] != line:
			main = append(main, line)
		}
	}
	return main, alongside
}

// filterWords says what an action does to the filters of a table.
func filterWords(a model.Action, record *model.Record) string {
	if a.Kind == model.ActionExcludeInTable {
		return "during the drain " + a.Settings.Words() + " instead of " + a.Expected.Words()
	}
	text := a.Settings.Words() + " as before the drain"
	if op := record.Operation; op != nil && op.Shrink != nil && slices.Contains(op.Shrink.Pinned, a.Table) {
		text += ": it names only nodes that have left, so change it or reset it afterwards"
	}
	return text
}
