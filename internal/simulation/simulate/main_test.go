package main

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// With -n 1 on two cores it was the seed asked for or the next one, as it happened.
func TestTheFirstSeedsAreTakenWhicheverCoreIsFaster(t *testing.T) {
	chosen := seeds{next: 100, left: 500}
	var mu sync.Mutex
	var taken []uint64
	var cores sync.WaitGroup
	for range 8 {
		cores.Go(func() {
			for {
				s, ok := chosen.take()
				if !ok {
					return
				}
				mu.Lock()
				taken = append(taken, s.Seed)
				mu.Unlock()
			}
		})
	}
	cores.Wait()
	slices.Sort(taken)
	want := make([]uint64, 500)
	for i := range want {
		want[i] = 100 + uint64(i)
	}
	assert.Equal(t, want, taken)
}
