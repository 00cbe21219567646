package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// report gathers the results by table, so that each stands beside the others.
type report struct {
	diffOffline, diffLive, reconcile, running, restarts, start table
	// bare and loops are what ratios are made with, by size.
	bare  map[int]time.Duration
	loops map[int]compared
	// waiting are rows of a size whose ratios come when all have been measured.
	lives   map[int][]liveRow
	colds   map[int][]coldRow
	sizes   []int
	objects map[int]int
}

type liveRow struct {
	who  string
	took compared
}

type coldRow struct {
	who  string
	took cold
}

func newReport() *report {
	return &report{
		diffOffline: table{
			title:  "`stevedore diff --against HEAD`: one definition changed, a cold process, no cluster",
			header: []string{"clusters", "wall", "CPU", "peak memory", "goal"},
		},
		diffLive: table{
			title:  "A live fleet compared with one in which one cluster is changed",
			header: []string{"clusters", "who", "wall", "CPU", "peak memory", "requests", "CPU, as a part of the loop's", "goal"},
		},
		reconcile: table{
			title:  "Cold reconcile: from nothing to all objects of the fleet applied",
			header: []string{"clusters", "objects", "who", "wall", "CPU", "the API server's CPU", "peak memory", "requests", "wall, by the bare apply's", "goal"},
		},
		running: table{
			title:  "The daemon over a fleet: in sync, and pushes to it",
			header: []string{"clusters", "CPU of a minute in sync", "requests in it", "memory in sync", "peak memory", "push to applied p50", "p95", "longest", "goals"},
		},
		restarts: table{
			title:  "Founding, and a restart in sync",
			header: []string{"clusters", "all founded, nodes of one process", "CPU", "peak memory", "restart until all are known in sync", "writes for it", "lists, gets", "watches that stand"},
		},
		start: table{
			title:  "The sandbox, a process a node",
			header: []string{"what", "wall", "goal"},
		},
		bare: map[int]time.Duration{}, loops: map[int]compared{}, lives: map[int][]liveRow{}, colds: map[int][]coldRow{}, objects: map[int]int{},
	}
}

func (r *report) known(size int) {
	for _, known := range r.sizes {
		if known == size {
			return
		}
	}
	r.sizes = append(r.sizes, size)
}

func (r *report) offline(size int, took usage) {
	text := "–"
	switch {
	case size <= 100:
		text = goal(took.Wall < time.Second && took.Peak < 300<<20, "100: 1 s, 300 MiB")
	case size <= 1000:
		text = goal(took.Wall < 5*time.Second, "1000: 5 s")
	}
	r.diffOffline.add(strconv.Itoa(size), seconds(took.Wall), seconds(took.CPU), mebibytes(took.Peak), text)
}

func (r *report) peer(size int, who string, applied cold, whole, loop *compared) {
	r.applied(size, who, applied)
	if who == bareName {
		r.bare[size] = applied.Wall
	}
	if loop != nil {
		r.loops[size] = *loop
		r.lives[size] = append(r.lives[size], liveRow{who + ", cluster by cluster", *loop})
	}
	if whole != nil {
		r.lives[size] = append(r.lives[size], liveRow{who + ", all at once", *whole})
	}
}

const (
	bareName = "bare server-side apply"
	own      = "stevedore"
)

func (r *report) applied(size int, who string, took cold) {
	r.known(size)
	r.colds[size] = append(r.colds[size], coldRow{who, took})
}

func (r *report) steady(size int, s steady) {
	r.applied(size, own, s.cold)
	if s.diff != nil {
		r.lives[size] = append(r.lives[size], liveRow{own, *s.diff})
	}
	p95 := percentile(s.pushes, 95)
	perMinute := func(n float64) float64 { return n * float64(time.Minute) / float64(s.idleFor) }
	goals := []string{goal(s.idleRequests == 0, "no requests")}
	if size >= 1000 {
		goals = append(goals, goal(s.held < 200<<20, "200 MiB in sync"), goal(s.peak < 200<<20, "200 MiB at the peak"), goal(p95 < time.Second, "p95 1 s"))
	}
	r.running.add(strconv.Itoa(size), seconds(time.Duration(perMinute(float64(s.idleCPU)))), fmt.Sprintf("%.0f", perMinute(float64(s.idleRequests))),
		mebibytes(s.held), mebibytes(s.peak), seconds(percentile(s.pushes, 50)), seconds(p95), seconds(percentile(s.pushes, 100)), strings.Join(goals, "; "))
	r.restarts.add(strconv.Itoa(size), seconds(s.founded), seconds(s.foundedCPU), mebibytes(s.foundedPeak),
		seconds(s.again), strconv.Itoa(s.againWrites), fmt.Sprintf("%d, %d", s.againLists, s.againGets), strconv.Itoa(s.againWatches))
}

func (r *report) sandbox(took starting) {
	r.start.add("sandbox up", seconds(took.up), goal(took.up < 5*time.Second, "5 s"))
	r.start.add("then: three nodes founded by the daemon", seconds(took.founded), goal(took.founded < 8*time.Second, "8 s"))
}

// finish makes the rows that are ratios of others.
func (r *report) finish() {
	for _, size := range r.sizes {
		for _, row := range r.colds[size] {
			ratio, text := "–", "–"
			if bare := r.bare[size]; bare > 0 {
				ratio = times(row.took.Wall, bare)
				if row.who == own {
					text = goal(float64(row.took.Wall) <= 1.2*float64(bare), "1.2 ×")
				}
			}
			r.reconcile.add(strconv.Itoa(size), strconv.Itoa(r.objects[size]), row.who, seconds(row.took.Wall), seconds(row.took.CPU),
				seconds(row.took.server), mebibytes(row.took.Peak), strconv.Itoa(row.took.requests), ratio, text)
		}
		for _, row := range r.lives[size] {
			ratio, text := "–", "–"
			if loop, ok := r.loops[size]; ok && loop.CPU > 0 {
				ratio = fmt.Sprintf("1/%.1f", float64(loop.CPU)/float64(row.took.CPU))
				if row.who == own && size == 100 {
					text = goal(10*row.took.CPU <= loop.CPU, "1/10 of kubectl's loop")
				}
			}
			r.diffLive.add(strconv.Itoa(size), row.who, seconds(row.took.Wall), seconds(row.took.CPU), mebibytes(row.took.Peak),
				strconv.Itoa(row.took.requests), ratio, text)
		}
	}
}

func (r *report) text() string {
	r.finish()
	texts := []string{fmt.Sprintf("Measured on %s, %s.\n", machine(), time.Now().UTC().Format("2006-01-02"))}
	for _, t := range []table{r.diffOffline, r.diffLive, r.reconcile, r.running, r.restarts, r.start} {
		if len(t.rows) > 0 {
			texts = append(texts, t.String())
		}
	}
	return strings.Join(texts, "\n")
}
