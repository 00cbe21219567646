package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	// growth is by how much of what is alive the heap grows before it is collected, in
	// percent. Almost all of it lives as long as its cluster is looked after, so Go's own
	// rule, twice what is alive, holds as much for nothing.
	growth = 50
	// newcomersRoom in bytes is what it may grow by at least while clusters are looked at
	// for the first time: little of what is made then lives on, and to find that out
	// again and again would take a fifth of the CPU.
	newcomersRoom = 32 << 20
)

// collector says when the heap is collected, where GOGC does not.
type collector struct {
	mu        sync.Mutex
	newcomers bool
	percent   int
}

// newCollector is for a process whose first clusters are to come.
func newCollector() *collector {
	c := &collector{newcomers: true}
	if os.Getenv("GOGC") == "" {
		c.set()
		c.afterNext()
	}
	return c
}

// hear is told whether there are clusters that are looked at for the first time.
func (c *collector) hear(newcomers bool) {
	c.mu.Lock()
	c.newcomers = newcomers
	c.mu.Unlock()
	if os.Getenv("GOGC") == "" {
		c.set()
	}
}

// afterNext sets the percentage anew after each collection, which has found how much is
// alive: what nobody holds is cleaned up then.
func (c *collector) afterNext() {
	runtime.AddCleanup(&struct{ of *collector }{c}, func(c *collector) {
		c.set()
		c.afterNext()
	}, c)
}

func (c *collector) set() {
	c.mu.Lock()
	defer c.mu.Unlock()
	alive := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(alive)
	percent := growth
	if c.newcomers {
		percent = percentOf(alive[0].Value.Uint64())
	}
	if percent != c.percent {
		c.percent = percent
		debug.SetGCPercent(percent)
	}
}

// percentOf is the growth of a heap of which so many bytes are alive, while clusters are
// looked at for the first time; for Go no heap is smaller than 4 MiB.
func percentOf(alive uint64) int {
	return max(growth, int(100*newcomersRoom/max(alive, 4<<20)))
}
