package gates

import (
	"fmt"
	"time"
)

// ages are the steps to which an age is rounded down: what is said again soon after is then the same text.
var ages = []time.Duration{
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// Age says how old something is: "more than 2 minutes".
func Age(age time.Duration) string {
	const day = 24 * time.Hour
	at := time.Duration(0)
	for _, step := range ages {
		if age >= step {
			at = step
		}
	}
	switch {
	case age >= 2*day:
		return fmt.Sprintf("%d days", age/day)
	case at == 0:
		return "less than 1 minute"
	case at < time.Hour:
		return "more than " + units(at/time.Minute, "minute")
	}
	return "more than " + units(at/time.Hour, "hour")
}

func units(n time.Duration, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}
