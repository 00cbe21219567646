package plan

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/capacity"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// Kinds of operations that the record does not know: what is done at once.
const (
	kindUsers    = "users"
	kindSettings = "settings"
	kindLicence  = "licence"
	kindBackups  = "backups"
	kindUpdate   = string(model.OperationUpdate)
)

// course collects what a run does.
type course struct {
	out   Course
	model *world
	// current is the index of the operation that the record is in; -1 for none,
	// last the one before it. recorded is the last one that the record was in.
	current, last, recorded int
	// ahead are gates that wait before the next operation.
	ahead []Gate
	// drained are the nodes whose drain was said, blind that the numbers of the basis are not known, and
	// empty that it has no shards.
	drained []string
	blind   bool
	empty   bool
	work    []work
	// asked are what claims are asked for, by their names.
	asked map[string]model.ClaimChange
	// unused are those of them that no pod uses.
	unused map[string]bool
}

// ask notes what a claim is asked for.
func (c *course) ask(a *model.Action) {
	if a.Kind != model.ActionGrowClaim {
		return
	}
	if c.asked == nil {
		c.asked, c.unused = map[string]model.ClaimChange{}, map[string]bool{}
	}
	c.unused[a.Claim] = c.model.unused(a)
	all := c.asked[a.Claim]
	all.Size, all.Attributes = cmp.Or(a.Change.Size, all.Size), cmp.Or(a.Change.Attributes, all.Attributes)
	all.NoAttributes = all.NoAttributes || a.Change.NoAttributes
	c.asked[a.Claim] = all
}

// work is what an operation's time depends on.
type work struct {
	pods  int
	bytes int64
	nodes int
	// unsure: what some of its drains move is not known. percent is how much the other nodes have of what they may have
	// below the low watermark, at most, while a node is drained.
	unsure  bool
	percent int
	// back: what was begun is taken back.
	back bool
}

func (c *course) unknown(text string) {
	if !slices.Contains(c.out.Unknown, text) {
		c.out.Unknown = append(c.out.Unknown, text)
	}
}

func (c *course) refuse(r model.Reason) {
	gate := Gate{Name: r.Name, Message: r.Message}
	if i := slices.IndexFunc(c.out.Refused, func(g Gate) bool { return g.Name == r.Name && sameSubject(g.Message, r.Message) }); i >= 0 {
		c.out.Refused[i] = gate
		return
	}
	c.out.Refused = append(c.out.Refused, gate)
}

func (c *course) wait(r model.Reason) {
	gate := Gate{Name: r.Name, Message: r.Message}
	if !slices.Contains(c.out.Waits, gate) {
		c.out.Waits = append(c.out.Waits, gate)
	}
}

// sameSubject: two messages of one gate that differ only in their numbers; what is
// a part of a name is none.
func sameSubject(a, b string) bool {
	return numbers.ReplaceAllString(a, "$1") == numbers.ReplaceAllString(b, "$1")
}

var numbers = regexp.MustCompile(`(^|[\s(])[0-9][0-9.,]*`)

// pass looks at what a decision begins, refuses and waits for.
func (c *course) pass(desired *model.Desired, observed *model.Observed, before, next *model.Record, d *model.Decision) {
	for _, refusal := range d.Refusals {
		c.refuse(refusal)
	}
	op := next.Operation
	switch {
	case deletes(next):
		c.goesOn(kindDelete)
	case op == nil:
		c.current = -1
	case removes(op, next):
		c.goesOn(kindRemove)
	case op.Kind == model.OperationReplace, op.Restart != nil && op.Restart.Replaces, op.Kind == model.OperationExpand && next.Replacing != nil:
		c.goesOn(kindReplace)
	case op.Kind == model.OperationExpand:
		c.current = c.own(kindExpand)
		c.last = c.current
	case before.Operation == nil || before.Operation.Kind != op.Kind || !before.Operation.Started.Equal(op.Started) || c.current < 0:
		c.begin(string(op.Kind), summary(desired, observed, next))
		c.startsOnClaims(op, desired, observed)
		c.work[c.current].back = op.Upgrade != nil && op.Upgrade.RolledBack()
	}
	// Copies that are missing just after a start are of the model, and not of the basis.
	if op == nil && !deletes(next) && c.model.recovering == 0 {
		for _, wait := range d.Waits {
			if gate := (Gate{Name: wait.Name, Message: wait.Message}); !informs(wait.Name) && !gates.Named(wait.Name).Passes && !suppliable(wait.Name) &&
				!slices.ContainsFunc(c.ahead, func(g Gate) bool { return g.Name == gate.Name }) {
				c.ahead = append(c.ahead, gate)
			}
		}
	}
	if op != nil || deletes(next) {
		c.recorded = c.current
	}
	c.drain(observed, before, next)
}

