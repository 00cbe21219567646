package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/capacity"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

func forecastOf(v *view.View, p *model.Pod) capacity.RestartForecast {
	db := &v.Observed.Database
	var away, data []*model.Node
	for n := range model.Each(db.Nodes) {
		in := view.PodOf(v, n)
		if in != nil && !view.HoldsData(v, in) {
			continue
		}
		if n.Name == p.NodeName {
			n = asItReturns(v, n, in)
			away = append(away, n)
		}
		data = append(data, n)
	}
	if len(away) == 0 {
		return capacity.RestartForecast{}
	}
	kept := *db // what is kept points into no pass
	kept.Settings.Exclude = excludedThen(v, p, away)
	return capacity.ForecastAway(&kept, v.Record.Version, away, data)
}

// excludedThen are the exclusions once a pod is back: a node whose volume goes with its pod comes
// back with another id, which nobody excludes.
func excludedThen(v *view.View, p *model.Pod, away []*model.Node) map[string]string {
	list := v.Observed.Database.Settings.Exclude
	if !view.ReplacesVolume(v, p) {
		return list
	}
	gone := func(id string) bool {
		return slices.ContainsFunc(away, func(n *model.Node) bool { return n.ID == id })
	}
	next := maps.Clone(list)
	if ids := slices.DeleteFunc(model.Listed(list["_id"]), gone); len(ids) > 0 {
		next["_id"] = strings.Join(ids, ",")
	} else {
		delete(next, "_id")
	}
	return next
}

// asItReturns is the node as it will be: with the attributes of its set's template.
func asItReturns(v *view.View, n *model.Node, p *model.Pod) *model.Node {
	live := v.Live(p.Set)
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

// mayHeal reports whether the pod's restart may bring back copies that do not return otherwise:
// it has other settings of the allocation or, while the template of its set is not written yet,
// other attributes; once it is, more is known. A pod that is not ready is restarted for what
// may make it ready.
func mayHeal(v *view.View, p *model.Pod) bool {
	const settings = "cluster.routing.allocation."
	live := v.Live(p.Set)
	if live == nil || !p.Ready {
		return true
	}
	for c := range model.Each(v.Desired.Changes) {
		if c.Set == p.Set && c.Class == model.ChangeRestart && (strings.Contains(c.Path, "["+settings) || strings.Contains(c.Path, "["+manifest.AttributePrefix)) {
			return true
		}
	}
	return allocationOf(p.Settings, settings) != allocationOf(live.Settings, settings)
}

func allocationOf(list model.SettingList, prefix string) model.SettingList {
	return manifest.NewSettingList(slices.DeleteFunc(list.Settings(), func(s model.Setting) bool { return !strings.HasPrefix(s.Name, prefix) }))
}

// toRestart are the pods that a restart has still to take, first the one that is about to go.
func toRestart(v *view.View, p *model.Pod) []*model.Pod {
	pods := []*model.Pod{p}
	for q := range model.Each(v.Observed.Pods) {
		if q.Name != p.Name && !q.Terminating && view.RestartDue(v, q) {
			pods = append(pods, q)
		}
	}
	return pods
}

// forecastWaits looks at what the absence of a pod does to tables, before the first one goes for
// all of them, and reports it.
func forecastWaits(t *pass.Pass, op *model.Operation, p *model.Pod) bool {
	begins := op.Step == model.StepNext && len(op.Restart.Done) == 0
	pods := []*model.Pod{p}
	if begins {
		pods = toRestart(&t.View, p)
	}
	var names, unhealed, blocked, sole, kept, keeps []string
	for i, q := range pods {
		f := forecastOf(&t.View, q)
		if i == 0 { // the status shows it of the one that goes; it stops nothing
			t.Waits(gates.WritesWait(q.Name, f.WritesWait))
			t.Waits(gates.OnlyCopies(q.Name, f.Sole))
		}
		if len(f.Keeps) > 0 && !view.Absent(&t.View, q.NodeName) {
			kept, keeps = append(kept, q.Name), append(keeps, f.Keeps...)
		}
		blocked, sole = append(blocked, f.WritesWait...), append(sole, f.Sole...)
		if len(f.Unhealed) > 0 && !mayHeal(&t.View, q) {
			names, unhealed = append(names, q.Name), append(unhealed, f.Unhealed...)
		}
	}
	if len(keeps) > 0 {
		t.Refuse(gates.NodeCannotLeave(kept, model.Distinct(keeps)))
		return true
	}
	if unhealed = model.Distinct(unhealed); len(unhealed) > 0 && t.Desired.Operations.Unhealable != "proceed" {
		t.Refuse(gates.CopiesDoNotReturn(names, unhealed))
		return true
	}
	if begins && !op.Restart.ForecastReported {
		op.Restart.ForecastReported = true
		reportForecast(t, model.Distinct(blocked), model.Distinct(sole), unhealed)
	}
	return false
}

// reportForecast reports the same of all pods in an event, before the first one goes.
func reportForecast(t *pass.Pass, blocked, sole, unhealed []string) {
	var words []string
	if len(blocked) > 0 {
		words = append(words, "writes wait while a node with their copies is away, by write.wait_for_active_shards: "+gates.Few(blocked))
	}
	if len(sole) > 0 {
		words = append(words, "reads fail and writes wait while the node with the only copy of a shard is away: "+gates.Few(sole))
	}
	if len(unhealed) > 0 {
		words = append(words, "copies do not come back, which spec.operations.unhealable: proceed accepts: "+gates.Few(unhealed))
	}
	if len(words) > 0 {
		t.Report(model.Report{Reason: "RestartForecast", Status: model.StatusInProgress, Warning: true, Message: "what the restart of pods does to tables: " + strings.Join(words, ". ")})
	}
}

// sayAway says again, while the pod is away, which writes wait.
func sayAway(t *pass.Pass, pod string) {
	db := &t.Observed.Database
	if !t.Contact() || !db.TablesKnown {
		return
	}
	kept := *db // what is kept points into no pass
	t.Waits(gates.WritesWait(pod, capacity.ForecastAway(&kept, t.Record.Version, nil, slices.Collect(model.Each(kept.Nodes))).WritesWait))
}

// soleWords names beforehand the tables that a restart makes unreadable for a
// while.
func soleWords(v *view.View) string {
	var tables []string
	for i := range v.Observed.Database.Nodes {
		tables = append(tables, v.Observed.Database.Nodes[i].Sole...)
	}
	if len(tables) == 0 {
		return ""
	}
	tables = model.Distinct(tables)
	return fmt.Sprintf("; %d table(s) have shards without a second copy and are not whole while their node is away: %s", len(tables), strings.Join(tables[:min(len(tables), 20)], ", "))
}
