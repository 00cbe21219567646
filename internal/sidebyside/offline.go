package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"stevedore.dev/stevedore/internal/testbed"
)

// offline compares a work tree of definitions, of which one is changed, with its last
// commit: the time of the median of some cold processes, and the most memory of all.
func (b *bench) offline(ctx context.Context, size int) (took usage, err error) {
	dir, err := os.MkdirTemp("", "stevedore-sidebyside-")
	if err != nil {
		return took, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	repository, err := testbed.NewRepository(ctx, dir, "fleet")
	if err != nil {
		return took, err
	}
	if err := repository.Commit(ctx, "all clusters", definitions(size)); err != nil {
		return took, err
	}
	c := cluster(size / 2)
	work := filepath.Join(dir, "fleet")
	if err := writeFiles(work, map[string]string{c.file(): c.definition(2, "changed")}); err != nil {
		return took, err
	}
	one := child{dir: dir, env: b.profileEnv("diff-offline", size), codes: []int{2}}
	var runs []usage
	for range b.runs {
		run, err := one.run(ctx, b.binary, "diff", filepath.Join(work, "clusters"), "--against", "HEAD")
		if err != nil {
			return took, err
		}
		runs = append(runs, run)
	}
	slices.SortFunc(runs, func(a, b usage) int { return cmp.Compare(a.Wall, b.Wall) })
	took = runs[len(runs)/2]
	for _, run := range runs {
		took.Peak = max(took.Peak, run.Peak)
	}
	return took, nil
}

// starting is how long a sandbox takes to be up, and three nodes of it to be founded.
type starting struct{ up, founded time.Duration }

// sandbox starts one as the demo does, a process a node, and has a cluster of three
// nodes founded in it.
func (b *bench) sandbox(ctx context.Context) (took starting, err error) {
	var ups, founded []time.Duration
	for range b.runs {
		one, err := b.sandboxOnce(ctx)
		if err != nil {
			return took, err
		}
		ups, founded = append(ups, one.up), append(founded, one.founded)
	}
	slices.Sort(ups)
	slices.Sort(founded)
	return starting{ups[len(ups)/2], founded[len(founded)/2]}, nil
}

func (b *bench) sandboxOnce(ctx context.Context) (took starting, err error) {
	began := time.Now()
	bed, err := testbed.Start(ctx, testbed.Options{Binary: b.binary, Deploy: b.deploy})
	if err != nil {
		return took, err
	}
	took.up = time.Since(began)
	w := &world{Testbed: bed, size: 1}
	defer func() { err = joined(err, w.Stop()) }()
	c := cluster(0)
	if err := bed.Namespace(ctx, c.namespace()); err != nil {
		return took, err
	}
	if err := bed.Secret(ctx, c.namespace(), c.secret(), map[string]string{"password": "a password of " + c.name()}); err != nil {
		return took, err
	}
	dir := filepath.Join(bed.Dir, "definitions")
	if err := writeFiles(dir, map[string]string{c.file(): c.definition(3, "0")}); err != nil {
		return took, err
	}
	began = time.Now()
	daemon, log, err := b.startDaemon(w, "daemon", []string{"--dir", dir})
	if err != nil {
		return took, err
	}
	defer func() {
		_, stopping := daemon.Stop()
		err = joined(err, stopping)
	}()
	if err := log.until(ctx, "three nodes to be founded", 2*time.Minute, daemon.Done(), func() bool { return len(log.clusters) == 1 }); err != nil {
		return took, fmt.Errorf("%w; the end of its log: %s", err, end(daemon.Log(), 2000))
	}
	took.founded = time.Since(began)
	return took, nil
}
