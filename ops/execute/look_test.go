package execute_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// succession is a database that answers one query after the other, and pods that are
// deleted.
type succession struct {
	*leaving
	answers   [][][]string
	asked     []string
	restarted []string
}

func (s *succession) Login(context.Context, string, string, string) (execute.Session, error) {
	return successionSession{s}, nil
}

func (s *succession) RestartPod(_ context.Context, name, _ string, _ bool) error {
	s.restarted = append(s.restarted, name)
	return nil
}

type successionSession struct{ s *succession }

func (s successionSession) Close() {}

func (s successionSession) Exec(_ context.Context, statement string, _ ...any) (int64, error) {
	s.s.told = append(s.s.told, statement)
	return 1, nil
}

func (s successionSession) Strings(_ context.Context, query string, _ ...any) ([][]string, error) {
	if q := gates.Asked(query); q != nil {
		return q.None(), nil
	}
	s.s.asked = append(s.s.asked, query)
	rows := s.s.answers[0]
	s.s.answers = s.s.answers[1:]
	return rows, nil
}

func answers(t *testing.T, action model.Action, rows ...[][]string) (*succession, model.Result, error) {
	s := &succession{leaving: &leaving{script: newScript()}, answers: rows}
	r, err := execute.Run(t.Context(), action, execute.Tools{Objects: s, Secrets: s.script, Database: s, Crash: s.script})
	return s, r, err
}

func TestTheNodesAreLookedForLastBeforeAPodGoes(t *testing.T) {
	restart := model.Action{Kind: model.ActionRestartPod, Pod: "p", PodUID: "u", SystemSecret: "system", Allocation: "primaries", Members: "n1,n2", Green: true}
	s, _, err := answers(t, restart, value("primaries"), nil, value("n1"))
	require.ErrorContains(t, err, "node n2 is not there any more", "while they were asked for their health one has left")
	assert.Contains(t, s.asked[2], "sys.nodes")
	assert.Empty(t, s.restarted)
}

func TestAPodThatTheQuorumMayWaitForIsNotRecreated(t *testing.T) {
	cure := model.Action{Kind: model.ActionReplaceStuckPod, Pod: "p", PodUID: "u", SystemSecret: "system", Ask: "q", NodeNames: "n1", Led: true}
	for _, c := range []struct {
		name, master string
		words        string
	}{
		{"there is a master, and the node has not joined", "id", ""},
		{"there is none any more", "", "there is no master any more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _, err := answers(t, cure, value(c.master), value("n2"))
			if c.words != "" {
				require.ErrorContains(t, err, c.words)
				assert.Empty(t, s.restarted)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, []string{"p"}, s.restarted)
		})
	}
	cure.Led = false
	s, _, err := answers(t, cure, value("n2"))
	require.NoError(t, err, "decided while there was none")
	assert.Equal(t, []string{"p"}, s.restarted)
}

func TestNoPodGoesWhereAQuestionFindsSomethingByNow(t *testing.T) {
	restart := asking(model.Action{Kind: model.ActionRestartPod, PodUID: "u", Allocation: "primaries", Green: true})
	zone := asking(model.Action{Kind: model.ActionRestartZone, Pods: "a-0/u0,a-1/u1", Allocation: "primaries", Green: true})
	repair, yellow := restart, restart
	repair.Repair, yellow.Green = true, false
	for _, rule := range gates.Questions {
		q := rule.Asks
		for _, c := range []struct {
			name string
			rows [][]string
			says string
		}{
			{"nothing", q.None(), ""},
			{"something", q.Some(), q.What},
		} {
			for _, a := range []model.Action{restart, zone, repair, yellow} {
				s := newScript("system/real")
				s.replies = map[string][][][]string{"['enable']": {value("primaries")}, strings.TrimPrefix(q.SQL, "SELECT "): {c.rows}}
				n := &noted{}
				_, err := execute.Run(t.Context(), a, execute.Tools{Objects: n, Secrets: s, Database: s, Crash: s})
				if c.says == "" {
					require.NoError(t, err, rule.Name)
					continue
				}
				if a == repair {
					require.NoError(t, err, "a repair")
					continue
				}
				require.ErrorContains(t, err, c.says, "%s: %s", rule.Name, c.name)
				assert.Empty(t, n.done)
			}
		}
	}
}
