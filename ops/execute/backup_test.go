package execute_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// listing is what sys.snapshots shows, and how often it was asked.
type listing struct {
	rows  []model.ListedSnapshot
	err   error
	asked int
	// answers are the listings before the one that fails with err.
	answers int
}

func (l *listing) List(context.Context, string, string) ([]model.ListedSnapshot, error) {
	if l.asked++; l.asked > l.answers && l.err != nil {
		return nil, l.err
	}
	return append([]model.ListedSnapshot{}, l.rows...), nil
}

const repository = "stevedore_0a0b0c0d"

// onS3 is a repository whose key is in Secret keys.
var onS3 = model.Action{
	Kind: model.ActionSetRepository, Pod: "p", SystemSecret: "system", Version: "6.4.3", Repository: repository, New: true,
	Settings: "base_path=shop/orders/id\nbucket=o'brien\ntype=s3", Secrets: `[{"name":"secret_key","ref":{"name":"keys","key":"password"}}]`, SecretVersions: "keys keys 1",
}

func aSnapshot(name, state string) model.ListedSnapshot {
	return model.ListedSnapshot{Repository: repository, Name: name, State: state, Finished: time.Unix(100, 0)}
}

func backupTools(s *script, l *listing) execute.Tools {
	s.secrets["keys"] = "t0psecret\n"
	t := s.tools()
	t.Snapshots = l
	return t
}

// ofRepositories are the statements that were sent but the looks.
func ofRepositories(s *script) []string {
	var all []string
	for _, statement := range s.told {
		if strings.Contains(statement, "REPOSITORY") || strings.HasPrefix(statement, "CREATE SNAPSHOT") || strings.HasPrefix(statement, "DROP SNAPSHOT") {
			all = append(all, statement)
		}
	}
	return all
}

func TestARepositoryIsCreatedOrVerifiedAndLookedInto(t *testing.T) {
	const parameters = `("base_path" = 'shop/orders/id', "bucket" = 'o''brien', "secret_key" = $1)`
	create, alter := `CREATE REPOSITORY "`+repository+`" TYPE s3 WITH `+parameters, `ALTER REPOSITORY "`+repository+`" SET `+parameters
	for _, c := range []struct {
		name     string
		there    bool
		version  string
		again    bool
		in       []model.ListedSnapshot
		sent     []string
		code     model.ResultCode
		listings int
	}{
		{"a new one", false, "6.4.3", false, nil, []string{create}, 0, 1},
		{"one that is there is altered from 6.4 on", true, "6.4.3", true, nil, []string{alter}, 0, 0},
		{"and dropped and created again before", true, "6.3.7", true, nil, []string{`DROP REPOSITORY "` + repository + `"`, create}, 0, 0},
		{"with snapshots of ours", false, "6.4.3", false, []model.ListedSnapshot{aSnapshot("stevedore-daily-20260101t030000z", "SUCCESS")}, []string{create}, 0, 1},
		{"with somebody else's", false, "6.4.3", false, []model.ListedSnapshot{aSnapshot("nightly", "SUCCESS")}, []string{create}, model.ResultForeign, 1},
		{"what is in another repository is no matter", false, "6.4.3", false, []model.ListedSnapshot{{Repository: "theirs", Name: "nightly", State: "SUCCESS"}}, []string{create}, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, l := newScript("system/real"), &listing{rows: c.in}
			if c.there {
				s.replies = map[string][][][]string{"sys.repositories": {{{"s3"}}}}
			}
			a := onS3
			a.Version, a.New = c.version, !c.again
			r, err := execute.Run(t.Context(), a, backupTools(s, l))
			require.NoError(t, err)
			assert.Equal(t, c.sent, ofRepositories(s))
			assert.Equal(t, c.code, r.Code)
			assert.Equal(t, c.listings, l.asked)
		})
	}
}

func TestNoSecretOfARepositoryIsInAnError(t *testing.T) {
	s := newScript("system/real")
	s.fails["CREATE REPOSITORY"] = errors.New("403 Forbidden for key t0psecret")
	_, err := execute.Run(t.Context(), onS3, backupTools(s, &listing{}))
	require.ErrorContains(t, err, "403 Forbidden")
	assert.NotContains(t, err.Error(), "t0psecret")
	for _, statement := range s.told {
		assert.NotContains(t, statement, "t0psecret")
	}
}

