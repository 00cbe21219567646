// Command simulate runs schedules of the simulation: many of them over all
// cores, or one of them with its story.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"stevedore.dev/stevedore/internal/simulation"
)

func main() {
	count := flag.Int("n", 100_000, "how many schedules")
	first := flag.Uint64("seed", 1, "the first seed")
	replay := flag.Bool("replay", false, "tell the story of the one schedule of -seed")
	shrink := flag.Bool("shrink", true, "leave out what a violation does not need")
	with := flag.String("with", "", "only schedules in which something happens whose name contains this: \"evict\"; \"read\" for all pods that are not ready while their nodes are members")
	keepGoing := flag.Int("violations", 1, "stop after so many violations")
	table := flag.Bool("table", true, "print what met which operation")
	cores := flag.Int("cores", runtime.NumCPU(), "how many run at once")
	profile := flag.String("cpuprofile", "", "write a profile there")
	digest := flag.Bool("digest", false, "print one hash of every decision without its words: code that was only moved or renamed leaves it as it was")
	flag.Parse()
	// What a schedule leaves behind is small and short-lived.
	debug.SetGCPercent(1600)
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err == nil {
			defer pprof.StopCPUProfile()
		}
	}
	if *replay {
		tell(simulation.NewSchedule(*first), *shrink)
		return
	}
	if *digest {
		fmt.Printf("%016x  decisions of %d schedules from seed %d\n", digestOf(*first, *count, *cores), *count, *first)
		return
	}
	if !many(*first, *count, *with, *cores, *keepGoing, *shrink, *table) {
		pprof.StopCPUProfile() // os.Exit runs nothing that was deferred
		os.Exit(1)
	}
}

// tell prints the story of a schedule, of what its violation needs only.
func tell(s simulation.Schedule, shrink bool) {
	if shrink {
		s = simulation.Minimise(s)
	}
	var story strings.Builder
	result := simulation.Run(s, nil, &story)
	fmt.Print(story.String())
	if result.Violation != nil {
		fmt.Printf("\n%v\n", result.Violation)
	} else {
		fmt.Printf("\nevery invariant held; %d steps\n", result.Steps)
	}
}

func many(first uint64, count int, with string, cores, most int, shrink, table bool) bool {
	var violations atomic.Int64
	var mu sync.Mutex
	chosen := seeds{next: first, left: count, with: with}
	var total simulation.Statistics
	began, worked := time.Now(), processorTime()
	var all sync.WaitGroup
	for range cores {
		all.Go(func() {
			var stats simulation.Statistics
			for violations.Load() < int64(most) {
				s, ok := chosen.take()
				if !ok {
					break
				}
				result := simulation.Run(s, &stats, nil)
				stats.Note(result)
				if result.Violation == nil {
					continue
				}
				violations.Add(1)
				mu.Lock()
				fmt.Printf("seed %d: %v\n", s.Seed, result.Violation)
				if shrink {
					fmt.Printf("%v\n", simulation.Minimise(s))
				}
				mu.Unlock()
			}
			mu.Lock()
			total.Add(&stats)
			mu.Unlock()
		})
	}
	all.Wait()
	took, used := time.Since(began), processorTime()-worked
	if table {
		fmt.Print(total.Table())
	}
	fmt.Print(total.Ends())
	fmt.Printf("%d schedules, %d finished, %d of them beyond rescue by their faults, %d violations, %.0f steps a schedule\n",
		total.Schedules, total.Finished, total.Hopeless, total.Violations, float64(total.Steps)/float64(max(total.Schedules, 1)))
	fmt.Printf("%d with a fault in a running operation, %d of these of %d steps or more, which count; %d of them finished\n",
		total.Hit, total.Counted, simulation.CountedSteps, total.CountedFinished)
	fmt.Printf("%.1f s on %d cores, %.1f s of processor time: %.0f schedules a minute of a core, %.0f that count\n",
		took.Seconds(), cores, used.Seconds(), float64(total.Schedules)/used.Minutes(), float64(total.Counted)/used.Minutes())
	return total.Violations == 0
}

// seeds are the first so many schedules in which something with that name happens, whichever
// core is faster.
type seeds struct {
	mu   sync.Mutex
	next uint64
	left int
	with string
}

// take is false when there is none left.
func (c *seeds) take() (s simulation.Schedule, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.left > 0 && !ok {
		s = simulation.NewSchedule(c.next)
		c.next++
		ok = slices.ContainsFunc(s.Items, func(i simulation.Item) bool { return strings.Contains(i.What.String(), c.with) })
	}
	if ok {
		c.left--
	}
	return s, ok
}

// processorTime is what this process has used of all cores: other work on the
// machine lengthens the time on the wall, and this hardly.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
