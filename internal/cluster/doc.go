// Package cluster has the rules of a small Kubernetes and a small CrateDB that are written in the types
// of ops/model: where the copies of shards go, what the StatefulSet controller does next, how claims follow
// from StatefulSets, and what a decision writes on a StatefulSet. The plan runs decisions forward over them
// (ops/plan), and so do the tests of ops, with kills and faults. The simulation runs the same controller.
//
// Where a copy may go internal/cratesim/allocation says, as it does to the simulation in virtual time
// and to the CrateDB simulator.
package cluster
