package main

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/daemon"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/plan"
)

// staleAfter is when a published reading is too old to rely on: a daemon that
// looks publishes every ten minutes, one of an older release every hour.
const staleAfter = 90 * time.Minute

// startOf is where the plan of a cluster begins, wherever its basis was read.
func startOf(basis daemon.Basis, objects []*unstructured.Unstructured, now time.Time) plan.Start {
	return plan.Start{Desired: basis.Desired, Templates: plan.Rendered(objects), Observed: basis.Observed, Record: basis.Record, Now: now, Outdated: outdated(basis) != ""}
}

// outdated is why the numbers of a reading are those of another moment; "" where nothing says so.
func outdated(basis daemon.Basis) string {
	if basis.Read.IsZero() {
		return ""
	}
	for i := range basis.Observed.Pods {
		if p := &basis.Observed.Pods[i]; basis.Live && p.Started.After(basis.Read) {
			return "pod " + p.Name + " has started since the database was read"
		}
	}
	if basis.Moving > 0 {
		return fmt.Sprintf("%d shard(s) were moving when the database was read", basis.Moving)
	}
	return ""
}

// sayReading says in a plan's basis when the database was read, and how long ago.
func sayReading(b *plan.Basis, basis daemon.Basis, now time.Time) {
	if basis.Read.IsZero() {
		return
	}
	age := max(now.Sub(basis.Read), 0)
	b.Observed, b.Age, b.Stale = basis.Read, plan.Duration(age.Truncate(time.Second)), age > staleAfter
}

// unknownOfReading is what the published reading of a database does not tell; nothing of a
// basis that has none.
func unknownOfReading(basis daemon.Basis, b plan.Basis) (unknown []string) {
	switch {
	case b.Observed.IsZero():
	case !basis.Data:
		unknown = append(unknown, "the published reading says nothing of tables: whether a drain fits, and which tables have no replicas, is not known")
	case basis.Left > 0:
		unknown = append(unknown, fmt.Sprintf("the published reading leaves out %d small table(s) or partition(s), about %d MiB: numbers are without them", basis.Left, basis.LeftBytes>>20))
	}
	if why := outdated(basis); why != "" {
		unknown = append(unknown, why+": how many shards which node has is not known; ask again in half a minute")
	}
	if b.Stale {
		ask := "is it running?"
		if b.ObservedIn != "" {
			ask = "is it running, and when was " + b.ObservedIn + " made?"
		}
		unknown = append(unknown, fmt.Sprintf("the reading of the database is %s old, and a daemon that works publishes one at least every %s: %s", gates.Age(time.Duration(b.Age)), plan.Duration(record.ObservationInterval), ask))
	}
	return unknown
}
