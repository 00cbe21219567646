// Package simulation tries to lose data and fails. One seed makes one
// schedule: a cluster, what people push and do to it, and the faults that meet
// the work. It is run in virtual time on one thread against a lean Kubernetes
// and a lean CrateDB, through the real ops.Decide, ops.RecordResult and executors,
// in the order of the daemon's own pass. A judge that shares no code with ops sees
// what happens in the world, never the record, and says which invariant of
// docs/safety.md is broken.
//
// The same seed gives the same history, event by event. A schedule is a list of
// items that can be left out one by one: so a failing one shrinks.
package simulation
