package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
)

const (
	onS3    = "s3: {bucket: copies, accessKey: {secretKeyRef: {name: keys, key: id}}, secretKey: {secretKeyRef: {name: keys, key: secret}}}, "
	nightly = onS3 + "schedules: [{name: nightly, cron: '0 3 * * *', keep: 14}]"
)

// A snapshot is begun by the clock: a plan of a push says the repository that is made, and what changes of the
// schedules, and no snapshot.
func TestAPlanOfBackups(t *testing.T) {
	for _, c := range []struct {
		name, from, to string
		change         func(*plan.Start)
		kinds, steps   []string
		summary        string
		notes          []string
	}{
		{"the first", "", nightly, nil, []string{"backups"}, []string{"set-repository s3 copies/shop/orders"}, `snapshots go to s3 copies/shop/orders, by schedule nightly (0 3 * * * UTC); its credentials are in Secret keys`, nil},
		{"nothing changes", nightly, nightly, nil, []string{}, []string{}, "", nil},
		{"another hour", nightly, onS3 + "schedules: [{name: nightly, cron: '0 4 * * *', timeZone: Europe/Vienna, keep: 14}]", nil, []string{}, []string{}, "",
			[]string{"schedule nightly of snapshots changes from 0 3 * * * UTC to 0 4 * * * Europe/Vienna"}},
		{"another schedule", nightly, onS3 + "schedules: [{name: hourly, cron: '0 * * * *', keep: 14}]", nil, []string{}, []string{}, "",
			[]string{"snapshots are taken by a new schedule hourly: 0 * * * * UTC", "schedule nightly ends: it takes no snapshot any more, and those that it took stay"}},
		{"fewer are kept", nightly, onS3 + "schedules: [{name: nightly, cron: '0 3 * * *', keep: 4}]", fiveTaken, []string{}, []string{}, "",
			[]string{"schedule nightly keeps the newest 4 instead of the newest 14", "schedule nightly keeps fewer snapshots than there are: 1 is dropped, the newest of them stevedore-nightly-20250101t030000z"}},
		{"none any more", nightly, "", fiveTaken, []string{}, []string{}, "",
			[]string{"spec.backups ends: no snapshot is taken any more; 5 snapshots in s3 copies/shop/orders stay"}},
		{"another bucket", nightly, "s3: {bucket: others, accessKey: {secretKeyRef: {name: keys, key: id}}, secretKey: {secretKeyRef: {name: keys, key: secret}}}, schedules: [{name: nightly, cron: '0 3 * * *', keep: 14}]",
			fiveTaken, []string{"backups"}, []string{"set-repository s3 others/shop/orders"}, `snapshots go to s3 others/shop/orders instead of s3 copies/shop/orders, where 5 snapshots stay and are listed no more, by schedule nightly (0 3 * * * UTC); its credentials are in Secret keys`, nil},
		{"other tables", nightly, onS3 + "schedules: [{name: nightly, cron: '0 3 * * *', keep: 14, tables: [doc.a, doc.b]}]", nil, []string{}, []string{}, "",
			[]string{"snapshots of schedule nightly have doc.a, doc.b instead of all tables"}},
		{"kept for a time", nightly, onS3 + "schedules: [{name: nightly, cron: '0 3 * * *', keepFor: 48h}]", nil, []string{}, []string{}, "",
			[]string{"schedule nightly keeps those of the last 48h instead of the newest 14"}},
		{"another policy", nightly, nightly + ", keepAtLeast: 5, unreadable: skip, snapshotNewerThan: 24h", nil, []string{}, []string{}, "",
			[]string{"snapshots: keepAtLeast 5, maxDelay 1h0m0s, unreadable skip, snapshotNewerThan 24h0m0s, instead of keepAtLeast 3, maxDelay 1h0m0s, unreadable refuse"}},
		{"a drill", nightly, nightly + ", drill: {cron: 0 4 * * 0, timeZone: Europe/Vienna, maxBytes: 200GB}", nil, []string{}, []string{}, "",
			[]string{"drills try the newest snapshot at 0 4 * * 0 Europe/Vienna at most 200GB"}},
		{"no drill any more", nightly + ", drill: {cron: 0 4 * * 0}", nightly, nil, []string{}, []string{}, "", []string{"no drill tries a snapshot any more"}},
		{"a restore of a cluster that is there", nightly, nightly + ", restore: {from: shop/orders/oldid-1234}", nil, []string{}, []string{}, "",
			[]string{"spec.backups.restore does nothing: the cluster has been made already"}},
		{"while one is being taken", nightly, onS3 + "schedules: [{name: nightly, cron: '0 4 * * *', keep: 14}]", func(s *plan.Start) {
			s.Record.Backups.Running = &model.RunningSnapshot{Name: "stevedore-nightly-20250101t030000z", Schedule: "nightly", Began: noon, Asked: noon}
		}, []string{}, []string{}, "", []string{"schedule nightly of snapshots changes from 0 3 * * * UTC to 0 4 * * * UTC"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			from, to := basic(), basic()
			from.backups, to.backups = c.from, c.to
			course := between(t, from, to, c.change)
			require.True(t, course.Done, "%+v %v", course.Waits, course.Unknown)
			assert.Equal(t, c.kinds, kinds(course))
			var own []string
			for _, s := range steps(course.Steps) {
				if s != "apply "+hot {
					own = append(own, s)
				}
			}
			assert.ElementsMatch(t, c.steps, own)
			assert.Equal(t, c.notes, course.Notes)
			assert.Zero(t, course.Restarts)
			for _, op := range course.Operations {
				if op.Kind == "backups" {
					assert.Equal(t, c.summary, op.Summary)
				}
			}
		})
	}
}

