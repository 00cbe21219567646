package ops

import "time"

// Decide returns what may be done next. It is pure: the same arguments give
// the same decision, and none of them is changed. What is observed has to come
// from caches that have caught up at least once.
func Decide(desired Desired, observed Observed, record Record, policy Policy, now time.Time) Decision {
	var t turn // filled in place: it is large, and a literal would be copied
	t.d = desired
	t.o = observed
	t.r = record
	t.p = policy
	t.now = now
	t.rebuild()
	t.command()
	t.withdraw()

	// Whether this cluster is ours to touch at all.
	switch {
	case t.anothers():
		// The record is the other's: nothing is written to it.
		t.r = record
		t.finish(&record)
		return t.d2
	case t.removed(), t.released(), t.paused():
		t.keep()
		t.finish(&record)
		return t.d2
	}
	t.takeUp()
	if t.renamed() || t.notOurs() || t.foreign() || t.classless() {
		t.keep()
		t.refused()
		t.finish(&record)
		return t.d2
	}

	// What of it may be applied now.
	t.refuse()
	t.create()
	t.start()
	t.hold()

	// What else is to be done, none of it waiting for the rest.
	t.failures()
	t.labelSecrets()
	t.systemUser()
	t.users()
	t.settings()
	t.references()
	t.bootstrap()
	t.work()
	t.claims()
	t.settledFailures()

	t.watchDenied()
	t.othersFilters()
	t.watchSlow()
	t.watchEnds()

	t.effective()
	t.cure()
	t.d2.Apply, t.d2.Adopt = true, t.adoption()
	t.contested()
	t.verify()
	t.consent()
	t.finish(&record)
	return t.d2
}
