package main

import (
	"encoding/binary"
	"hash/fnv"
	"sync"
	"sync/atomic"

	"stevedore.dev/stevedore/internal/simulation"
)

// digestOf is one hash over the decisions of count schedules, whichever core ran which.
func digestOf(first uint64, count, cores int) uint64 {
	var total, next atomic.Uint64
	var all sync.WaitGroup
	for range cores {
		all.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= uint64(count) {
					return
				}
				seed := first + i
				decisions, _ := simulation.Digest(simulation.NewSchedule(seed))
				one := fnv.New64a()
				_ = binary.Write(one, binary.BigEndian, [2]uint64{seed, decisions})
				total.Add(one.Sum64())
			}
		})
	}
	all.Wait()
	return total.Load()
}
