package ops

import (
	"maps"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
)

// carriesData: copies may be on the node in the pod.
func (t *turn) carriesData(p *Pod) bool {
	w := t.wanted(p.Set)
	return w == nil || w.Data
}

// ahead is what it does to tables that these pods are away together.
func (t *turn) ahead(pods []*Pod) RestartForecast {
	db := &t.o.Database
	var away, data []*Node
	for i := range db.Nodes {
		n := &db.Nodes[i]
		j := slices.IndexFunc(t.o.Pods, func(p Pod) bool { return p.NodeName == n.Name })
		if j >= 0 && !t.carriesData(&t.o.Pods[j]) {
			continue
		}
		if slices.ContainsFunc(pods, func(p *Pod) bool { return p.NodeName == n.Name }) {
			n = t.asItReturns(n, &t.o.Pods[j])
			away = append(away, n)
		}
		data = append(data, n)
	}
	if len(away) == 0 {
		return RestartForecast{}
	}
	kept := *db // what is kept points to no turn
	return forecastRestart(&kept, t.r.Version, away, data)
}

// asItReturns is the node as it will be: with the attributes of its set's template.
func (t *turn) asItReturns(n *Node, p *Pod) *Node {
	live := t.live(p.Set)
	if live == nil || live.Attributes == "" || n.Attributes == nil {
		return n
	}
	next := *n
	next.Attributes = maps.Clone(n.Attributes)
	for _, a := range live.Attributes.Settings() {
		next.Attributes[a.Name] = a.Value
	}
	return &next
}

// mayHeal: the pod's restart brings what may be the cure of copies that do not come back:
// other settings of the allocation; of a set whose template is not written yet, other
// attributes too, of which more is known when it is. A pod that is not ready is replaced
// for what may make it so.
func (t *turn) mayHeal(p *Pod) bool {
	const settings = "cluster.routing.allocation."
	live := t.live(p.Set)
	if live == nil || !p.Ready {
		return true
	}
	for i := range t.d.Changes {
		c := &t.d.Changes[i]
		if c.Set == p.Set && c.Class == ChangeRestart && (strings.Contains(c.Path, "["+settings) || strings.Contains(c.Path, "["+attributePrefix)) {
			return true
		}
	}
	return allocationOf(p.Settings, settings) != allocationOf(live.Settings, settings)
}

func allocationOf(list SettingList, prefix string) SettingList {
	return NewSettingList(slices.DeleteFunc(list.Settings(), func(s Setting) bool { return !strings.HasPrefix(s.Name, prefix) }))
}

// takes are the pods that a restart has still to take; the one that is about to go is the
// first.
func (t *turn) takes(p *Pod) []*Pod {
	pods := []*Pod{p}
	for i := range t.o.Pods {
		if q := &t.o.Pods[i]; q.Name != p.Name && !q.Terminating && (t.outdated(q) || t.pendingRestart(q.Set)) {
			pods = append(pods, q)
		}
	}
	return pods
}

// aheadWaits looks at what the absence of each pod does, all of them before the first one
// goes, and says it.
func (t *turn) aheadWaits(op *Operation, p *Pod) bool {
	begins := op.Step == StepNext && len(op.Restart.Done) == 0
	pods := []*Pod{p}
	if begins {
		pods = t.takes(p)
	}
	var names, unhealed, hangs, sole, kept, keeps []string
	for i, q := range pods {
		f := t.ahead([]*Pod{q})
		if i == 0 {
			t.sayAhead(q, f)
		}
		if len(f.Keeps) > 0 && !t.absent(q.NodeName) {
			kept, keeps = append(kept, q.Name), append(keeps, f.Keeps...)
		}
		hangs, sole = append(hangs, f.Hangs...), append(sole, f.Sole...)
		if len(f.Unhealed) > 0 && !t.mayHeal(q) {
			names, unhealed = append(names, q.Name), append(unhealed, f.Unhealed...)
		}
	}
	if len(keeps) > 0 {
		t.refusal(gates.NodeCannotLeave(kept, distinct(keeps)))
		return true
	}
	slices.Sort(unhealed)
	unhealed = slices.Compact(unhealed)
	if len(unhealed) > 0 && t.d.Operations.Unhealable != "proceed" {
		t.refusal(gates.CopiesDoNotReturn(names, unhealed))
		return true
	}
	if begins && !op.Restart.Said {
		op.Restart.Said = true
		t.reportAhead(distinct(hangs), distinct(sole), unhealed)
	}
	return false
}

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// sayAhead says it of one pod in the status, and holds nothing back.
func (t *turn) sayAhead(p *Pod, f RestartForecast) {
	if reason, says := gates.WritesWait(p.Name, f.Hangs); says {
		t.wait(reason)
	}
	if reason, says := gates.OnlyCopies(p.Name, f.Sole); says {
		t.wait(reason)
	}
}

// reportAhead says it of all pods in an event, before the first one goes.
func (t *turn) reportAhead(hangs, sole, unhealed []string) {
	var words []string
	if len(hangs) > 0 {
		words = append(words, "writes wait while a node with their copies is away, by write.wait_for_active_shards: "+gates.Few(hangs))
	}
	if len(sole) > 0 {
		words = append(words, "reads fail and writes wait while the node with the only copy of a shard is away: "+gates.Few(sole))
	}
	if len(unhealed) > 0 {
		words = append(words, "copies do not come back, which spec.operations.unhealable: proceed accepts: "+gates.Few(unhealed))
	}
	if len(words) > 0 {
		t.report(Report{Reason: "RestartForecast", Status: StatusInProgress, Warning: true, Message: "what the restart of pods does to tables: " + strings.Join(words, ". ")})
	}
}

// sayAway says it again while the pod is away.
func (t *turn) sayAway(pod string) {
	db := &t.o.Database
	if !t.contact() || !db.TablesKnown {
		return
	}
	var data []*Node
	for i := range db.Nodes {
		data = append(data, &db.Nodes[i])
	}
	kept := *db
	if reason, says := gates.WritesWait(pod, newAbsence(&kept, t.r.Version, nil, data).hangs()); says {
		t.wait(reason)
	}
}

// missingWhy are CrateDB's reasons why copies are on no node.
func (t *turn) missingWhy() []string {
	var out []string
	for i := range t.o.Database.Stuck {
		if e := &t.o.Database.Stuck[i]; e.Node == "" {
			if words := e.words(); !slices.Contains(out, words) {
				out = append(out, words)
			}
		}
	}
	return out
}
