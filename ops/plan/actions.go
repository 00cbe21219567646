package plan

import (
	"maps"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// act has an action succeed.
func (m *world) act(a model.Action) model.Result {
	switch a.Kind {
	case model.ActionCreateSystemSecret:
		m.secrets = append(slices.DeleteFunc(slices.Clone(m.secrets), func(s model.Secret) bool { return s.Name == a.Secret.Name }),
			model.Secret{Name: a.Secret.Name, Exists: true, Keys: []string{a.Secret.Key}, Labelled: true, Version: model.SecretVersion{UID: m.next(madeHere), ResourceVersion: m.next("")}})
	case model.ActionLabelSecret:
		m.secrets = slices.Clone(m.secrets)
		for i := range m.secrets {
			if s := &m.secrets[i]; s.Name == a.Secret.Name {
				s.Labelled, s.Version.ResourceVersion = true, m.next(madeHere)
			}
		}
	case model.ActionAnnotateClaim:
		for i := range m.Claims {
			if m.Claims[i].Name == a.Claim {
				m.Claims[i].ClusterID, m.Claims[i].Version = a.ClusterID, a.Version
			}
		}
	case model.ActionSetBudget:
		m.budgets = slices.Clone(m.budgets)
		for i := range m.budgets {
			if m.budgets[i].Name == a.Budget {
				m.budgets[i].MaxUnavailable = a.Value
			}
		}
	case model.ActionGrowClaim:
		m.growClaim(&a)
	case model.ActionResizePod:
		m.resizePod(&a)
	case model.ActionRecreateSet:
		m.orphan(a.Set)
	case model.ActionDeleteClaims:
		m.deleteClaims(&a)
	case model.ActionRestartPod, model.ActionReplaceStuckPod, model.ActionRecreatePod, model.ActionRecoverPod:
		m.renew(a.Pod)
	case model.ActionRestartZone:
		for _, name := range podNames(a.Pods) {
			m.renew(name)
		}
	case model.ActionShrinkSet, model.ActionSuspendSet:
		if s := m.set(a.Set); s != nil {
			s.Replicas, s.ResourceVersion = a.To, m.next("")
		}
	case model.ActionStopSet, model.ActionDeleteSet, model.ActionDeleteObject:
		m.dismantle(&a)
	default:
		return m.tell(a)
	}
	return model.Result{}
}

// tell has a statement to the database succeed.
func (m *world) tell(a model.Action) model.Result {
	switch a.Kind {
	case model.ActionSetSystemUser:
		m.founded = true
		m.user(a.User)
	case model.ActionSetUser:
		m.user(a.User)
	case model.ActionRestoreUsers:
		m.founded = false // `system` has the password of the cluster that took the snapshot
	case model.ActionRestoreTables:
		m.restored = listed(a.SnapshotTables)
	case model.ActionVerifyUser:
		// Its Secret has changed: the password with it, as far as anybody knows.
		return model.Result{Code: model.ResultRefused}
	case model.ActionAcknowledgeNodeChecks:
		for i := range m.pods {
			m.acknowledged[m.pods[i].NodeName] = true
		}
	case model.ActionLockAllocation:
		m.db.Allocation = a.Allocation
	case model.ActionUnlockAllocation:
		m.db.Allocation = a.Before
	case model.ActionSetSettings:
		for _, s := range a.Settings.Settings() {
			m.settings[s.Name] = s.Value
		}
	case model.ActionResetSettings:
		for _, s := range a.Settings.Settings() {
			m.settings[s.Name] = ""
		}
	case model.ActionExcludeNodes:
		m.exclude(func(ids []string) []string { return append(ids, listed(a.NodeIDs)...) })
	case model.ActionIncludeNodes:
		m.exclude(func(ids []string) []string { return without(ids, listed(a.NodeIDs)) })
	case model.ActionExcludeInTable, model.ActionIncludeInTable:
		m.excludeInTable(a)
	}
	return model.Result{}
}

func (m *world) user(name string) {
	if !slices.Contains(m.db.Users, name) {
		m.db.Users = append(slices.Clone(m.db.Users), name)
	}
}

func (m *world) exclude(change func([]string) []string) {
	list := slices.Compact(change(listed(m.db.Settings.Exclude["_id"])))
	m.db.Settings.Exclude = maps.Clone(m.db.Settings.Exclude)
	if m.db.Settings.Exclude == nil {
		m.db.Settings.Exclude = map[string]string{}
	}
	m.db.Settings.Exclude["_id"] = strings.Join(list, ",")
	if len(list) == 0 {
		delete(m.db.Settings.Exclude, "_id")
	}
}

func (m *world) excludeInTable(a model.Action) {
	m.db.Partitioned = slices.Clone(m.db.Partitioned)
	for _, tables := range [][]model.Table{m.db.Tables, m.db.Partitioned} {
		for i := range tables {
			t := &tables[i]
			switch {
			case t.Name != a.Table && t.Of != a.Table:
			case a.Settings != "":
				for _, want := range a.Settings.Settings() {
					filter(t, want.Name, want.Value)
				}
			case a.Kind == model.ActionExcludeInTable:
				filter(t, "exclude._id", strings.Join(append(listed(t.Exclude["_id"]), listed(a.NodeIDs)...), ","))
			default:
				filter(t, "exclude._id", strings.Join(without(listed(t.Exclude["_id"]), listed(a.NodeIDs)), ","))
			}
			t.Filtered = t.Filters().Any()
		}
	}
}

// filter sets one filter of a table, by its key such as "include._name"; "" takes it off.
func filter(t *model.Table, key, value string) {
	kind, name, _ := strings.Cut(key, ".")
	of := map[string]*map[string]string{"require": &t.Require, "include": &t.Include, "exclude": &t.Exclude}[kind]
	next := maps.Clone(*of)
	if next == nil {
		next = map[string]string{}
	}
	if next[name] = value; value == "" {
		delete(next, name)
	}
	*of = next
}

// podNames of an action on several pods, which are "name/uid" there.
func podNames(pods string) []string {
	var names []string
	for each := range strings.SplitSeq(pods, ",") {
		name, _, _ := strings.Cut(each, "/")
		names = append(names, name)
	}
	return names
}

func listed(ids string) []string {
	return strings.FieldsFunc(ids, func(r rune) bool { return r == ',' })
}

func without(list, gone []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(id string) bool { return slices.Contains(gone, id) })
}
