package simulation

import "testing"

// One schedule after the other on one core; what a schedule takes depends on its
// seed, so some hundreds of them make a number.
func BenchmarkSchedule(b *testing.B) {
	b.ReportAllocs()
	var stats Statistics
	for seed := uint64(1); b.Loop(); seed++ {
		stats.Note(Run(NewSchedule(seed), &stats, nil))
	}
	b.ReportMetric(float64(stats.Counted)/b.Elapsed().Minutes(), "counted/min")
}
