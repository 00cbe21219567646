package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/internal/attendance"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

const appsSource = "https://git.example.com/apps"

func doneRecord() model.Record {
	return model.Record{
		Owner: appsSource, Revision: "r1", Commit: "main@sha1:aaaaaaaaaaaa", Stage: model.StageVerified, Bootstrap: model.Bootstrap{Done: true},
		Shown: model.Shown{Verdict: model.Done.String()},
	}
}

// follows makes the daemon's Lease say what it has taken of the source.
func (s *apiServer) follows(of attendance.Followed, renewed time.Duration) {
	holder := "stevedore-1"
	s.lease(coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: new(int32(600)), RenewTime: &metav1.MicroTime{Time: time.Now().Add(-renewed)}})
	s.mu.Lock()
	defer s.mu.Unlock()
	of.Source = appsSource
	for _, object := range s.objects {
		if lease, ok := object.(*coordinationv1.Lease); ok {
			lease.Annotations = map[string]string{attendance.Annotation: attendance.Following{Holder: holder, Sources: []attendance.Followed{of}}.Encode()}
		}
	}
}

// red is a record whose tables are.
func red(rec model.Record) *model.Record {
	because("information", "tables-red", "the cluster is RED: 2 shard(s) have no primary, of doc.a")(&rec)
	return &rec
}

func TestAWaitEndsWithWhatBecameOfIt(t *testing.T) {
	orders := record.Cluster{Namespace: "prod", Name: "orders"}
	taken := attendance.Followed{Revisions: []string{"main@sha1:bbbbbbbbbbbb", "main@sha1:aaaaaaaaaaaa"}}
	with := func(change func(*model.Record)) model.Record {
		rec := doneRecord()
		change(&rec)
		return rec
	}
	waits := with(func(r *model.Record) {
		r.Shown = model.Shown{Verdict: model.Wait.String(), Reasons: []model.ShownReason{{Kind: "wait", Name: "health-green", Message: "yellow"}}}
	})
	refused := with(func(r *model.Record) {
		r.Shown = model.Shown{Verdict: model.Refuse.String(), Reasons: []model.ShownReason{{Kind: "refusal", Name: "replicas-do-not-fit", Message: "too few nodes"}}}
	})
	suspended := with(func(r *model.Record) { r.Suspended = []model.RecordedSet{{}} })
	suspendedWaits := with(func(r *model.Record) {
		r.Suspended = []model.RecordedSet{{}}
		r.Shown = model.Shown{Verdict: model.Wait.String(), Reasons: []model.ShownReason{{Kind: "wait", Name: "suspended", Message: "1 change(s) wait"}}}
	})
	for _, c := range []struct {
		name  string
		rec   *model.Record
		taken attendance.Followed
		away  time.Duration
		args  []string
		code  int
		says  string
	}{
		{"it is done", new(doneRecord()), taken, 0, nil, exitOK, ""},
		{"of a revision that was taken", new(doneRecord()), taken, 0, []string{"--revision", "bbbbbbb"}, exitOK, ""},
		{"of the revision that it is of, taken before the daemon began", new(doneRecord()), attendance.Followed{}, 0, []string{"--revision", "aaaaaaa"}, exitOK, ""},
		{"of a revision that is not taken yet", new(doneRecord()), taken, 0, []string{"--revision", "ccccccc"}, exitLate, "the daemon has not taken revision ccccccc of " + appsSource + " yet; its newest is main@sha1:bbbbbbbbbbbb"},
		{"the revision was taken, and the cluster's turn has not come", new(doneRecord()), attendance.Followed{Revisions: taken.Revisions, Behind: []string{"prod/orders"}}, 0, nil, exitLate, "the daemon has not looked at it yet since it took main@sha1:bbbbbbbbbbbb"},
		{"nobody looks after it", new(doneRecord()), taken, time.Hour, nil, exitLate, "nobody looks after it: the daemon that held Lease stevedore-system/stevedore has renewed it no more"},
		{"it waits", &waits, taken, 0, nil, exitLate, "waiting | health-green: yellow"},
		{"not yet verified", new(with(func(r *model.Record) { r.Stage = model.StageApplied })), taken, 0, nil, exitLate, "not verified yet"},
		{"an allocation lock is not given back", new(with(func(r *model.Record) { r.Lock = &model.AllocationLock{} })), taken, 0, nil, exitLate, ""},
		{"it is refused", &refused, taken, 0, nil, exitStuck, "refused | replicas-do-not-fit: too few nodes"},
		{"it is suspended, as it should be", &suspended, taken, 0, []string{"--for", "suspended"}, exitOK, ""},
		{"it is suspended, and its definition asks for nothing else", &suspended, taken, 0, nil, exitOK, ""},
		{"it is suspended, and a change waits for its end", &suspendedWaits, taken, 0, nil, exitStuck, "suspended: 1 change(s) wait"},
		{"it is done, and tables are red", red(doneRecord()), taken, 0, nil, exitLate, "done, RED | tables-red: the cluster is RED: 2 shard(s) have no primary"},
		{"it is done, and should be suspended", new(doneRecord()), taken, 0, []string{"--for", "suspended"}, exitLate, "done"},
		{"there is no record", nil, taken, 0, nil, exitError, "there is no record of a cluster prod/orders"},
		{"there is no record of what was just pushed", nil, taken, 0, []string{"--revision", "bbbbbbb"}, exitLate, "no daemon has made a record of it yet"},
		{"a short revision", new(doneRecord()), taken, 0, []string{"--revision", "abc"}, exitError, "names no commit"},
		{"an unknown state", new(doneRecord()), taken, 0, []string{"--for", "dnoe"}, exitError, "write done, suspended, paused, released"},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := newAPIServer(t, "prod")
			api.follows(c.taken, c.away)
			if c.rec != nil {
				api.record(orders, *c.rec)
			}
			if c.code == exitLate || c.code == exitStuck {
				w := waitHere(t)
				if i := slices.Index(c.args, "--revision"); i >= 0 {
					w.revision = c.args[i+1]
				}
				if i := slices.Index(c.args, "--for"); i >= 0 {
					w.want = c.args[i+1]
				}
				found, err := w.look(t.Context(), &[]record.Cluster{orders})
				require.NoError(t, err)
				assert.False(t, found[orders].so)
				assert.Equal(t, c.code == exitStuck, found[orders].stuck)
				assert.Contains(t, found[orders].why, c.says)
				return
			}
			end := stevedore(t, append([]string{"wait", "prod/orders"}, c.args...)...)
			assert.Equal(t, c.code, end.code, end.err)
			assert.Contains(t, end.err, c.says)
			if c.code == exitOK {
				assert.Contains(t, end.out, "cluster prod/orders: ")
			} else {
				assert.Empty(t, end.out)
			}
		})
	}
}