// summary says an operation in a sentence; behind is true where another one comes before it.
func (c *course) summary(op *Operation, w work, start *Start, behind bool) string {
	// What the nodes go through is in a later operation, behind another one.
	prepares := w.pods == 0 && slices.ContainsFunc(op.Steps, func(s Step) bool { return s.Action == string(model.ActionRecreateSet) })
	switch {
	case op.Kind == kindDelete:
		return deleteSummary(start)
	case op.Kind == kindRemove && !prepares:
		return c.removeSummary(op, w)
	case op.Kind == kindReplace && !prepares:
		return c.replaceSummary(op, w, start)
	case w.back:
		return rolledBack(op)
	case op.Kind == kindExpand, op.Kind == kindRemove, op.Kind == kindReplace:
		op.Summary = c.expandSummary(op, behind)
	case op.Kind == kindBackups:
		op.Summary = backupsSummary(op, start)
	case op.Kind == kindResize:
		op.Summary = resizeSummary(op)
	case op.Summary == "":
		op.Summary = stepsSummary(op)
	}
	if op.Restarts == 0 && (op.Kind == string(model.OperationRestart) || op.Kind == string(model.OperationUpgrade)) {
		return c.noneLeft(op.Summary)
	}
	return withPods(op)
}

// goesOn has the record be in an operation that goes node by node, through several operations of
// the record. If another came in between it is said again, in its place.
func (c *course) goesOn(kind string) {
	if c.recorded < 0 || c.out.Operations[c.recorded].Kind != kind {
		c.begin(kind, "")
		return
	}
	c.current, c.last = c.recorded, c.recorded
}

func (c *course) begin(kind, summary string) {
	c.out.Operations = append(c.out.Operations, Operation{Kind: kind, Summary: summary, Gates: c.ahead})
	c.work = append(c.work, work{})
	c.ahead = nil
	c.current = len(c.out.Operations) - 1
	c.last = c.current
}

// drop leaves out the operation that the record is in, if it has no step: nothing of it is done.
func (c *course) drop() {
	if i := c.current; i >= 0 && len(c.out.Operations[i].Steps) == 0 {
		c.out.Operations, c.work = slices.Delete(c.out.Operations, i, i+1), slices.Delete(c.work, i, i+1)
	}
}

// operation that a step belongs to: the record's, the one that has just ended,
// or one of its own kind.
func (c *course) operation(step Step, before, next *model.Record) int {
	kind := ""
	switch model.ActionKind(step.Action) {
	case model.ActionLabelSecret, model.ActionSetUser, model.ActionVerifyUser, model.ActionChangePassword, model.ActionSetSystemUser:
		kind = kindUsers
	case model.ActionSetSettings, model.ActionResetSettings:
		kind = kindSettings
	case model.ActionSetLicense:
		kind = kindLicence
	case model.ActionGrowClaim:
		kind = kindExpand
	case model.ActionResizePod:
		kind = kindResize
	case model.ActionSetRepository:
		if next.Bootstrap.Done {
			return c.own(kindBackups)
		}
	}
	bootstrap := c.current >= 0 && c.out.Operations[c.current].Kind == string(model.OperationBootstrap)
	// What a bootstrap does in its last pass is a part of it, though the record is in none then.
	justEnded := c.current < 0 && before.Operation != nil && before.Operation.Kind == model.OperationBootstrap
	switch {
	case kind != "" && !bootstrap && !justEnded:
		return c.own(kind)
	case c.current >= 0:
		return c.current
	case c.last >= 0:
		return c.last
	}
	return c.own(kindUpdate)
}

func (c *course) own(kind string) int {
	for i := range c.out.Operations {
		if c.out.Operations[i].Kind == kind {
			return i
		}
	}
	current, last, ahead := c.current, c.last, c.ahead
	c.ahead = nil
	c.begin(kind, "")
	own := c.current
	c.current, c.last, c.ahead = current, last, ahead
	if kind == kindUpdate {
		c.last = own
	}
	return own
}

func (c *course) step(step Step, before, next *model.Record) {
	if Reacts(step.Action) {
		return
	}
	c.out.Steps = unrepeated(c.out.Steps, step)
	op := &c.out.Operations[c.operation(step, before, next)]
	op.Steps = unrepeated(op.Steps, step)
}

// unrepeated adds a step, but to the same one before it only what it says else.
func unrepeated(steps []Step, step Step) []Step {
	n := len(steps)
	if n == 0 || steps[n-1].Action != step.Action || steps[n-1].Target != step.Target {
		return append(steps, step)
	}
	if last := &steps[n-1]; last.Detail == "" {
		last.Detail = step.Detail
	} else if step.Detail != "" && !strings.Contains(last.Detail, step.Detail) {
		last.Detail += "; " + step.Detail
	}
	return steps
}