// fiveTaken are a snapshot a day, all of them successes.
func fiveTaken(s *plan.Start) {
	b := *s.Record.Backups
	for day := range 5 {
		at := time.Date(2025, 1, 1+day, 3, 0, 0, 0, time.UTC)
		b.Taken = append(b.Taken, model.TakenSnapshot{Name: model.SnapshotName("nightly", at), State: model.SnapshotSuccess, Finished: at.Add(time.Minute)})
	}
	s.Record.Backups = &b
}

// A plan names the Secrets of a repository and their keys, and says of another one that the repository is verified with it.
func TestAPlanNamesTheSecretsOfARepository(t *testing.T) {
	to, other := basic(), basic()
	to.backups = nightly
	other.backups = strings.ReplaceAll(nightly, "name: keys", "name: rotated")
	for name, c := range map[string]struct {
		from, to        wish
		detail, summary string
	}{
		"the first":      {basic(), to, "; access_key is key id of Secret keys, secret_key is key secret of Secret keys", "; its credentials are in Secret keys"},
		"another Secret": {to, other, "; access_key is key id of Secret rotated, secret_key is key secret of Secret rotated", "is verified again; its credentials are in Secret rotated"},
	} {
		t.Run(name, func(t *testing.T) {
			course := between(t, c.from, c.to, nil)
			require.Len(t, course.Operations, 1)
			assert.Contains(t, course.Operations[0].Summary, c.summary)
			detail := ""
			for _, s := range course.Steps {
				if s.Action == string(model.ActionSetRepository) {
					detail = s.Detail
				}
			}
			assert.Contains(t, detail, c.detail)
		})
	}
}

// An operation that waits for a snapshot says which one, since when it is being taken, how long the last one took, and
// when the operation begins at the latest.
func TestAPlanSaysWhenTheSnapshotEndsThatAnOperationWaitsFor(t *testing.T) {
	from, to := basic(), basic()
	from.backups, to.backups = nightly, nightly
	to.memory = "5Gi"
	course := between(t, from, to, func(s *plan.Start) {
		b := *s.Record.Backups
		before := noon.Add(-24 * time.Hour)
		b.Taken = []model.TakenSnapshot{{Name: model.SnapshotName("nightly", before), State: model.SnapshotSuccess, Began: before, Finished: before.Add(12 * time.Minute)}}
		b.Running = &model.RunningSnapshot{Name: "stevedore-nightly-20250101t030000z", Schedule: "nightly", Began: noon, Asked: noon}
		s.Record.Backups = &b
	})
	var said []string
	for _, op := range course.Operations {
		for _, g := range op.Gates {
			if g.Name == "snapshot-first" {
				said = append(said, g.Message)
			}
		}
	}
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	assert.Equal(t, []string{"what is desired begins after snapshot stevedore-nightly-20250101t030000z, which is being taken since " + at(noon) +
		" (the last one of its schedule took 12m0s), or at " + at(noon.Add(time.Hour)) + " at the latest (spec.backups.maxDelay); no pod is taken down while a snapshot is being taken"}, said)
}

