// Package ops decides what may be done to a CrateDB cluster next. Decide is a pure function of
// what is desired, observed and recorded. Gates (ops/gates) say why something may not happen,
// executors (ops/execute) carry one action out, then everything is observed again. Nothing in
// here reads a clock, starts a goroutine or reaches a network.
//
// The order of one pass, for whoever drives it:
//
//	desired   := manifest.NewDesired(definition, render, owner, commit)
//	desired.Changes = manifest.Classify(desiredSets, effectiveSets) // when a hash changed
//	decision  := ops.Decide(desired, observed, record, policy, now)
//	objects, decision.Record.Saved = manifest.Materialise(rendered, record.Saved, decision.Effective)
//	            enqueue decision.Reports, then save decision.Record when it changed
//	            apply objects when decision.Apply, then run decision.Actions()
//	record     = ops.RecordResult(record, action, result, now) // after each action; saved again
package ops
