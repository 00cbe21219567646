package main

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNewClustersGiveASmallHeapRoomAndALargeOneNoMore(t *testing.T) {
	for alive, percent := range map[uint64]int{0: 800, 4 << 20: 800, 8 << 20: 400, 32 << 20: 100, 64 << 20: 50, 500 << 20: 50} {
		assert.Equal(t, percent, percentOf(alive), "%d bytes", alive)
	}
}

func TestTheCollectorFollowsWhatIsAlive(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	percent := func() int {
		p := debug.SetGCPercent(100)
		debug.SetGCPercent(p)
		return p
	}
	c := newCollector()
	defer c.hear(false)
	collectUntil := func(follows func() bool) {
		for !follows() {
			runtime.GC()
		}
	}
	much := make([]byte, 128<<20)
	collectUntil(func() bool { return percent() == growth })
	runtime.KeepAlive(much)
	collectUntil(func() bool { return percent() > growth })
	c.hear(false)
	assert.Equal(t, growth, percent(), "without new clusters")
}