// What hangs goes on in CrateDB, and each one more holds a thread of the master: what does not answer is asked
// once.
func TestNothingIsSentToARepositoryThatDoesNotAnswer(t *testing.T) {
	create := model.Action{Kind: model.ActionCreateSnapshot, Pod: "p", SystemSecret: "system", Repository: repository, Snapshot: "stevedore-daily-20260101t030000z"}
	drop := model.Action{Kind: model.ActionDropSnapshot, Pod: "p", SystemSecret: "system", Repository: repository, Snapshot: "stevedore-daily-20260101t030000z"}
	for _, c := range []struct {
		job    string
		action model.Action
		sent   bool
	}{
		{`CREATE REPOSITORY "%s" TYPE s3 WITH (…)`, onS3, false},
		{`ALTER REPOSITORY "%s" SET (…)`, onS3, false},
		{`CREATE SNAPSHOT "%s"."stevedore-daily-20251231t030000z" ALL`, onS3, true}, // other parameters may be the cure
		{`CREATE SNAPSHOT "%s"."stevedore-daily-20251231t030000z" ALL`, create, false},
		{`DROP SNAPSHOT "%s"."stevedore-daily-20251231t030000z"`, create, false},
		{`DROP SNAPSHOT "%s"."stevedore-daily-20251231t030000z"`, drop, false},
		{`CREATE SNAPSHOT "theirs"."nightly" ALL`, create, true},
	} {
		t.Run(string(c.action.Kind)+" behind "+c.job, func(t *testing.T) {
			s := newScript("system/real")
			job := c.job
			if strings.Contains(job, "%s") {
				job = fmt.Sprintf(c.job, repository)
			}
			s.replies = map[string][][][]string{"sys.jobs": {{{job}}}, "sys.repositories": {{}}}
			if c.action.Kind == model.ActionCreateSnapshot {
				s.replies["sys.repositories"] = [][][]string{{{"s3"}}}
			}
			_, err := execute.Run(t.Context(), c.action, backupTools(s, &listing{}))
			if c.sent {
				require.NoError(t, err)
				assert.NotEmpty(t, ofRepositories(s))
			} else {
				require.ErrorContains(t, err, "does not answer")
				assert.Empty(t, ofRepositories(s))
			}
		})
	}
}

func TestASnapshotBeginsOnce(t *testing.T) {
	a := model.Action{Kind: model.ActionCreateSnapshot, Pod: "p", SystemSecret: "system", Repository: repository, Snapshot: "stevedore-daily-20260101t030000z", SnapshotTables: "doc.a,My.B"}
	statement := `CREATE SNAPSHOT "` + repository + `"."stevedore-daily-20260101t030000z" TABLE "doc"."a", "My"."B" WITH (wait_for_completion = false)`
	closed := fmt.Errorf("%w: the relation doc.a is closed", execute.ErrRejected)
	for _, c := range []struct {
		name    string
		fails   error
		in      []model.ListedSnapshot
		listing error
		code    model.ResultCode
		message string
		err     string
	}{
		{"it begins", nil, nil, nil, 0, "the snapshot has begun", ""},
		{"an answer was lost", fmt.Errorf("%w: …", execute.ErrSnapshotExists), nil, nil, 0, "the snapshot is there already", ""},
		{"nothing is known of the answer", errors.New("connection reset"), nil, nil, 0, "", "connection reset"},
		{"CrateDB refuses it", closed, nil, nil, model.ResultRefused, "CrateDB has refused the statement: the relation doc.a is closed", ""},
		{"and has begun it before", closed, []model.ListedSnapshot{aSnapshot("stevedore-daily-20260101t030000z", "IN_PROGRESS")}, nil, 0, "the snapshot is there already", ""},
		{"and nobody knows whether it has", closed, nil, errors.New("the listing has not ended"), 0, "", "the listing has not ended"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript("system/real")
			s.replies = map[string][][][]string{"sys.repositories": {{{"s3"}}}}
			if c.fails != nil {
				s.fails["CREATE SNAPSHOT"] = c.fails
			}
			r, err := execute.Run(t.Context(), a, backupTools(s, &listing{rows: c.in, err: c.listing, answers: 1}))
			assert.Equal(t, []string{statement}, ofRepositories(s))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, model.Result{Code: c.code, Message: c.message}, r)
		})
	}
}

func TestNoSnapshotIsAskedForBesideOneOfOurs(t *testing.T) {
	const name, other = "stevedore-daily-20260101t030000z", "stevedore-often-20260101t025900z"
	a := model.Action{Kind: model.ActionCreateSnapshot, Pod: "p", SystemSecret: "system", Repository: repository, Snapshot: name}
	for _, c := range []struct {
		name  string
		in    model.ListedSnapshot
		begun bool
	}{
		{"in its repository", aSnapshot(other, "IN_PROGRESS"), false},
		{"in another one", model.ListedSnapshot{Repository: "stevedore_former", Name: other, State: "IN_PROGRESS"}, false},
		{"one that has ended", aSnapshot(other, "SUCCESS"), true},
		{"somebody else's", aSnapshot("nightly", "IN_PROGRESS"), true},
		{"its own answer was lost", aSnapshot(name, "IN_PROGRESS"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript("system/real")
			s.replies = map[string][][][]string{"sys.repositories": {{{"s3"}}}}
			r, err := execute.Run(t.Context(), a, backupTools(s, &listing{rows: []model.ListedSnapshot{c.in}}))
			require.NoError(t, err)
			if c.begun {
				assert.Len(t, ofRepositories(s), 1)
				return
			}
			assert.Equal(t, model.Result{Code: model.ResultWaits, Message: "snapshot " + other + " is still being taken"}, r)
			assert.Empty(t, ofRepositories(s))
		})
	}
	t.Run("nobody knows whether one runs", func(t *testing.T) {
		s := newScript("system/real")
		s.replies = map[string][][][]string{"sys.repositories": {{{"s3"}}}}
		_, err := execute.Run(t.Context(), a, backupTools(s, &listing{err: errors.New("the listing has not ended")}))
		require.ErrorContains(t, err, "the listing has not ended")
		assert.Empty(t, ofRepositories(s))
	})
}