// A wait right after a save said done before the daemon had noticed.
func TestAWaitForADirectoryWaitsUntilItIsTakenAsItIs(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "orders.yaml"), []byte(text), 0o600))
	}
	write("before")
	revision := func() string {
		snapshot, err := snapshotOfDir(t.Context(), dir)
		require.NoError(t, err)
		return snapshot.Revision
	}
	before := revision()
	write("after")
	after := revision()
	orders := record.Cluster{Namespace: "prod", Name: "orders"}
	for _, c := range []struct {
		name, of string
		taken    []string
		so       bool
	}{
		{"nothing was taken since the save", after, []string{before}, false},
		{"it was taken", after, []string{after, before}, true},
		{"it is as it was before the last that was taken", before, []string{after, before}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := newAPIServer(t, "prod")
			api.follows(attendance.Followed{Revisions: c.taken}, 0)
			api.record(orders, doneRecord())
			w := waitHere(t)
			w.revision, w.newest = c.of, true
			found, err := w.look(t.Context(), &[]record.Cluster{orders})
			require.NoError(t, err)
			assert.Equal(t, c.so, found[orders].so, found[orders].why)
		})
	}
	newAPIServer(t, "prod")
	assert.Contains(t, stevedore(t, "wait", "orders", "--dir", dir, "--revision", "aaaaaaa").err, "either --dir or --revision")
	assert.Contains(t, stevedore(t, "wait", "orders", "--dir", filepath.Join(dir, "nosuch")).err, "there is no such directory")
}

