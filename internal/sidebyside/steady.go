package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"stevedore.dev/stevedore/internal/receiver"
	"stevedore.dev/stevedore/internal/testbed"
)

// steady is a daemon over a fleet: from nothing to applied, its clusters founded, in
// sync, and woken by pushes.
type steady struct {
	cold
	// founded is from the first node that takes pods until all clusters were as they are desired, with the daemon's
	// CPU and most memory meanwhile.
	founded     time.Duration
	foundedCPU  time.Duration
	foundedPeak int64
	diff        *compared
	// idleCPU and idleRequests are those of idleFor in sync.
	idleFor      time.Duration
	idleCPU      time.Duration
	idleRequests int
	idleEach     []string
	// held is the memory in sync, peak the most since the start.
	held, peak int64
	pushes     []time.Duration
	// again is a restart in sync: until all clusters were as they are desired.
	again       time.Duration
	againWrites int
	// againLists are its lists, againWatches the watches that stand when all are known,
	// againGets what it read one by one, of the kinds that are counted.
	againLists, againWatches, againGets int
}

const receiverSecret = "a-secret-of-the-receivers-own"

func (b *bench) steady(ctx context.Context, size int, before manifests, appliedOnly bool) (s steady, err error) {
	w, err := b.newWorld(ctx, size)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, w.Stop()) }()
	repository, err := testbed.NewRepository(ctx, w.Dir, "fleet")
	if err != nil {
		return s, err
	}
	if err := repository.Push(ctx, "all clusters", definitions(size)); err != nil {
		return s, err
	}
	secretFile := filepath.Join(w.Dir, "receiver-secret")
	if err := os.WriteFile(secretFile, []byte(receiverSecret), 0o600); err != nil {
		return s, err
	}
	there, err := w.watchFor(ctx, before.objects)
	if err != nil {
		return s, err
	}
	defer there.close()
	start, err := quiet(ctx, w.Admin, 2*time.Second, time.Minute)
	if err != nil {
		return s, err
	}
	args := daemonArgs(repository, filepath.Join(w.Dir, "mirror"), secretFile)
	b.parts = 0
	b.beginOwnProfile(size)
	defer b.endOwnProfile()
	began := time.Now()
	daemon, log, err := b.startDaemon(w, "daemon", args)
	if err != nil {
		return s, err
	}
	defer func() {
		if daemon.Running() {
			_, stopping := daemon.Stop()
			err = errors.Join(err, stopping)
		}
		if err != nil {
			err = fmt.Errorf("%w; the end of its log: %s", err, end(daemon.Log(), 2000))
		}
	}()
	at, err := there.wait(ctx, patience(size), daemon.Done())
	if err != nil {
		return s, err
	}
	if s.usage, err = ofProcess(daemon.PID()); err != nil {
		return s, err
	}
	s.Wall = at.Sub(began)
	applied, err := count(ctx, w.Admin)
	if err != nil {
		return s, err
	}
	s.requests, s.each = since(start.requests, applied.requests)
	s.server = applied.cpu - start.cpu
	b.everybody(start, applied)
	b.phase(daemon, w.size)
	if appliedOnly {
		return s, nil
	}

	b.say("  all objects are there after %s; its clusters are founded", seconds(s.Wall))
	if err := b.found(ctx, w, daemon, log, &s); err != nil {
		return s, err
	}
	if err := b.idle(ctx, w, daemon, &s); err != nil {
		return s, err
	}
	b.phase(daemon, w.size)
	changed := filepath.Join(w.Dir, "changed")
	files := definitions(size)
	files[cluster(size/2).file()] = cluster(size/2).definition(1, "changed")
	if err := writeFiles(changed, files); err != nil {
		return s, err
	}
	one := child{dir: w.Dir, env: append(w.env(), b.profileEnv("diff-live", size)...), codes: []int{2}}
	if s.diff, err = b.compare(ctx, w, one, []string{b.binary, "diff", filepath.Join(changed, "clusters")}); err != nil {
		return s, err
	}
	if err := b.push(ctx, w, repository, log, &s); err != nil {
		return s, err
	}
	b.phase(daemon, w.size)
	last, err := ofProcess(daemon.PID())
	if err != nil {
		return s, err
	}
	s.peak = max(last.Peak, s.foundedPeak, s.Peak)
	return s, b.restart(ctx, w, &daemon, args, &s)
}

// found lets the nodes take pods, and waits until each cluster is as its definition says.
func (b *bench) found(ctx context.Context, w *world, daemon *testbed.Daemon, log *told, s *steady) error {
	before, err := ofProcess(daemon.PID())
	if err != nil {
		return err
	}
	if err := forgetPeak(daemon.PID()); err != nil {
		return err
	}
	own, err := ofProcess(os.Getpid())
	if err != nil {
		return err
	}
	opened := time.Now()
	if err := w.schedulable(ctx, true); err != nil {
		return err
	}
	said := opened
	if err := log.until(ctx, "all clusters to be founded", patience(w.size), daemon.Done(), func() bool {
		if time.Since(said) >= founding {
			said = time.Now()
			b.say("  %d are founded", len(log.clusters))
		}
		return len(log.clusters) == w.size
	}); err != nil {
		return err
	}
	s.founded = time.Since(opened)
	after, err := ofProcess(daemon.PID())
	if err != nil {
		return err
	}
	nodes, err := ofProcess(os.Getpid())
	if err != nil {
		return err
	}
	s.foundedCPU, s.foundedPeak = after.CPU-before.CPU, after.Peak
	b.phase(daemon, w.size)
	b.say("  all clusters are founded after %s: CPU of the daemon %s, of the nodes %s; at most %s", seconds(s.founded), seconds(s.foundedCPU), seconds(nodes.CPU-own.CPU), mebibytes(s.foundedPeak))
	return nil
}

