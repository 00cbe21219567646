package plan

import (
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
)

// kindDelete has the steps in which a cluster is deleted that had consented to it.
const kindDelete = "delete"

// deletes reports whether the deletion of the cluster has begun.
func deletes(record *model.Record) bool {
	return record.Removal != nil && !record.Removal.Began.IsZero()
}

// dismantle has an action of a deletion succeed.
func (m *world) dismantle(a *model.Action) {
	switch a.Kind {
	case model.ActionStopSet:
		if s := m.set(a.Set); s != nil {
			s.Replicas, s.ResourceVersion = 0, m.next("")
		}
	case model.ActionDeleteSet:
		m.sets = slices.DeleteFunc(m.sets, func(s Set) bool { return s.Name == a.Set })
	case model.ActionDeleteObject:
		m.leftovers = slices.DeleteFunc(slices.Clone(m.leftovers), func(l model.Leftover) bool { return l.Object == a.Object })
	}
}

// deleteSummary says what of the cluster ends, and what stays.
func deleteSummary(start *Start) string {
	text := "delete the cluster: " + nodesOf(start.Record.Sets)
	if db := &start.Observed.Database; db.TablesKnown {
		text += fmt.Sprintf(" with %s", tablesText(db))
	}
	return text + "; " + claimsText(len(start.Observed.Claims)) + " with the data, and its Secrets: a definition of the same name starts on them again"
}

func claimsText(n int) string {
	if n == 1 {
		return "1 volume claim stays,"
	}
	return count(n, "volume claim") + " stay,"
}

// tablesText counts the tables, and how much all their copies are.
func tablesText(db *model.Database) string {
	bytes := int64(0)
	for i := range db.Shards {
		bytes += db.Shards[i].Bytes
	}
	return fmt.Sprintf("%s, %s", count(len(db.Tables), "table"), bytesText(bytes))
}

// deleteRisks are what is away once a cluster is deleted.
func deleteRisks(start *Start) []Risk {
	const until = "from the first step on, and nothing can connect to the cluster, until a definition of the same name is back"
	db := &start.Observed.Database
	if !db.TablesKnown || len(db.Tables) == 0 {
		return []Risk{{Subject: "the cluster " + start.Desired.ClusterName, Why: "no table can be read or written " + until}}
	}
	const most = 5
	var some []string
	for i := range db.Tables[:min(len(db.Tables), most)] {
		some = append(some, db.Tables[i].Name)
	}
	if n := len(db.Tables) - most; n > 0 {
		some = append(some, fmt.Sprintf("%d more", n))
	}
	return []Risk{{Subject: "the cluster " + start.Desired.ClusterName, Why: fmt.Sprintf("its %s, cannot be read or written %s: %s", tablesText(db), until, strings.Join(some, ", "))}}
}

// Deleted are the objects of a cluster that its deletion takes away, and those that stay.
func Deleted(start *Start) []Object {
	out := []Object{}
	for i := range start.Observed.Sets {
		if s := &start.Observed.Sets[i]; s.Ours {
			out = append(out, Object{Key: compare.Key{Group: "apps", Kind: "StatefulSet", Namespace: start.Desired.Namespace, Name: s.Name}, Change: Removed, Class: ByOperation})
		}
	}
	for i := range start.Observed.Leftovers {
		l := &start.Observed.Leftovers[i]
		one := Object{Key: compare.Key{Group: l.Object.Group, Kind: l.Object.Kind, Namespace: start.Desired.Namespace, Name: l.Object.Name}, Change: Removed, Class: InPlace}
		switch {
		case l.Object.Kind == "StatefulSet":
			continue
		case l.Data:
			one.Change, one.Why = Orphaned, "it stays: what holds data, and Secrets, are never deleted"
		}
		out = append(out, one)
	}
	if !slices.ContainsFunc(out, func(o Object) bool { return o.Key.Name == names.SystemSecret(start.Desired.Name) }) {
		out = append(out, Object{Key: compare.Key{Kind: "Secret", Namespace: start.Desired.Namespace, Name: names.SystemSecret(start.Desired.Name)}, Change: Orphaned, Class: InPlace,
			Why: "it stays: the password of the user system belongs to the data on the volumes"})
	}
	return out
}
