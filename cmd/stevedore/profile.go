//go:build profile

package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"syscall"
)

// profiled writes profiles of the program where STEVEDORE_PROFILE names a prefix of
// files: of the CPU until it ends or gets SIGUSR2, which begins the next, and of the
// heap, the goroutines and what memory is made of at these moments. Only a build for
// measuring has it, never one to be shipped.
func profiled(run func() int) int {
	prefix := os.Getenv("STEVEDORE_PROFILE")
	if prefix == "" {
		return run()
	}
	ends := make(chan os.Signal, 16)
	signal.Notify(ends, syscall.SIGUSR2)
	over, written := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(written)
		for part := 1; ; part++ {
			if !profilePart(fmt.Sprintf("%s-%d", prefix, part), ends, over) {
				return
			}
		}
	}()
	code := run()
	close(over)
	<-written
	return code
}

// profilePart is true where another part follows.
func profilePart(prefix string, ends <-chan os.Signal, over <-chan struct{}) (more bool) {
	cpu, err := os.Create(prefix + ".cpu")
	if err == nil {
		err = pprof.StartCPUProfile(cpu)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "stevedore: a profile cannot be written:", err)
		return false
	}
	select {
	case <-ends:
		more = true
	case <-over:
	}
	pprof.StopCPUProfile()
	_ = cpu.Close()
	heap, err := os.Create(prefix + ".heap")
	if err != nil {
		return more
	}
	writeMemory(prefix + ".memory")
	runtime.GC()
	_ = pprof.WriteHeapProfile(heap)
	_ = heap.Close()
	if goroutines, err := os.Create(prefix + ".goroutines"); err == nil {
		_ = pprof.Lookup("goroutine").WriteTo(goroutines, 1)
		_ = goroutines.Close()
	}
	return more
}

// writeMemory says what the resident memory is made of: what the runtime has asked
// for, in MiB, and what the kernel counts.
func writeMemory(path string) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	status, _ := os.ReadFile("/proc/self/smaps_rollup")
	more, _ := os.ReadFile("/proc/self/status")
	text := fmt.Sprintf("heap in use %d, idle %d, given back %d; stacks %d; other %d; next collection at %d; collections %d; goroutines %d\n%s%s",
		m.HeapInuse>>20, m.HeapIdle>>20, m.HeapReleased>>20, m.StackSys>>20, (m.MSpanSys+m.MCacheSys+m.BuckHashSys+m.GCSys+m.OtherSys)>>20,
		m.NextGC>>20, m.NumGC, runtime.NumGoroutine(), status, more)
	_ = os.WriteFile(path, []byte(text), 0o600)
}