// restarted counts the pods that an action restarts, and names what is away
// meanwhile.
func (c *course) restarted(a model.Action, observed *model.Observed) {
	var pods []string
	switch a.Kind {
	case model.ActionRestartPod, model.ActionReplaceStuckPod, model.ActionRecreatePod, model.ActionRecoverPod:
		pods = []string{a.Pod}
	case model.ActionRestartZone:
		pods = podNames(a.Pods)
	default:
		return
	}
	c.out.Restarts += len(pods)
	if i := max(c.current, c.last); i >= 0 {
		c.out.Operations[i].Restarts += len(pods)
		c.work[i].pods += len(pods)
	}
	c.away(pods, observed)
	for i := range observed.Pods {
		p := &observed.Pods[i]
		if !slices.Contains(pods, p.Name) {
			continue
		}
		for j := range observed.Database.Nodes {
			if n := &observed.Database.Nodes[j]; n.Name == p.NodeName {
				for _, table := range n.Sole {
					c.risk(table, n.Name)
				}
			}
		}
	}
}

// away names the tables whose writes wait while these pods are away, and those with copies
// that do not come back, which the policy lets through.
func (c *course) away(pods []string, observed *model.Observed) {
	var away, data []string
	for i := range observed.Pods {
		p := &observed.Pods[i]
		if slices.Contains(pods, p.Name) {
			away = append(away, p.NodeName)
		}
		if c.model.carriesData(p.Set) {
			data = append(data, p.NodeName)
		}
	}
	f := capacity.ForecastRestart(&observed.Database, c.model.desired.Version, away, data)
	add := func(list []string, why string) {
		for _, each := range list {
			table, words, _ := strings.Cut(each, " (")
			risk := Risk{Subject: table, Why: why + strings.TrimSuffix(words, ")")}
			if !slices.ContainsFunc(c.out.AtRisk, func(r Risk) bool { return r.Subject == table && strings.HasPrefix(r.Why, why) }) {
				c.out.AtRisk = append(c.out.AtRisk, risk)
			}
		}
	}
	add(f.WritesWait, "writes to it wait while a node with its copies is restarted, by write.wait_for_active_shards: ")
	add(f.Unhealed, "copies of it do not come back after the restart of a node: ")
}

const soleWords = "it has shards without a second copy, which are away while their node is restarted: "

func (c *course) risk(table, node string) {
	for i := range c.out.AtRisk {
		if r := &c.out.AtRisk[i]; r.Subject == table && strings.HasPrefix(r.Why, soleWords) {
			if !slices.Contains(strings.Split(strings.TrimPrefix(r.Why, soleWords), ", "), node) {
				r.Why += ", " + node
			}
			return
		}
	}
	c.out.AtRisk = append(c.out.AtRisk, Risk{Subject: table, Why: soleWords + node})
}

// end finishes what is said of each operation.
func (c *course) end(start Start, record model.Record, sets []Set, done bool) Course {
	c.out.Record, c.out.Sets, c.out.Done = record, sets, done
	out := c.out
	out.Suspended = len(record.Suspended) > 0 && aim.NoDataNode(start.Desired.Sets)
	restarts := out.Restarts > 0
	out.ResizesByRestart = resizesByRestart(&start)
	if start.Record.Bootstrap.Done {
		out.AtRisk = append(out.AtRisk, computeRisks(&start)...)
	}
	for i := range out.Operations {
		op := &out.Operations[i]
		op.Summary = c.summary(op, c.work[i], &start, i > 0)
		op.Summary += newestWords(op.Kind, &start)
		op.Meanwhile = len(out.Operations) > 1 && slices.Contains([]string{kindUsers, kindSettings, kindLicence, kindBackups, kindResize}, op.Kind)
		op.Estimate = estimate(op, c.work[i], &start)
		if op.Kind == kindDelete {
			out.AtRisk = append(out.AtRisk, deleteRisks(&start)...)
		}
		if op.Kind == string(model.OperationUpgrade) {
			out.AtRisk = append(out.AtRisk, versionRisk(start.Record.Version, start.Desired.Version)...)
		}
	}
	if restarts {
		for _, table := range start.Observed.Database.Unreplicated {
			if !slices.ContainsFunc(out.AtRisk, func(r Risk) bool { return r.Subject == table }) {
				out.AtRisk = append(out.AtRisk, Risk{Subject: table, Why: "its number_of_replicas is 0: its shards are away while their node is restarted"})
			}
		}
	}
	if len(start.Record.Suspended) > 0 && len(out.Operations) > 1 {
		out.Unknown = append(out.Unknown, "the cluster is suspended: which tables it has is not known until it runs again, and what follows the resume is planned as if it had none")
	}
	out.Estimate = total(out.Operations)
	return out
}

func versionRisk(from, to string) []Risk {
	if from == "" || gates.CompareMinor(from, to) >= 0 {
		return nil
	}
	return []Risk{{Subject: "CrateDB " + to, Why: fmt.Sprintf("a volume that %s has written to cannot go back to %s: from the first node on there is no way back but a snapshot", to, from)}}
}
