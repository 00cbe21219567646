package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"stevedore.dev/stevedore/internal/testbed"
)

// workers is the number of clusters that are written at the same time: the daemon's
// own number, and what the others are told.
const workers = 16

// patience bounds each wait for a fleet, however slow the machine is.
func patience(size int) time.Duration { return 5*time.Minute + time.Duration(size)*3*time.Second }

// peer is somebody else who applies and compares the same objects.
type peer struct {
	name string
	// apply and diff are command lines for a folder with a kustomization.
	apply, diff func(w *world, dir string) []string
	// each is the same for one cluster after the other; nil: not run.
	each func(w *world, dir string) []string
	// differs is the exit code where something differs.
	differs int
}

func shell(script string, args ...string) []string {
	return append([]string{"sh", "-c", script, "sh"}, args...)
}

// peers are those that have been built.
func (b *bench) peers() []peer {
	all := []peer{{
		name: bareName,
		apply: func(w *world, dir string) []string {
			return []string{b.self, modeBare, w.Sandbox.Kubeconfig(), dir, strconv.Itoa(workers)}
		},
	}}
	kubectl, kapp := filepath.Join(b.peersDir, "kubectl"), filepath.Join(b.peersDir, "kapp")
	if _, err := os.Stat(kubectl); err != nil {
		b.say("kubectl is not at %s: it is left out", kubectl)
		return all
	}
	all = append(all, peer{
		name:  "kubectl",
		apply: func(_ *world, dir string) []string { return []string{kubectl, "apply", "--server-side", "-k", dir} },
		diff:  func(_ *world, dir string) []string { return []string{kubectl, "diff", "--server-side", "-k", dir} },
		each: func(_ *world, dir string) []string {
			return shell(`code=0; for each in "$2"/*/; do "$1" diff --server-side -k "$each" || code=$?; done; exit $code`, kubectl, dir)
		},
		differs: 1,
	})
	if _, err := os.Stat(kapp); err != nil {
		b.say("kapp is not at %s: it is left out", kapp)
		return all
	}
	const deploy = `"$1" kustomize "$3" | "$2" deploy --app fleet --namespace default --file - --yes`
	return append(all, peer{
		name: "kapp",
		apply: func(_ *world, dir string) []string {
			return shell(deploy+` --wait=false --apply-concurrency "$4"`, kubectl, kapp, dir, strconv.Itoa(workers))
		},
		diff: func(_ *world, dir string) []string {
			return shell(deploy+" --diff-run --diff-exit-status", kubectl, kapp, dir)
		},
		differs: 3,
	})
}

// cold is how long it took from nothing to all objects of the fleet.
type cold struct {
	usage
	requests int
	each     []string
	// server is the API server's CPU meanwhile, whoever caused it.
	server time.Duration
}

// applyCold lets one peer apply the fleet in a world of its own, and then compare it
// with the same fleet of which one cluster is changed.
func (b *bench) applyCold(ctx context.Context, p peer, size int, before, after manifests) (applied cold, whole, loop *compared, err error) {
	w, err := b.newWorld(ctx, size)
	if err != nil {
		return applied, nil, nil, err
	}
	defer func() { err = errors.Join(err, w.Stop()) }()
	there, err := w.watchFor(ctx, before.objects)
	if err != nil {
		return applied, nil, nil, err
	}
	defer there.close()
	began, err := quiet(ctx, w.Admin, 2*time.Second, time.Minute)
	if err != nil {
		return applied, nil, nil, err
	}
	one := child{dir: w.Dir, env: w.env()}
	if applied.usage, err = one.run(ctx, p.apply(w, before.all())...); err != nil {
		return applied, nil, nil, err
	}
	if _, err := there.wait(ctx, time.Minute, nil); err != nil {
		return applied, nil, nil, err
	}
	ended, err := count(ctx, w.Admin)
	if err != nil {
		return applied, nil, nil, err
	}
	applied.requests, applied.each = since(began.requests, ended.requests)
	applied.server = ended.cpu - began.cpu
	b.everybody(began, ended)
	if p.diff == nil {
		return applied, nil, nil, nil
	}
	if _, err := quiet(ctx, w.Admin, 2*time.Second, patience(size)); err != nil {
		return applied, nil, nil, err
	}
	one.codes = []int{p.differs}
	if whole, err = b.compare(ctx, w, one, p.diff(w, after.all())); err != nil {
		return applied, nil, nil, err
	}
	if p.each != nil && size <= b.loopsUpTo {
		loop, err = b.compare(ctx, w, one, p.each(w, after.all()))
	}
	return applied, whole, loop, err
}

// compared is what a comparison of a live fleet took.
type compared struct {
	usage
	requests int
}

func (b *bench) compare(ctx context.Context, w *world, c child, argv []string) (*compared, error) {
	began, err := count(ctx, w.Admin)
	if err != nil {
		return nil, err
	}
	took, err := c.run(ctx, argv...)
	if err != nil {
		return nil, err
	}
	ended, err := count(ctx, w.Admin)
	if err != nil {
		return nil, err
	}
	total, _ := since(began.requests, ended.requests)
	return &compared{usage: took, requests: total}, nil
}

// daemonArgs of a daemon that follows a repository as it does in production, and
// hears of pushes.
func daemonArgs(repository *testbed.Repository, mirror, secretFile string) []string {
	return []string{
		"--git", repository.URL, "--ref", "main", "--path", "clusters", "--interval", "1m", "--git-mirror", mirror,
		"--receiver-address", "127.0.0.1:0", "--receiver-secret-file", secretFile,
		"--lease-duration", "60s", "--max-concurrent-writes", strconv.Itoa(workers),
	}
}

// startDaemon starts one whose log is read for what it says of the clusters.
func (b *bench) startDaemon(w *world, what string, args []string) (*testbed.Daemon, *told, error) {
	log := newTold()
	o := testbed.DaemonOptions{Args: args, Out: log, Binary: b.binary, Env: b.profileEnv(what, w.size)}
	daemon, err := w.Daemon(o)
	return daemon, log, err
}
