// Command sidebyside measures stevedore beside what else a user would pick, kubectl
// and kapp, on the same objects, each in a sandbox of its own, one after the other in
// one run: what a machine can do today says little, what one needs beside the other a
// lot. `make bench` runs it; docs/performance.md has its table.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Modes in which this program runs itself.
const (
	modeMeasured = "measured"
	modeBare     = "bare-apply"
)

func main() {
	var err error
	switch {
	case len(os.Args) > 1 && os.Args[1] == modeMeasured:
		err = measured(os.Args[2:])
	case len(os.Args) > 1 && os.Args[1] == modeBare:
		err = bareApply(os.Args[2:])
	default:
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "\nsidebyside: "+err.Error())
		os.Exit(1)
	}
}

// bench is what all measurements share.
type bench struct {
	self, binary, deploy, peersDir string
	// profile is a folder that profiles are written to; "": none.
	profile string
	// own is the profile of this process that is being written, the one of that number.
	own   *os.File
	parts int
	// runs of what is short, of which the median counts.
	runs int
	// pushes are measured for each size.
	pushes  int
	idleFor time.Duration
	// loopsUpTo is the largest fleet over which a peer is run cluster by cluster.
	loopsUpTo int
	// peersUpTo is the largest fleet over which kubectl and kapp are run at all.
	peersUpTo int
	// bareLater: the bare apply comes right before the daemon, and not with the peers.
	bareLater bool
	began     time.Time
}

func (b *bench) say(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "%7.1fs  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, arguments...))
}

// parts of a run; cold is what a change of the daemon is tried with, a piece of peers
// and of steady.
var parts = []string{"offline", "peers", "steady", partSandbox, partCold}

const (
	partCold    = "cold"
	partSandbox = "sandbox"
)

func run(ctx context.Context) error {
	b := &bench{began: time.Now(), binary: os.Getenv("STEVEDORE_BINARY")}
	sizes := flag.String("sizes", "1 100", "clusters of each fleet, separated by spaces")
	only := flag.String("only", "offline,peers,steady,sandbox", "parts to run; cold is the bare apply and the daemon until all is applied, and no more")
	page := flag.String("update", "", "page to write the tables into, between its marks")
	flag.StringVar(&b.deploy, "deploy", "deploy", "folder with the shipped manifests")
	flag.StringVar(&b.peersDir, "peers", "bin", "folder with kubectl and kapp; what is not there is left out")
	flag.StringVar(&b.profile, "profile", "", "folder for profiles; the binary has to be built with -tags profile")
	flag.IntVar(&b.runs, "runs", 5, "runs of what is short, of which the median counts")
	flag.IntVar(&b.pushes, "pushes", 25, "pushes to measure for each size")
	flag.DurationVar(&b.idleFor, "idle", time.Minute, "how long a fleet in sync is looked at")
	flag.IntVar(&b.loopsUpTo, "loops-up-to", 100, "largest fleet that a peer is run over cluster by cluster")
	flag.IntVar(&b.peersUpTo, "peers-up-to", 1000, "largest fleet that kubectl and kapp are run over")
	flag.Parse()
	var fleets []int
	for _, field := range strings.Fields(*sizes) {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 || n > 9999 {
			return fmt.Errorf("-sizes %q: %q is no number from 1 to 9999", *sizes, field)
		}
		fleets = append(fleets, n)
	}
	chosen := strings.Split(*only, ",")
	for _, part := range chosen {
		if !slices.Contains(parts, part) {
			return fmt.Errorf("-only %q: there is no part %q, but %s", *only, part, strings.Join(parts, ", "))
		}
	}
	if b.binary == "" || b.runs < 1 || b.pushes < 1 {
		return errors.New("STEVEDORE_BINARY has to name the binary, and -runs and -pushes to be at least 1: run `make bench`")
	}
	var err error
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.profile != "" {
		if err := os.MkdirAll(b.profile, 0o755); err != nil {
			return err
		}
	}
	b.bareLater = slices.Contains(chosen, "steady")
	r := newReport()
	if slices.Contains(chosen, partSandbox) {
		b.say("the sandbox")
		took, err := b.sandbox(ctx)
		if err != nil {
			return fmt.Errorf("measuring the sandbox: %w", err)
		}
		r.sandbox(took)
	}
	// All of one size in a row: a machine's speed changes within the hour.
	for _, size := range fleets {
		for _, part := range parts {
			if part == partSandbox || !slices.Contains(chosen, part) {
				continue
			}
			if err := b.part(ctx, part, size, r); err != nil {
				return fmt.Errorf("measuring %s with %d clusters: %w", part, size, err)
			}
		}
	}
	text := r.text()
	fmt.Println(text)
	if *page != "" {
		return update(*page, text)
	}
	return nil
}

