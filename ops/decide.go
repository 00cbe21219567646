package ops

import "time"

// Decide returns what may be done next. It is pure.
func Decide(desired Desired, observed Observed, record Record, policy Policy, now time.Time) Decision {
	return Decision{Verdict: Wait, Record: record}
}

// Settle returns the record after an action ended with a result. It is pure.
func Settle(record Record, action Action, result Result, now time.Time) Record { return record }
