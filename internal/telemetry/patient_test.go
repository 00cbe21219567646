package telemetry

import "time"

// A machine that is busy elsewhere may take longer for a request.
func init() {
	limits.header, limits.read, limits.write, limits.collect = 10*time.Minute, 10*time.Minute, 10*time.Minute, 10*time.Minute
}
