package record

import (
	"bytes"
	"math/bits"
	"time"
)

// ObservationInterval is the shortest time between two writes of a cluster's
// observation while no operation ends: each write costs etcd its whole size.
const ObservationInterval = 10 * time.Minute

// ObservationRefresh is when an observation is written though nothing in it has
// changed: its age is read as that of the reading. It is shorter than the interval at
// which a quiet cluster is read in detail, or each second of these would publish nothing.
const ObservationRefresh = ObservationInterval - time.Minute

// Published is an observation as it was written last; the zero value: never.
type Published struct {
	// At is when, by the writer's clock.
	At time.Time
	// Content is the rounded observation without its time.
	Content []byte
}

// ShouldPublish says whether the rounded content is to be written now: it
// differs from what was written, and an operation has just ended, or the
// interval has passed; or it is as it was, and the last write is ObservationRefresh ago. A time in the future (a clock that went back) counts as
// passed, or nothing would be written until then.
func ShouldPublish(prev Published, next []byte, now time.Time, endOfOperation bool) bool {
	if bytes.Equal(prev.Content, next) {
		return !prev.At.IsZero() && (prev.At.After(now) || now.Sub(prev.At) >= ObservationRefresh)
	}
	return endOfOperation || prev.At.IsZero() || prev.At.After(now) || now.Sub(prev.At) >= ObservationInterval
}

// RoundBytes rounds a size for publishing, to the nearest of eight steps in
// each power of two (at most 6.3 % off), sizes under 1 MiB to whole 128 KiB;
// so a table that is being written to does not change its observation with
// every look. Negative sizes are 0.
func RoundBytes(size int64) int64 {
	if size <= 0 {
		return 0
	}
	return roundTo(size, max(step(size), 128<<10))
}

// RoundCount rounds a number of rows in the same way; up to 16 it is exact.
// Numbers of nodes, shards and tables are published as they are.
func RoundCount(count int64) int64 {
	if count <= 0 {
		return 0
	}
	return roundTo(count, max(step(count), 1))
}

func step(n int64) int64 {
	return int64(1) << max(bits.Len64(uint64(n))-4, 0)
}

func roundTo(n, step int64) int64 {
	down := n / step * step
	if n-down >= step-step/2 && down <= 1<<62 {
		return down + step
	}
	return down
}