// With --all it looked in the namespace of the context, where none of the clusters was.
func TestAWaitForAllOfADirectoryIsForTheClustersThatItDefines(t *testing.T) {
	in := func(namespace, name string) string {
		return strings.Replace(orders(name, "3"), "namespace: prod", "namespace: "+namespace, 1)
	}
	two := map[string]string{"east/a.yaml": in("east", "orders"), "west/a.yaml": in("west", "orders")}
	for _, c := range []struct {
		name  string
		files map[string]string
		args  []string
		done  []string // those with a record that says so
		code  int
		out   string
		err   string
	}{
		{"in two namespaces", two, nil, []string{"east/orders", "west/orders"}, exitOK, "cluster east/orders: done\ncluster west/orders: done\n", ""},
		{"-A is the same", two, []string{"-A"}, []string{"east/orders", "west/orders"}, exitOK, "cluster east/orders: done\ncluster west/orders: done\n", ""},
		{"in one of them", two, []string{"-n", "west"}, []string{"west/orders"}, exitOK, "cluster west/orders: done\n", ""},
		{"one has no record yet", two, nil, []string{"east/orders"}, exitLate, "cluster east/orders: done\n", "west/orders: no daemon has made a record of it yet"},
		{"another cluster of the namespace is no part of it", map[string]string{"a.yaml": in("east", "orders")}, nil, []string{"east/orders"}, exitOK, "cluster east/orders: done\n", ""},
		{"none in the namespace", two, []string{"-n", "default"}, nil, exitError, "", "it defines no cluster in namespace default: correct -n, or leave it out"},
		{"no definition", map[string]string{"a.txt": "x"}, nil, nil, exitError, "", "there is no CrateDB definition in it: it has no file that ends with .yaml or .yml"},
		{"a file that cannot be read", map[string]string{"a.yaml": in("east", "orders"), "b.yaml": "a: [\n"}, nil, []string{"east/orders"}, exitError, "", "which clusters it defines is not known before these problems are corrected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := outOfGit(t, c.files)
			snapshot, err := snapshotOfDir(t.Context(), dir)
			require.NoError(t, err)
			api := newAPIServer(t, "default", "east", "west")
			api.follows(attendance.Followed{Revisions: []string{snapshot.Revision}}, 0)
			waits := doneRecord()
			waits.Shown.Verdict = model.Wait.String()
			api.record(record.Cluster{Namespace: "east", Name: "another"}, waits)
			for _, done := range c.done {
				namespace, name, _ := strings.Cut(done, "/")
				api.record(record.Cluster{Namespace: namespace, Name: name}, doneRecord())
			}
			end := stevedore(t, append([]string{"wait", "--all", "--dir", dir, "--timeout", "2s"}, c.args...)...)
			assert.Equal(t, c.code, end.code, end.err)
			assert.Equal(t, c.out, end.out)
			assert.Contains(t, end.err, c.err)
		})
	}
}

// waitHere is a wait for done that looks all the time, and says nothing.
func waitHere(t *testing.T) waiting {
	t.Helper()
	cfg, _, err := (&kubeFlags{}).config()
	require.NoError(t, err)
	cfg.QPS = -1
	client, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	return waiting{client: client, want: forDone, tick: time.Millisecond, stuckFor: 50 * time.Millisecond, say: func(string, ...any) {}}
}

func TestAWaitEndsInTimeOrWhenNothingGoesOnByItself(t *testing.T) {
	orders, metrics := record.Cluster{Namespace: "prod", Name: "orders"}, record.Cluster{Namespace: "prod", Name: "metrics"}
	api := newAPIServer(t, "prod")
	api.follows(attendance.Followed{}, 0)
	api.record(orders, doneRecord())
	refused := doneRecord()
	refused.Shown.Verdict = model.Refuse.String()
	api.record(metrics, refused)
	w := waitHere(t)
	var said []string
	w.say = func(format string, of ...any) { said = append(said, fmt.Sprintf(format, of...)) }
	so, err := w.until(t.Context(), []record.Cluster{orders, metrics})
	assert.Equal(t, exitCode(exitStuck), err)
	assert.Equal(t, "1 of 2 clusters are not done, and nothing changes until somebody acts: see above what each waits for", said[len(said)-1])
	assert.Equal(t, []record.Cluster{orders}, so)

	waits := doneRecord()
	waits.Shown.Verdict = model.Wait.String()
	api.record(metrics, waits)
	w = waitHere(t)
	w.all, w.namespace = true, "prod"
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	said = nil
	w.say = func(format string, of ...any) {
		said = append(said, fmt.Sprintf(format, of...))
		stop() // its time is up, once it has said why it waits
	}
	so, err = w.until(ctx, nil)
	assert.Equal(t, exitCode(exitLate), err)
	assert.Equal(t, []record.Cluster{orders}, so)
	require.Len(t, said, 2)
	assert.Contains(t, said[0], "prod/metrics: waiting")
	assert.Equal(t, "not in time: 1 of 2 clusters are not done", said[1])

	end := stevedore(t, "wait", "--all", "--timeout", "1s")
	assert.Equal(t, exitLate, end.code, end.err)
	assert.Contains(t, end.err, "not in time")
	end = stevedore(t, "wait", "--all", "-n", "typo")
	assert.Equal(t, exitError, end.code)
	assert.Contains(t, end.err, "namespace typo does not exist")
}

