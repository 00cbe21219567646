package plan

import (
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/cluster"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// kindExpand has the claims that grow and the StatefulSets that are recreated for them.
const kindExpand = string(model.OperationExpand)

// growClaim has a volume grow or get its class. Its file system grows online, and CrateDB sees it.
func (m *world) growClaim(a *model.Action) {
	for i := range m.Claims {
		c := &m.Claims[i]
		if c.Name != a.Claim {
			continue
		}
		cluster.Ask(c, a.Change)
		if c.Current, c.Resize = c.Attributes, model.ResizeNode; c.Capacity >= c.Requested || m.used(c) {
			m.follows(c)
		}
	}
}

// used reports whether a pod has the volume of a claim.
func (m *world) used(c *model.Claim) bool {
	return slices.ContainsFunc(m.pods, func(p pod) bool { return p.Set == c.Set && p.Ordinal == c.Ordinal && p.Has(c.Template) })
}

// follows has the file system of a claim be as large as its volume.
func (m *world) follows(c *model.Claim) {
	by := c.Requested - c.Capacity
	if c.Capacity, c.Resize = c.Requested, model.ResizeNone; model.DataVolume(c.Template) {
		m.fileSystemGrows(c, by)
	}
}

// mount has a pod that is made mount its volumes, whose file systems then follow.
func (m *world) mount(set string, ordinal int) {
	for i := range m.Claims {
		if c := &m.Claims[i]; c.Set == set && c.Ordinal == ordinal && c.Resize == model.ResizeNode {
			m.follows(c)
		}
	}
}

// endGrowing ends what drivers and kubelets are doing on the basis; it says whether there was anything.
func (m *world) endGrowing() bool {
	there := false
	for i := range m.Claims {
		c := &m.Claims[i]
		if c.Resize == model.ResizeController {
			c.Resize, there = model.ResizeNode, true
		}
		if c.Resize == model.ResizeNode && m.used(c) && !slices.Contains(m.offline, c.Class) {
			m.follows(c)
			there = true
		}
	}
	return there
}

// unused reports whether an action changes a claim that no pod uses.
func (m *world) unused(a *model.Action) bool {
	i := slices.IndexFunc(m.Claims, func(c model.Claim) bool { return c.Name == a.Claim })
	return a.Kind == model.ActionGrowClaim && i >= 0 && !m.used(&m.Claims[i])
}

// stepOf is the step that an action is; of a claim it says whether a pod uses it.
func (m *world) stepOf(a *model.Action, record *model.Record) Step {
	step := StepOf(*a, record, m.nodeName)
	if m.unused(a) {
		if step.Detail = a.Change.Words() + "; no pod uses it"; a.Change.Size != "" {
			step.Detail += ": its file system follows when one does"
		}
	}
	return step
}

// deleteClaims has claims be deleted, which stay as long as their pod does.
func (m *world) deleteClaims(a *model.Action) {
	for i := range m.Claims {
		if c := &m.Claims[i]; slices.Contains(podNames(a.Claims), c.Name) {
			c.Terminating, c.Replace, c.Deleted = true, true, m.now
		}
	}
}

// kindReplace has the nodes that are drained in place to come onto other volumes.
const kindReplace = string(model.OperationReplace)

// replaceSummary says what comes in the place of what, and what that moves: of one that has begun what is left.
func (c *course) replaceSummary(op *Operation, w work, start *Start) string {
	var parts []string
	for i := range c.model.desired.Volumes {
		v := &c.model.desired.Volumes[i]
		deletes := slices.ContainsFunc(op.Steps, func(s Step) bool {
			return s.Action == string(model.ActionDeleteClaims) && strings.Contains(s.Detail, " "+v.Name+"-"+v.Set+"-")
		})
		if deletes || slices.ContainsFunc(start.Observed.Claims, func(c model.Claim) bool { return c.Replace && v.Holds(&c) }) {
			parts = append(parts, fmt.Sprintf("%s of %s to %s of the class %s", v.Name, v.Set, gates.Bytes(v.Size), v.Class))
		}
	}
	text := ofParts("replace volumes node by node", parts)
	if w.pods == 0 {
		return c.noneLeft(text)
	}
	return fmt.Sprintf("%s; %s drained in place (%s), each empty one loses its old claims and volumes for good, and the pods restart one after the other: %s",
		text, areOf(w.pods, "node"), movesWords(w), count(op.Restarts, "pod"))
}

// noneLeft says so where an operation ends without another pod.
func (c *course) noneLeft(text string) string {
	if c.out.Done {
		text += ": no pod is left to restart"
	}
	return text
}

// ofParts says of what an operation is; of no part where none is left to name.
func ofParts(what string, parts []string) string {
	if len(parts) == 0 {
		return what
	}
	return what + ": " + strings.Join(parts, ", ")
}

// kindRemove has the nodes that come to do with fewer disks.
const kindRemove = string(model.OperationRemoveDisks)

// removes reports whether what is under way is for fewer disks.
func removes(op *model.Operation, next *model.Record) bool {
	if op.Kind == model.OperationExpand {
		return next.Removing != nil && next.Growth == nil
	}
	return op.Kind == model.OperationRemoveDisks || op.Restart != nil && op.Restart.Removes != ""
}

// removeSummary says which disks go, and what that moves. Dedicated masters have nothing to drain.
func (c *course) removeSummary(op *Operation, w work) string {
	var disks []string
	for _, v := range c.model.before {
		gone := func(o model.VolumeTemplate) bool { return o.Set == v.Set && o.Name == v.Name }
		if model.DataVolume(v.Name) && c.model.desires(v.Set) && !slices.ContainsFunc(c.model.desired.Volumes, gone) {
			disks = append(disks, v.Name+" of "+v.Set)
		}
	}
	drained := 0
	for _, s := range op.Steps {
		if s.Action == string(model.ActionExcludeNodes) {
			drained++
		}
	}
	text := ofParts("remove disks node by node", disks)
	if w.pods == 0 {
		return c.noneLeft(text)
	}
	if drained > 0 {
		text += fmt.Sprintf("; %s drained in place before (%s)", areOf(drained, "node"), movesWords(w))
	}
	return text + ", no claim is deleted, and the pods restart one after the other: " + count(op.Restarts, "pod")
}

func (m *world) desires(set string) bool {
	return slices.ContainsFunc(m.desired.Sets, func(s model.Set) bool { return s.Name == set })
}

func areOf(n int, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return count(n, what) + " are"
}

// fileSystemGrows has the node of a claim see so many bytes more.
func (m *world) fileSystemGrows(c *model.Claim, by int64) {
	for i := range m.pods {
		p := &m.pods[i]
		if n := m.volumes[p.NodeName]; p.Set == c.Set && p.Ordinal == c.Ordinal && n.DiskSize > 0 {
			n.DiskSize += by
			n.Disks = grownDisks(n.Disks, m.Templates, c, by)
			m.volumes[p.NodeName] = n
		}
	}
}

// grownDisks are the disks of a node of which the one of a claim has so many bytes more: they are
// in the order of the claim templates. nil where they are not one for each: their sum is known.
func grownDisks(disks []model.Disk, templates []model.VolumeTemplate, c *model.Claim, by int64) []model.Disk {
	var names []string
	for i := range templates {
		if v := &templates[i]; v.Set == c.Set && model.DataVolume(v.Name) {
			names = append(names, v.Name)
		}
	}
	i := slices.Index(names, c.Template)
	if i < 0 || len(names) != len(disks) {
		return nil
	}
	disks = slices.Clone(disks)
	disks[i].Size += by
	return disks
}

// orphan deletes a StatefulSet without its pods.
func (m *world) orphan(set string) {
	m.sets = slices.DeleteFunc(m.sets, func(s Set) bool { return s.Name == set })
	m.DeleteTemplates(set)
	for i := range m.pods {
		if p := &m.pods[i]; p.Set == set {
			p.Controller = ""
		}
	}
}

// putBudget makes a budget what is effective; true where it was something else.
func (m *world) putBudget(want model.Budget) bool {
	next := model.ObservedBudget{Name: want.Name, MaxUnavailable: want.MaxUnavailable, MinAvailable: want.MinAvailable, Seen: true, Allowed: want.MaxUnavailable}
	if want.MinAvailable > 0 {
		next.MaxUnavailable, next.Allowed = 0, 0
	}
	i := slices.IndexFunc(m.budgets, func(b model.ObservedBudget) bool { return b.Name == want.Name })
	switch {
	case i < 0:
		m.budgets = append(m.budgets, next)
	case m.budgets[i].MaxUnavailable != next.MaxUnavailable || m.budgets[i].MinAvailable != next.MinAvailable:
		m.budgets[i] = next
	default:
		return false
	}
	return true
}

// claimsGrow says how many claims of which template grow to which size, and how many get which
// VolumeAttributesClass.
func (c *course) claimsGrow(steps []Step) (grow, modify string) {
	sizes, classes := counted{}, counted{}
	for i := range steps {
		s := &steps[i]
		if s.Action != string(model.ActionGrowClaim) {
			continue
		}
		unused := c.unused[s.Target]
		for i := range c.model.desired.Volumes {
			w := &c.model.desired.Volumes[i]
			if !strings.HasPrefix(s.Target, w.Name+"-"+w.Set+"-") {
				continue
			}
			of, change := w.Name+" of "+w.Set+" to ", c.asked[s.Target]
			if change.Size != "" {
				sizes.add(of+gates.Bytes(w.Size), unused)
			}
			if change.Attributes != "" || change.NoAttributes {
				classes.add(of+gates.ClassName(w.Attributes), unused)
			}
		}
	}
	return sizes.words(), classes.words()
}

// counted counts claims by what happens to them, in the order in which that comes, and those of
// them that no pod uses.
type counted struct {
	order          []string
	claims, unused map[string]int
}

func (c *counted) add(what string, unused bool) {
	if c.claims == nil {
		c.claims, c.unused = map[string]int{}, map[string]int{}
	}
	if c.claims[what]++; c.claims[what] == 1 {
		c.order = append(c.order, what)
	}
	if unused {
		c.unused[what]++
	}
}

func (c *counted) words() string {
	var parts []string
	for _, what := range c.order {
		claims := count(c.claims[what], "claim")
		if n := c.unused[what]; n > 0 {
			claims += fmt.Sprintf(", %d of which no pod uses", n)
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", what, claims))
	}
	return strings.Join(parts, ", ")
}

// templatesOf says what a StatefulSet is recreated with.
func templatesOf(record *model.Record) string {
	if op := record.Operation; op != nil && op.Recreation != nil {
		words := "the claim templates " + strings.ReplaceAll(string(op.Recreation.Sizes), ",", ", ")
		if classes := op.Recreation.Attributes.Some(); classes != "" {
			words += " of the VolumeAttributesClasses " + strings.ReplaceAll(string(classes), ",", ", ")
		}
		return words
	}
	return "other claim templates"
}

// disksAdded are the disks of a StatefulSet that it had not when the plan began, "data1 of SET".
func (c *course) disksAdded(set string) []string {
	var out []string
	for _, w := range c.model.desired.Volumes {
		was := slices.ContainsFunc(c.model.before, func(v model.VolumeTemplate) bool { return v.Set == set && v.Name == w.Name })
		if w.Set == set && model.DataVolume(w.Name) && !was {
			out = append(out, w.Name+" of "+set)
		}
	}
	return out
}

// expandSummary says what is grown and recreated, and that no pod restarts for it. Claims grow also while an
// operation before it is under way.
func (c *course) expandSummary(op *Operation, behind bool) string {
	var parts, sets []string
	grow, modify := c.claimsGrow(op.Steps)
	meanwhile := ""
	if behind {
		meanwhile = ", meanwhile"
	}
	if grow != "" {
		parts = append(parts, "grow volumes online"+meanwhile+": "+grow)
	}
	if modify != "" {
		parts = append(parts, "change volumes in place, no restart"+meanwhile+": "+modify)
	}
	var disks []string
	for _, s := range op.Steps {
		deleted := s.Action == string(model.ActionRecreateSet)
		if (deleted || s.Detail == recreatedWords) && !slices.Contains(sets, s.Target) {
			sets = append(sets, s.Target)
			if deleted { // of one that is gone already nobody knows which disks it had
				disks = append(disks, c.disksAdded(s.Target)...)
			}
		}
	}
	if len(disks) > 0 {
		parts = append(parts, "add disks: "+strings.Join(disks, ", "))
	}
	if len(sets) > 0 {
		parts = append(parts, "recreate StatefulSet "+strings.Join(sets, ", ")+" around its pods, so that later ones get such volumes")
	}
	if len(parts) == 0 {
		return kindExpand
	}
	if len(disks) > 0 {
		return strings.Join(parts, "; ") + "; its pods restart for the disks, and shards do not move to them by themselves: new ones go where most room is"
	}
	if c.model.desired.Operations.OfflineResize == model.OfflineRestart {
		return strings.Join(parts, "; ") + "; no pod restarts, but for a volume whose driver cannot work while the pod runs"
	}
	return strings.Join(parts, "; ") + "; no pod restarts"
}
