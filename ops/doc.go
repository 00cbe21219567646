// Package ops decides what may be done to a CrateDB cluster next. Decide is
// a pure function of what is wanted, what was observed and what is recorded;
// gates (ops/gates) say why something may not happen, executors (ops/execute)
// carry one action out, then everything is observed again. Nothing in here
// reads a clock, starts a goroutine or reaches a network.
//
// The order of one turn, for whoever drives it:
//
//	changes   := Classify(wanted, last)          // only when a hash changed
//	decision  := Decide(desired, observed, record, policy, now)
//	objects   := manifest.Materialise(wanted, record.Saved, decision.Effective)
//	            enqueue decision.Reports, then save decision.Record when it changed
//	            apply objects when decision.Apply, run decision.Actions()
//	record     = Settle(record, action, result, now)   // after each action
package ops