// A restart was asked for, and the wait for it ended by a record of before.
func TestAWaitHeedsACommandThatTheDaemonHasNotSeen(t *testing.T) {
	at := time.Now()
	rec := doneRecord()
	assert.False(t, unseen(rec, nil))
	assert.True(t, unseen(rec, []record.Command{record.Restart(at, "r1")}))
	assert.False(t, unseen(rec, []record.Command{record.Restart(at, "r0")}), "of another render it is none")
	rec.Command.Commands.RestartedAt = record.Restart(at, "r1").Value
	assert.False(t, unseen(rec, []record.Command{record.Restart(at, "r1")}))
	assert.True(t, unseen(rec, nil), "taken back, and not seen")
}

// One wait that came to an end made all others be printed again, each time on one long line.
func TestAWaitSaysEachReasonOnALineOfItsOwnAndOnce(t *testing.T) {
	orders := record.Cluster{Namespace: "prod", Name: "orders"}
	api := newAPIServer(t, "prod")
	api.follows(attendance.Followed{}, 0)
	w := waitHere(t)
	var said []string
	for _, c := range []struct {
		name    string
		reasons []string
		eta     time.Duration
		done    int
		says    []string
	}{
		{"at first", []string{"health-green", "budget-closed"}, time.Minute, 0, []string{"waiting | suspend | 0 of 3 done: about 1m0s", "health-green: yellow", "budget-closed: yellow"}},
		{"nothing has changed", []string{"health-green", "budget-closed"}, time.Minute, 0, nil},
		{"another forecast", []string{"health-green", "budget-closed"}, 50 * time.Second, 0, nil},
		{"another reason", []string{"health-green", "stable-for"}, 50 * time.Second, 0, []string{"stable-for: yellow"}},
		{"a step further", []string{"health-green", "stable-for"}, 40 * time.Second, 1, []string{"waiting | suspend | 1 of 3 done: about 40s"}},
		{"one that was there before", []string{"budget-closed"}, 40 * time.Second, 1, []string{"budget-closed: yellow"}},
	} {
		rec := doneRecord()
		rec.Operation = &model.Operation{Kind: model.OperationSuspend}
		rec.Shown = model.Shown{Verdict: model.Wait.String(), Progress: &model.Progress{Total: 3, Done: c.done, ETA: c.eta}}
		for _, name := range c.reasons {
			rec.Shown.Reasons = append(rec.Shown.Reasons, model.ShownReason{Kind: "wait", Name: name, Message: "yellow"})
		}
		api.record(orders, rec)
		found, err := w.look(t.Context(), &[]record.Cluster{orders})
		require.NoError(t, err)
		v := found[orders]
		var lines []string
		lines, said = v.news(said)
		assert.Equal(t, c.says, lines, c.name)
	}
}

// Who had forgotten to make the namespace waited without a reason.
func TestAWaitForAPushIntoANamespaceThatIsNotThereSaysSo(t *testing.T) {
	orders := record.Cluster{Namespace: "shop", Name: "orders"}
	newAPIServer(t, "prod")
	w := waitHere(t)
	w.revision = "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"
	found, err := w.look(t.Context(), &[]record.Cluster{orders})
	require.NoError(t, err)
	assert.Contains(t, found[orders].why, "namespace shop does not exist")

	api := newAPIServer(t, "prod")
	api.follows(attendance.Followed{Revisions: []string{"main@sha1:bbbbbbbbbbbb"}}, 0)
	orders.Namespace = "prod"
	api.record(orders, doneRecord())
	w = waitHere(t)
	w.revision = "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"
	found, err = w.look(t.Context(), &[]record.Cluster{orders})
	require.NoError(t, err)
	assert.Contains(t, found[orders].why, "has not taken revision 0a1b2c3d4e5f of ")
}
