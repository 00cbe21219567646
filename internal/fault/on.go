//go:build faults

package fault

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// STEVEDORE_DIE is "before:N" or "after:N": die, as by kill -9, right before
// the N-th outgoing write leaves, or right after it was answered. N counts
// from 1 over all kinds. STEVEDORE_WRITES names a file to which each write's
// kind is appended, so that a test can learn how many there are.
var (
	moment, limit = parse(os.Getenv("STEVEDORE_DIE"))
	started       atomic.Int64
	answered      atomic.Int64
	trace         = open(os.Getenv("STEVEDORE_WRITES"))
)

func parse(text string) (string, int64) {
	moment, number, _ := strings.Cut(text, ":")
	n, err := strconv.ParseInt(number, 10, 64)
	if text != "" && (err != nil || n < 1 || (moment != "before" && moment != "after")) {
		fmt.Fprintf(os.Stderr, "STEVEDORE_DIE=%q: want before:N or after:N\n", text)
		os.Exit(2)
	}
	return moment, n
}

func open(path string) *os.File {
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintf(os.Stderr, "STEVEDORE_WRITES: %v\n", err)
		os.Exit(2)
	}
	return file
}

// Before marks that a write is about to leave.
func Before(kind string) {
	if n := started.Add(1); moment == "before" && n == limit {
		die()
	}
	if trace != nil {
		fmt.Fprintln(trace, kind)
	}
}

// After marks that a write was answered, whatever the answer.
func After(string) {
	if n := answered.Add(1); moment == "after" && n == limit {
		die()
	}
}

func die() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }
