// Package allocation is CrateDB's rules of where a copy of a shard may go, and the words
// that CrateDB gives for why not. The CrateDB simulator, the simulation in virtual time, a plan and the
// tests of ops decide by it, so that there is one belief about CrateDB to correct.
//
// The rules are those of the classes in
// org.elasticsearch.cluster.routing.allocation.decider, asked in CrateDB's order. They
// look at values and do no I/O. Decide and Remains allocate no memory, because a simulation asks
// them some hundred thousand times a second; Objections puts the same rules into words.
package allocation