// A Secret that the repository needs and that is not there is said, and what follows is planned.
func TestAPlanOfBackupsWithoutTheirSecret(t *testing.T) {
	to := basic()
	to.backups = nightly
	course := between(t, basic(), to, func(s *plan.Start) {
		var rest []model.Secret
		for _, secret := range s.Observed.Secrets {
			if secret.Name != "keys" {
				rest = append(rest, secret)
			}
		}
		s.Observed.Secrets = rest
	})
	require.True(t, course.Done)
	assert.Equal(t, []plan.Gate{{Name: "repository-secret-missing", Message: "the repository needs Secret keys, key id, which is not in namespace shop; `stevedore check FOLDER` prints the command that creates it"}}, course.Waits)
	assert.Contains(t, steps(course.Steps), "set-repository s3 copies/shop/orders")
}

// A new cluster that is to be made from a snapshot says what comes, and in which order.
func TestAPlanOfARestore(t *testing.T) {
	to := basic()
	to.users, to.backups = []string{"ada"}, nightly+", restore: {from: shop/orders/oldid-1234}"
	side := to.render(t)
	course := plan.Forward(plan.Start{Desired: side.desired, Templates: side.templates, Observed: model.Observed{Secrets: plan.Secrets(side.desired, nil)}, Now: noon})
	require.True(t, course.Done, "%+v %v", course.Waits, course.Unknown)
	assert.Equal(t, []string{"bootstrap", "backups"}, kinds(course))
	var own []string
	for _, s := range steps(course.Steps) {
		for _, words := range []string{"set-", "restore"} {
			if strings.Contains(s, words) {
				own = append(own, s)
				break
			}
		}
	}
	assert.Equal(t, []string{
		"set-system-user system", "set-repository s3 copies/shop/orders/oldid-1234", "set-user ada", "restore-users snapshot", "set-system-user system", "restore-tables snapshot",
		"set-user ada", "end-restore snapshot", "set-repository s3 copies/shop/orders",
	}, own)
}

// The operation is planned though a snapshot comes first, and its line says how old the newest is.
func TestAPlanSaysHowOldTheNewestSnapshotIs(t *testing.T) {
	old := func(s *plan.Start) {
		b := *s.Record.Backups
		b.Taken = []model.TakenSnapshot{{Name: model.SnapshotName("nightly", noon.Add(-30*time.Hour)), State: model.SnapshotSuccess, Finished: noon.Add(-30 * time.Hour)}}
		s.Record.Backups = &b
	}
	for _, c := range []struct {
		name, backups string
		change        func(*plan.Start)
		words         string
	}{
		{"one is new enough", nightly + ", snapshotNewerThan: 48h", old, "; the newest snapshot that succeeded is more than 24 hours old (stevedore-nightly-"},
		{"one is too old", nightly + ", snapshotNewerThan: 24h", old, "): one is taken before"},
		{"there is none", nightly + ", snapshotNewerThan: 24h", nil, "; there is no snapshot of all tables: one is taken before"},
		{"no drill has proven one", nightly + ", drill: {cron: 0 4 * * 0}", old, "; no drill has proven one yet"},
		{"a drill has proven it", nightly + ", drill: {cron: 0 4 * * 0}", func(s *plan.Start) {
			old(s)
			taken := s.Record.Backups.Taken
			taken[len(taken)-1].Proof = model.Proof{At: s.Now, Of: 3, Restored: 3, Compared: 3}
		}, "), and proven"},
		{"nobody asks for one", nightly, old, "; the newest snapshot that succeeded is more than 24 hours old"},
	} {
		t.Run(c.name, func(t *testing.T) {
			from, to := basic(), basic()
			from.backups, to.backups, from.version, to.version = c.backups, c.backups, "6.3.7", "6.4.3"
			course := between(t, from, to, c.change)
			require.True(t, course.Done, "%+v %v", course.Waits, course.Unknown)
			require.Contains(t, kinds(course), "upgrade")
			soon := between(t, from, to, func(s *plan.Start) {
				if c.change != nil {
					c.change(s)
				}
				s.Now = s.Now.Add(7 * time.Second)
			})
			assert.Equal(t, course.Operations, soon.Operations, "the same text again soon after")
			for _, op := range course.Operations {
				if op.Kind == "upgrade" {
					assert.Contains(t, op.Summary, c.words)
				}
			}
		})
	}
}
