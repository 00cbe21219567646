package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func root(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../..") // as an overlay wants it
	require.NoError(t, err)
	return path
}

// What is added to the code by hand has to follow it: the build says so.
func TestEachGuardIsTakenOutOfOneBuildAndTheSimulationNotices(t *testing.T) {
	e, err := enumerate(root(t))
	require.NoError(t, err)
	binary, output, err := e.build(t.TempDir())
	require.NoError(t, err, "%s", output)
	file := filepath.Join(t.TempDir(), "results.1")
	met, err := survey(binary, 1, 6, 2, file)
	require.NoError(t, err)
	require.Zero(t, met.broken)
	again, err := survey("/nonexistent", 1, 6, 2, file)
	require.NoError(t, err, "what was surveyed is not run again")
	require.Equal(t, met, again)

	var secret, licence site
	for _, s := range e.sites {
		switch {
		case s.kind == call && s.name == "createSystemSecret CreateSecret":
			secret = s
		case s.name == "licence-missing":
			licence = s
		}
	}
	seeds := met.of(secret.number)
	require.Len(t, seeds, 6, "each cluster needs a password for system")
	r := try(binary, secret.number, seeds, time.Minute)
	assert.True(t, r.noticed)
	assert.EqualValues(t, 1, r.seed)
	assert.Contains(t, r.by, "done 21 times")
	assert.Empty(t, met.of(licence.number), "the model has no licences")
	assert.False(t, try(binary, licence.number, []uint64{1, 2}, time.Minute).noticed, "a guard that makes no difference makes none when it is out")

	var table bytes.Buffer
	o := options{schedules: 6, cores: 2, first: 1, limit: time.Minute}
	// All tests take minutes on a busy machine, and their own packages run them anyway.
	tests, err := e.suites(t.TempDir(), "TestABootstrapAndARestartSayWhatTheyWaitFor")
	require.NoError(t, err)
	require.NoError(t, o.each(binary, tests, []site{secret, licence}, met, results{}, &table))
	assert.Contains(t, table.String(), secret.row()+" 6 | 1 | E: the daemon calls create-system-secret user-system-c done 21 times, one right after the other |  |")
	assert.Regexp(t, regexp.QuoteMeta(licence.row())+` 0 \|  \| not reached \| Test\w+ \|`, table.String(), "what the model has none of is noticed by a test of its own")
}

func TestEachGuardHasItsOwnPlace(t *testing.T) {
	e, err := enumerate(root(t))
	require.NoError(t, err)
	rows := map[string]bool{}
	kinds := map[kind]int{}
	for i, s := range e.sites {
		assert.Equal(t, i+1, s.number)
		assert.False(t, rows[s.row()], "two guards are one in the file of results: %s", s)
		rows[s.row()] = true
		kinds[s.kind]++
	}
	for _, k := range []kind{gate, reread, call, giveBack, action} {
		assert.NotZero(t, kinds[k], string(k))
	}
}

func TestEachReasonIsOfAGuardThatIsThereAndOfNoOther(t *testing.T) {
	e, err := enumerate(root(t))
	require.NoError(t, err)
	of := map[site]guard{}
	for _, r := range reasons {
		for _, g := range r.of {
			found := false
			for _, s := range e.sites {
				if g.is(s) {
					assert.Empty(t, of[s], "%s has two reasons", s)
					of[s], found = g, true
				}
			}
			assert.True(t, found, "%v is not in the code any more", g)
		}
	}
}

func TestWhatNoScheduleNoticesIsGroupedByItsReason(t *testing.T) {
	var g groups
	g.add(site{kind: gate, name: "another-owner"}, "TestB")
	g.add(site{kind: gate, name: "defined-twice"}, "TestA")
	g.add(site{kind: gate, name: "another-owner"}, "TestA")
	g.add(site{kind: gate, name: "new"}, "")
	var table bytes.Buffer
	assert.Equal(t, 1, g.print(&table))
	assert.Contains(t, table.String(), "| one cluster has the model, with one source | 3 | another-owner (2), defined-twice | TestA, TestB |")
	assert.Contains(t, table.String(), "| nothing has been decided | 1 | new |  |")
}

// A run that was cut off goes on where it was, and what it had found counts in the end.
func TestWhatRunsBeforeHaveFoundCounts(t *testing.T) {
	secret, licence, other := site{kind: call, name: "secret", where: "a.go:1"}, site{kind: gate, name: "another-owner", where: "b.go:2"}, site{kind: gate, name: "new", where: "c.go:3"}
	had := results{}
	had.read("| kind | what | where | schedules that it makes a difference in | noticed after | by | or by |\n|---|---|---|---:|---:|---|---|\n" +
		secret.row() + " 6 | 1 | E: it does not end |  |\n" + licence.row() + " 3 |  | not noticed |  |\n" + licence.row() + " 3 |  | not noticed | TestA |\n" + other.row() + " 7 |  | not noti")
	assert.Equal(t, results{
		secret.row(): {schedules: 6, after: "1", by: "E: it does not end"}, licence.row(): {schedules: 3, by: "not noticed", test: "TestA"},
	}, had, "the last line of a guard counts, and one that was cut off does not")
	assert.True(t, had.lacks(other))
	assert.False(t, had.lacks(secret))

	var table bytes.Buffer
	require.NoError(t, options{cores: 1, schedules: enough}.each("", nil, []site{secret, licence}, &meetings{}, had, &table))
	assert.Empty(t, table.String(), "they are not tried again")

	had[licence.row()] = outcome{schedules: 3, by: "not noticed"}
	err := options{cores: 1, schedules: enough}.each("", nil, []site{secret, licence}, &meetings{}, had, &table)
	require.ErrorContains(t, err, "1 guards are noticed by nothing", "no test was asked in the run before, and none is there")

	had[other.row()] = outcome{schedules: 7, by: "not noticed", test: "TestB"}
	err = options{cores: 1, schedules: enough}.each("", nil, []site{secret, other}, &meetings{}, had, &table)
	require.ErrorContains(t, err, "of 1 guards that no schedule notices nothing is decided")
}

func TestReadOfATrial(t *testing.T) {
	for _, c := range []struct {
		name, said string
		broken     bool
		fails      string
	}{
		{"with all guards it holds", "7 held 2 1\n8 held 0 0\n", false, ""},
		{"a violation with all guards counts for none", "7 broken 2 1\n8 held 0 0\n", true, ""},
		{"another seed", "9 held 2 1\n", false, "a trial said"},
		{"no seed", "panic: something\n", false, "a trial said"},
		{"cut", "7\n", false, "a trial said"},
		{"no bits", "7 held x\n", false, "a trial said"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &meetings{first: 7, bits: make([][]uint64, 2)}
			err := m.read([]byte(c.said))
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				return
			}
			require.NoError(t, err)
			var want []uint64
			if !c.broken {
				want = []uint64{7}
			}
			assert.Equal(t, want, m.of(1))
			assert.Equal(t, want, m.of(64))
			assert.Empty(t, m.of(2))
		})
	}
	assert.False(t, strings.Contains(cut("a | b"), "|"), "a message stays in its column")
}