func (b *bench) part(ctx context.Context, part string, size int, r *report) error {
	if part == "offline" {
		b.say("offline diff, %d clusters", size)
		took, err := b.offline(ctx, size)
		if err == nil {
			r.offline(size, took)
		}
		return err
	}
	dir, err := os.MkdirTemp("", "stevedore-sidebyside-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	before, after, err := b.rendered(ctx, dir, size)
	if err != nil {
		return err
	}
	r.objects[size] = len(before.objects)
	switch part {
	case partCold:
		if err := b.peer(ctx, b.peers()[0], size, before, after, r); err != nil {
			return err
		}
		b.say("stevedore run until all is applied, %d clusters", size)
		took, err := b.steady(ctx, size, before, true)
		if err == nil {
			r.applied(size, own, took.cold)
			b.say("  requests until applied: %s", strings.Join(took.each, ", "))
		}
		return err
	case "steady":
		if err := b.peer(ctx, b.peers()[0], size, before, after, r); err != nil {
			return err
		}
		b.say("stevedore run, %d clusters", size)
		took, err := b.steady(ctx, size, before, false)
		if err == nil {
			r.steady(size, took)
			b.say("  requests until applied: %s", strings.Join(took.each, ", "))
			b.say("  requests in sync: %s", strings.Join(took.idleEach, ", "))
		}
		return err
	}
	for i, p := range b.peers() {
		if bare := i == 0; bare && b.bareLater || !bare && size > b.peersUpTo {
			continue
		}
		if err := b.peer(ctx, p, size, before, after, r); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) peer(ctx context.Context, p peer, size int, before, after manifests, r *report) error {
	b.say("%s, %d clusters", p.name, size)
	applied, whole, loop, err := b.applyCold(ctx, p, size, before, after)
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	r.peer(size, p.name, applied, whole, loop)
	return nil
}

// rendered are the objects of a fleet, and of the same with one cluster changed.
func (b *bench) rendered(ctx context.Context, dir string, size int) (before, after manifests, err error) {
	files := definitions(size)
	was, is := filepath.Join(dir, "before"), filepath.Join(dir, "after")
	if err = writeFiles(was, files); err != nil {
		return
	}
	c := cluster(size / 2)
	files[c.file()] = c.definition(1, "changed")
	if err = writeFiles(is, files); err != nil {
		return
	}
	if before, err = render(ctx, b.binary, was, filepath.Join(dir, "before-objects")); err != nil {
		return
	}
	after, err = render(ctx, b.binary, is, filepath.Join(dir, "after-objects"))
	return
}

func joined(errs ...error) error { return errors.Join(errs...) }

// machine in words that tell its size and no more.
func machine() string {
	memoryOf := "unknown memory"
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		if total, err := memory(string(text), "MemTotal:"); err == nil {
			memoryOf = fmt.Sprintf("%.0f GB", math.Round(float64(total)/1e9))
		}
	}
	return fmt.Sprintf("%d cores, %s", runtime.NumCPU(), memoryOf)
}