// founding is how often it is said how many clusters are founded.
const founding = 30 * time.Second

// idle looks at a daemon in sync.
func (b *bench) idle(ctx context.Context, w *world, daemon *testbed.Daemon, s *steady) error {
	before, err := quiet(ctx, w.Admin, 10*time.Second, patience(w.size))
	if err != nil {
		return err
	}
	b.phase(daemon, w.size)
	from, err := ofProcess(daemon.PID())
	if err != nil {
		return err
	}
	if !pause(ctx, b.idleFor) {
		return ctx.Err()
	}
	to, err := ofProcess(daemon.PID())
	if err != nil {
		return err
	}
	after, err := count(ctx, w.Admin)
	if err != nil {
		return err
	}
	withoutRepairs(before.requests, after.requests, b.idleFor)
	s.idleFor, s.idleCPU = b.idleFor, to.CPU-from.CPU
	s.idleRequests, s.idleEach = since(before.requests, after.requests)
	s.held, err = resident(daemon.PID())
	return err
}

// push changes one cluster after the other by a commit, and takes the time from the
// moment at which the push begins until its Service is changed.
func (b *bench) push(ctx context.Context, w *world, repository *testbed.Repository, log *told, s *steady) error {
	if err := log.until(ctx, "the receiver", time.Minute, nil, func() bool { return log.address != "" }); err != nil {
		return err
	}
	events, err := w.Admin.CoreV1().Services("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("watching Services: %w", err)
	}
	defer events.Stop()
	for n := range b.pushes {
		c, mark := cluster((n*7+1)%w.size), "push-"+strconv.Itoa(n)
		if err := repository.Commit(ctx, mark, map[string]string{c.file(): c.definition(1, mark)}); err != nil {
			return err
		}
		began := time.Now()
		if err := repository.Publish(ctx); err != nil {
			return err
		}
		if err := announce(ctx, "http://"+log.address+receiver.Path); err != nil {
			return err
		}
		if err := marked(ctx, events, c, mark); err != nil {
			return err
		}
		s.pushes = append(s.pushes, time.Since(began))
		// As people push: a look at the source comes 200 ms after another at the earliest.
		if !pause(ctx, 500*time.Millisecond) {
			return ctx.Err()
		}
	}
	slices.Sort(s.pushes)
	return nil
}

// announce tells the receiver of a push, as the repository's host does.
func announce(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	body := []byte(`{"ref":"refs/heads/main"}`)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("X-Signature", receiver.Sign(body, []byte(receiverSecret)))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("announcing a push: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusAccepted {
		return fmt.Errorf("announcing a push: the receiver answers %s", response.Status)
	}
	return nil
}

// marked waits until a cluster's Service carries a mark.
func marked(ctx context.Context, events watch.Interface, c cluster, mark string) error {
	timer := time.NewTimer(time.Minute)
	defer timer.Stop()
	for {
		select {
		case event, open := <-events.ResultChan():
			if !open {
				return errors.New("the watch of Services has ended")
			}
			if service, ok := event.Object.(*corev1.Service); ok && service.Namespace == c.namespace() &&
				service.Name == c.service() && service.Annotations[markAnnotation] == mark {
				return nil
			}
		case <-timer.C:
			return fmt.Errorf("the push of %s did not come to Service %s/%s within a minute", mark, c.namespace(), c.service())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// restart ends the daemon and starts another, where nothing is to be done.
func (b *bench) restart(ctx context.Context, w *world, daemon **testbed.Daemon, args []string, s *steady) error {
	if _, err := (*daemon).Stop(); err != nil {
		return err
	}
	before, err := quiet(ctx, w.Admin, 2*time.Second, time.Minute)
	if err != nil {
		return err
	}
	began := time.Now()
	again, log, err := b.startDaemon(w, "daemon-again", args)
	if err != nil {
		return err
	}
	*daemon = again
	if err := log.until(ctx, "all clusters to be known in sync", patience(w.size), again.Done(), func() bool { return len(log.clusters) == w.size }); err != nil {
		return err
	}
	s.again = time.Since(began)
	after, err := count(ctx, w.Admin)
	if err != nil {
		return err
	}
	s.againWrites = writes(after.requests) - writes(before.requests)
	_, each := since(before.requests, after.requests)
	b.say("  requests of a restart: %s; watches that stand: %d", strings.Join(each, ", "), after.watches-before.watches)
	s.againLists, s.againGets = started("LIST ", before, after), started("GET ", before, after)
	s.againWatches = after.watches - before.watches
	return nil
}

func end(text string, n int) string { return text[max(0, len(text)-n):] }
