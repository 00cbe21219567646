// Run compares the CrateDB simulator with a real CrateDB in N random situations:
// docs/differential.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"stevedore.dev/stevedore/internal/cratesim/differential"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var o options
	flag.IntVar(&o.n, "n", 200, "situations")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the first situation; each one has the next")
	version := flag.String("version", "6.4.3", "release of CrateDB")
	realPrefix := flag.String("real", "127.0.35.", "how the addresses of the real nodes begin; further pairs are 20 and more above")
	simPrefix := flag.String("simulated", "127.0.36.", "how the addresses of the simulated nodes begin; further pairs are 20 and more above")
	parallel := flag.Int("parallel", 1, "pairs of clusters side by side: most of the time a pair waits")
	flag.BoolVar(&o.shrink, "shrink", true, "make each difference as small as it gets")
	flag.IntVar(&o.most, "most", 5, "differences after which the run ends; 0: go on to the end")
	complete := flag.Bool("complete", false, "fail where an entry of the list of allowed differences was not used")
	only := flag.String("only", "", "run the steps of this file, a step a line, in place of random ones")
	flag.Float64Var(&o.minutes, "minutes", 0, "end after so many minutes; 0: never")
	flag.BoolVar(&o.verbose, "v", false, "print each situation's steps")
	used := flag.String("used", "", "file that keeps which entries of the list were used, over several runs")
	keep := flag.String("keep", "", "folder for the nodes' data; the real nodes stay, and are used by the next run")
	cases := flag.Bool("cases", false, "do the committed cases on the real cluster, and nothing else")
	without := flag.String("without", "", "leave out of the situations: privileges, nodes")
	flag.Parse()
	o.without = strings.Split(*without, ",")
	if *only != "" {
		var err error
		if o.only, err = read(*only); err != nil {
			return err
		}
		o.n = 1
	}
	if *cases || o.n == 1 {
		*parallel = 1
	}

	pairs := make([]*differential.Pair, *parallel)
	defer func() {
		for _, p := range pairs {
			if p != nil {
				p.Close()
			}
		}
	}()
	errs := make([]error, *parallel)
	var wait sync.WaitGroup
	for k := range pairs {
		wait.Go(func() {
			pairs[k], errs[k] = start(ctx, k, *version, *realPrefix, *simPrefix, *keep)
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fmt.Printf("CrateDB %s and the simulator run, %d nodes each, %d times\n", *version, differential.Nodes, *parallel)
	if *cases {
		n, err := pairs[0].CheckCases(ctx)
		fmt.Printf("%d cases are as CrateDB %s answers\n", n, *version)
		return err
	}

	t := newTally(o, pairs)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for k, pair := range pairs {
		wait.Go(func() {
			if errs[k] = t.work(ctx, pair); errs[k] != nil {
				cancel() // what one pair cannot do ends the run
			}
		})
	}
	wait.Wait()
	t.report()
	if t.differences > 0 {
		errs = append(errs, fmt.Errorf("%d differences", t.differences))
	}
	needed := t.used()
	if *used != "" {
		if err := remember(*used, needed); err != nil {
			return err
		}
	}
	if *complete {
		for _, a := range differential.AllowedDifferences() {
			if needed[a.Name] == 0 && (a.Version == "" || strings.HasPrefix(*version, a.Version)) {
				errs = append(errs, fmt.Errorf("the allowed difference %q was not needed: take it off the list", a.Name))
			}
		}
	}
	return errors.Join(errs...)
}

// start starts pair k, with addresses and a folder of its own.
func start(ctx context.Context, k int, version, realPrefix, simPrefix, keep string) (*differential.Pair, error) {
	o := differential.Options{Home: os.Getenv("CRATEDB_HOME"), Version: version, Keep: keep != ""}
	var err error
	if o.Real, err = above(realPrefix, 20*k); err != nil {
		return nil, err
	}
	if o.Simulated, err = above(simPrefix, 20*k); err != nil {
		return nil, err
	}
	if keep != "" {
		o.Dir = filepath.Join(keep, strconv.Itoa(k))
	}
	return differential.NewPair(ctx, o)
}

// above adds to the third number of "127.0.35.".
func above(prefix string, by int) (string, error) {
	parts := strings.Split(prefix, ".")
	if len(parts) == 4 {
		if n, err := strconv.Atoi(parts[2]); err == nil && n+by < 256 {
			parts[2] = strconv.Itoa(n + by)
			return strings.Join(parts, "."), nil
		}
	}
	return "", fmt.Errorf("%q does not begin %d more addresses: want the form \"127.0.35.\"", prefix, by)
}

func sorted(m map[string]int) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func text(steps []differential.Step) string {
	var out []string
	for _, s := range steps {
		out = append(out, "  "+s.String())
	}
	return strings.Join(out, "\n")
}

func read(file string) (steps []differential.Step, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		s, err := differential.ParseStep(line)
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// remember adds the names to a file, one a line, once.
func remember(file string, used map[string]int) error {
	b, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	names := strings.Fields(strings.ReplaceAll(string(b), " ", "_"))
	for name := range used {
		if name = strings.ReplaceAll(name, " ", "_"); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return os.WriteFile(file, []byte(strings.Join(names, "\n")+"\n"), 0o644)
}
