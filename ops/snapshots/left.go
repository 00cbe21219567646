package snapshots

import "time"

// Left says how long the rest takes at the rate so far, ", about 3m0s left"; "" where that is not known.
func Left(since time.Duration, fetched, bytes int64) string {
	if fetched <= 0 || since <= 0 || fetched >= bytes {
		return ""
	}
	left := time.Duration(float64(since) * float64(bytes-fetched) / float64(fetched))
	unit := time.Second
	if left > time.Hour {
		unit = time.Minute
	}
	return ", about " + left.Round(unit).String() + " left"
}
