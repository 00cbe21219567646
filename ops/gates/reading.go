package gates

import "time"

// FreshReadingRule is the rule fresh-reading.
var FreshReadingRule = Rule{
	Name:   "fresh-reading",
	Kind:   Waits,
	Says:   "A decision that changes the number of nodes needs a reading of the database that is not old.",
	Do:     "Wait for the next reading. If it does not come, the database answers too slowly: look at its load.",
	Source: "docs/safety.md, what always holds",
}

// FreshReading compares a reading's age with its limit.
func FreshReading(age, limit time.Duration) (Reason, bool) {
	if age <= limit {
		return Reason{}, false
	}
	return FreshReadingRule.because("the last reading of the database is %s old, more than %s", age.Round(time.Second), limit), true
}
