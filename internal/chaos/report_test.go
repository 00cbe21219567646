package chaos

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestWhatIsThereIsComparedWithWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	type written struct{ rows, acked int }
	for name, c := range map[string]struct {
		written map[int64]written
		there   map[int64]int
		want    Rows
	}{
		"all is there":                     {map[int64]written{1: {1, 1}, 2: {10, 10}}, map[int64]int{1: 1, 2: 10}, Rows{Acknowledged: 11}},
		"an acknowledged row is lost":      {map[int64]written{1: {1, 1}, 2: {10, 10}}, map[int64]int{2: 9}, Rows{Acknowledged: 11, Lost: 2}},
		"what was refused is not there":    {map[int64]written{1: {1, 0}}, nil, Rows{Maybe: 1}},
		"what had no answer was applied":   {map[int64]written{1: {1, 0}}, map[int64]int{1: 1}, Rows{Maybe: 1, Applied: 1}},
		"an answer of fewer rows":          {map[int64]written{1: {10, 7}}, map[int64]int{1: 8}, Rows{Acknowledged: 7, Maybe: 3, Applied: 1}},
		"fewer than that answer are there": {map[int64]written{1: {10, 7}}, map[int64]int{1: 6}, Rows{Acknowledged: 7, Maybe: 3, Lost: 1}},
		"a row is there twice":             {map[int64]written{1: {1, 1}}, map[int64]int{1: 2}, Rows{Acknowledged: 1, Strange: 1}},
		"nobody wrote it":                  {nil, map[int64]int{4: 1}, Rows{Strange: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			book := newLedger()
			for id, w := range c.written {
				book.send(id, w.rows)
				book.ack(id, w.acked)
			}
			assert.Equal(t, c.want, book.compare(c.there))
		})
	}
}

func TestAReportIsJudged(t *testing.T) {
	t.Parallel()
	failing := func(statements, failed int) Meter {
		var m Meter
		for i := range statements {
			if i < failed {
				m.add(false, time.Second, errors.New("gone"), errors.New("gone still"))
			} else {
				m.add(false, time.Millisecond, nil, nil)
			}
		}
		return m
	}
	for name, c := range map[string]struct {
		row  Row
		want []string
	}{
		"all is well":                   {Row{Replicated: failing(1000, 0)}, nil},
		"one of a thousand may fail":    {Row{Replicated: failing(1000, 1)}, nil},
		"two of a thousand may not":     {Row{Replicated: failing(1000, 2)}, []string{"2 of 1000 reads on tables with replicas failed"}},
		"where a node is killed, more":  {Row{Fault: NodeKilled, Replicated: failing(1000, 9)}, nil},
		"without replicas, too":         {Row{Bare: failing(1000, 900), Exposed: Rows{Lost: 4}}, nil},
		"a lost row":                    {Row{Fault: NodeKilled, Kept: Rows{Lost: 1}}, []string{"1 acknowledged rows of tables with replicas are lost"}},
		"a row that is there twice":     {Row{Exposed: Rows{Strange: 1}}, []string{"1 rows are there twice"}},
		"an acknowledged row is denied": {Row{Replicated: Meter{Missing: 1}}, []string{"1 reads did not find an acknowledged row"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.row.Voyage = "v"
			r := Report{Rows: []Row{c.row}}
			r.judgeRow(c.row)
			r.judge("v")
			assert.Len(t, r.Violations, len(c.want))
			for i, want := range c.want {
				assert.Contains(t, r.Violations[i], want)
			}
		})
	}
}

func TestTheRetryIsCountedAndTheTailIsMeasured(t *testing.T) {
	t.Parallel()
	var m Meter
	for range 98 {
		m.add(true, time.Millisecond, nil, nil)
	}
	m.add(true, time.Second, errors.New("a cut connection"), nil)
	m.add(true, 9*time.Second, errMissing, errMissing)
	assert.Equal(t, Kind{Statements: 100, Retried: 2, Failed: 1, Latencies: m.Writes.Latencies, Errors: m.Writes.Errors}, m.Writes)
	assert.Equal(t, time.Second, m.Writes.P99())
	assert.Equal(t, 1, m.Missing)
	assert.Zero(t, m.Reads.Statements)
}

func TestSettingsAreComparedWithWhatTheyWere(t *testing.T) {
	t.Parallel()
	before, after := settings{}, settings{}
	before.put("cluster", map[string]any{"enable": "all", "exclude": map[string]any{"_name": "a"}, "gone": 1})
	after.put("cluster", map[string]any{"enable": "primaries", "exclude": map[string]any{"_name": "a", "_id": "b"}})
	assert.Empty(t, before.differences(before))
	assert.Equal(t, []string{
		`cluster.enable is "primaries" and was "all"`, `cluster.exclude._id is "b" and was not set`, `cluster.gone is not set and was "1"`,
	}, after.differences(before))
}