func TestNoSnapshotIsAskedOfARepositoryThatSomebodyHasDropped(t *testing.T) {
	a := model.Action{Kind: model.ActionCreateSnapshot, Pod: "p", SystemSecret: "system", Repository: repository, Snapshot: "stevedore-daily-20260101t030000z"}
	s := newScript("system/real")
	s.replies = map[string][][][]string{"sys.repositories": {{}}}
	r, err := execute.Run(t.Context(), a, backupTools(s, &listing{}))
	require.NoError(t, err)
	assert.Equal(t, model.ResultMissing, r.Code)
	assert.Empty(t, ofRepositories(s))
}

func TestASnapshotIsDroppedOnlyBehindThoseThatAreKept(t *testing.T) {
	const one, two, three, other = "stevedore-daily-20260101t030000z", "stevedore-daily-20260102t030000z", "stevedore-daily-20260103t030000z", "stevedore-hourly-20260103t030000z"
	unread := model.ListedSnapshot{Repository: repository, Name: three, State: "FAILED"}
	for _, c := range []struct {
		name string
		in   []model.ListedSnapshot
		keep int
		err  string
		sent bool
	}{
		{"two are kept", []model.ListedSnapshot{aSnapshot(one, "SUCCESS"), aSnapshot(two, "SUCCESS"), aSnapshot(three, "SUCCESS")}, 2, "", true},
		{"it is gone", []model.ListedSnapshot{aSnapshot(two, "SUCCESS"), aSnapshot(three, "SUCCESS")}, 2, "", false},
		{"the newest is gone", []model.ListedSnapshot{aSnapshot(one, "SUCCESS"), aSnapshot(two, "SUCCESS")}, 1, "the newest snapshot " + three + " is not in the repository", false},
		{"the newest cannot be read", []model.ListedSnapshot{aSnapshot(one, "SUCCESS"), aSnapshot(two, "SUCCESS"), unread}, 1, "cannot be read", false},
		{"fewer would be left", []model.ListedSnapshot{aSnapshot(one, "SUCCESS"), aSnapshot(two, "PARTIAL"), aSnapshot(three, "SUCCESS")}, 2, "1 successful snapshot(s)", false},
		{"one that failed does not count", []model.ListedSnapshot{aSnapshot(one, "PARTIAL"), aSnapshot(three, "SUCCESS")}, 2, "", true},
		{"nobody can say what became of it", []model.ListedSnapshot{{Repository: repository, Name: one, State: "FAILED"}, aSnapshot(two, "SUCCESS"), aSnapshot(three, "SUCCESS")}, 2, "does not say what became of", false},
		{"those of another schedule do not count", []model.ListedSnapshot{aSnapshot(one, "SUCCESS"), aSnapshot(other, "SUCCESS"), aSnapshot(three, "SUCCESS")}, 2, "1 successful snapshot(s)", false},
		{"the repository shows nothing", nil, 1, "nothing is dropped", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript("system/real")
			_, err := execute.Run(t.Context(), model.Action{Kind: model.ActionDropSnapshot, Pod: "p", SystemSecret: "system", Repository: repository, Snapshot: one, Newest: three, Value: c.keep}, backupTools(s, &listing{rows: c.in}))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
			} else {
				require.NoError(t, err)
			}
			if c.sent {
				assert.Equal(t, []string{`DROP SNAPSHOT "` + repository + `"."` + one + `"`}, ofRepositories(s))
			} else {
				assert.Empty(t, ofRepositories(s))
			}
		})
	}
}

// Somebody's snapshot in the folder is never dropped: neither that of another tool, nor one whose name only begins as ours.
func TestNoSnapshotOfAnotherIsDropped(t *testing.T) {
	const newest, before = "stevedore-daily-20260103t030000z", "stevedore-daily-20260102t030000z"
	for _, theirs := range []string{"nightly-7", "stevedore-daily", "stevedore-20260101t030000z", "stevedore-daily-yesterday"} {
		for _, state := range []string{"SUCCESS", "PARTIAL"} {
			t.Run(theirs+" "+state, func(t *testing.T) {
				s := newScript("system/real")
				_, err := execute.Run(t.Context(), model.Action{Kind: model.ActionDropSnapshot, Pod: "p", SystemSecret: "system", Repository: repository, Snapshot: theirs, Newest: newest, Value: 1},
					backupTools(s, &listing{rows: []model.ListedSnapshot{aSnapshot(theirs, state), aSnapshot(before, "SUCCESS"), aSnapshot(newest, "SUCCESS")}}))
				require.ErrorContains(t, err, theirs+" is no snapshot of stevedore's")
				assert.Empty(t, ofRepositories(s))
			})
		}
	}
}
