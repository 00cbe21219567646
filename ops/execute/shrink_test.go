package execute_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// leaving is a database of three nodes, of which n3 is to leave, and the sets
// that were made smaller.
type leaving struct {
	*script
	execute.Objects // what it has not itself nobody calls
	excluded        string
	// beside is a name that others exclude; deaf: a transient value hides what is written.
	beside  string
	deaf    bool
	wrote   []string
	nodes   [][]string
	shards  [][]string
	filters [][]string
	whole   [][]string
	denied  [][]string
	lowered []int
	set     []any
	claims  []string
}

func (l *leaving) Login(ctx context.Context, pod, user, password string) (execute.Session, error) {
	if _, err := l.script.Login(ctx, pod, user, password); err != nil {
		return nil, err
	}
	return leavingSession{l}, nil
}

func (l *leaving) ShrinkSet(_ context.Context, name, uid, version string, from, to int) error {
	l.lowered = append(l.lowered, to)
	l.set = []any{name, uid, version, from}
	return nil
}

type leavingSession struct{ l *leaving }

func (s leavingSession) Close() {}

func (s leavingSession) Exec(_ context.Context, statement string, _ ...any) (int64, error) {
	s.l.wrote = append(s.l.wrote, statement)
	if list, ok := strings.CutPrefix(statement, setExclude); ok && !s.l.deaf {
		s.l.excluded = strings.Trim(list, "'")
	}
	return 1, nil
}

func (s leavingSession) Strings(_ context.Context, query string, _ ...any) ([][]string, error) {
	switch {
	case strings.Contains(query, "sys.cluster_health"):
		return s.l.whole, nil
	case strings.Contains(query, "sys.privileges"):
		return s.l.denied, nil
	case strings.Contains(query, "sys.shards"):
		return s.l.shards, nil
	case strings.Contains(query, "sys.nodes"):
		return s.l.nodes, nil
	case strings.Contains(query, "information_schema.tables"):
		return s.l.filters, nil
	case strings.Contains(query, "information_schema.table_partitions"):
		return nil, nil
	}
	return besides(s.l.excluded, s.l.beside), nil
}

func on(node, state string) []string { return []string{"doc", "t", "", "0", state, node, node, ""} }

func TestASetIsLookedAtOnceMoreBeforeItIsMadeSmaller(t *testing.T) {
	for _, c := range []struct {
		name      string
		change    func(*leaving)
		elsewhere bool
		words     string
	}{
		{"empty and excluded", func(*leaving) {}, false, ""},
		{"somebody took the exclusion off", func(l *leaving) { l.excluded = "somebody" }, false, "not all of the nodes"},
		{"others exclude a node that stays by now", func(l *leaving) { l.beside = "n1" }, false, "_name=n1"},
		{"a transient value hides the list that is written", func(l *leaving) { l.deaf = true }, false, "a transient value hides it"},
		{"a shard has come back", func(l *leaving) { l.shards = append(l.shards, on("n3", "STARTED")) }, false, "is on node n3 by now"},
		{"a new partition is made there", func(l *leaving) { l.shards = append(l.shards, on("n3", "INITIALIZING")) }, false, "INITIALIZING by now"},
		{"a copy has lost its node", func(l *leaving) { l.shards = append(l.shards, on("", "UNASSIGNED")) }, false, "UNASSIGNED by now"},
		{"a copy moves", func(l *leaving) { l.shards = append(l.shards, on("n1", "RELOCATING")) }, false, "RELOCATING by now"},
		{"a node is missing", func(l *leaving) { l.nodes = l.nodes[1:] }, false, "node n1 is not there"},
		{"a node is listed and does not answer", func(l *leaving) { l.nodes[0] = []string{"n1", "n1", ""} }, false, "node n1 does not answer the other nodes"},
		{"a node is missing, and another has come", func(l *leaving) { l.nodes[0] = []string{"n8", "n8"} }, false, "node n1 is not there"},
		{"it came back on another volume", func(l *leaving) { l.nodes[2] = []string{"n9", "n3"} }, false, "another one by now"},
		{"a table has got a filter of its own", func(l *leaving) { l.filters = [][]string{{`{"exclude": {"_name": "n1"}, "include": {}}`}} }, false, "1 table(s) have allocation filters of their own and not 0 any more"},
		{"filters that are empty", func(l *leaving) {
			l.filters = [][]string{{`{"exclude": {"_name": ""}, "total_shards_per_node": -1}`}, {""}}
		}, false, ""},
		{"a hidden table has lost a copy", func(l *leaving) { l.whole = [][]string{{"YELLOW", "0", "1"}} }, false, "the cluster is YELLOW by now"},
		{"a hidden table is red", func(l *leaving) { l.whole = [][]string{{"RED", "1", "0"}} }, false, "the cluster is RED by now"},
		{"the health of the cluster is not told", func(l *leaving) { l.whole = nil }, false, "not one row"},
		{"the health of the cluster is not understood", func(l *leaving) { l.whole = [][]string{{"GREEN", "", ""}} }, false, "no number"},
		{"a schema is denied to system", func(l *leaving) { l.denied = [][]string{{"DQL", "SCHEMA", "secret"}} }, false, "DQL on SCHEMA secret is denied"},
		{"a copy that is started elsewhere too, by consent", func(l *leaving) { l.shards = append(l.shards, on("n3", "STARTED")) }, true, ""},
		{"the only copy, by consent", func(l *leaving) { l.shards = [][]string{on("n3", "STARTED")} }, true, "is on node n3 by now"},
	} {
		t.Run(c.name, func(t *testing.T) {
			of := func() (*leaving, execute.Tools) {
				l := &leaving{
					script: newScript("system/real"), excluded: "somebody,n3",
					nodes:  [][]string{{"n1", "n1"}, {"n2", "n2"}, {"n3", "n3"}},
					shards: [][]string{on("n1", "STARTED"), on("n2", "STARTED")},
					whole:  [][]string{{"GREEN", "0", "0"}},
				}
				c.change(l)
				return l, execute.Tools{Objects: l, Secrets: l.script, Database: l}
			}
			a := model.Action{
				Kind: model.ActionShrinkSet, Pod: "p", SystemSecret: "system", Set: "s", SetUID: "u", SetVersion: "7",
				From: 3, To: 2, NodeIDs: "n3", NodeNames: "n3", Members: "n1,n2,n3", Elsewhere: c.elsewhere, Whole: model.WholeHealth{Asked: true},
			}
			l, tools := of()
			l.alike(t, a, tools, c.words)
			l, tools = of()
			_, err := execute.Run(t.Context(), a, tools)
			if c.words != "" {
				require.ErrorContains(t, err, c.words)
				assert.Empty(t, l.lowered)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, []int{2}, l.lowered)
			assert.Equal(t, []string{setExclude + "'somebody,n3,'"}, l.wrote, "ours is changed last of all, and so it is in force")
			assert.Equal(t, []any{"s", "u", "7", 3}, l.set)
		})
	}
}

func (l *leaving) DeletedClaims(context.Context) ([]model.Claim, error) { return nil, nil }

func (l *leaving) DeleteClaim(_ context.Context, name, uid string) error {
	l.claims = append(l.claims, name+"/"+uid)
	return nil
}

// alike: the claims of a node are deleted after the same look that is before nodes leave.
func (l *leaving) alike(t *testing.T, a model.Action, tools execute.Tools, words string) {
	t.Helper()
	a.Kind, a.Claims = model.ActionDeleteClaims, "data0-s-2/u0,debug-s-2/u1"
	_, err := execute.Run(t.Context(), a, tools)
	if words != "" {
		require.ErrorContains(t, err, words)
		assert.Empty(t, l.claims)
		return
	}
	require.NoError(t, err)
	assert.Equal(t, []string{"data0-s-2/u0", "debug-s-2/u1"}, l.claims)
}

// An action that names more than one node is none that a decision makes.
func TestTheClaimsOfOneNodeAreDeleted(t *testing.T) {
	for _, c := range []struct{ name, ids, claims, words string }{
		{"two nodes", "n2,n3", "data0-s-2/u0", "not some of one"},
		{"no node", "", "data0-s-2/u0", "not some of one"},
		{"no claim", "n3", "", "not some of one"},
		{"a claim without a UID", "n3", "data0-s-2", "no claim and its UID"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &leaving{script: newScript("system/real"), excluded: "n3", nodes: [][]string{{"n1", "n1"}, {"n3", "n3"}}, shards: [][]string{on("n1", "STARTED")}, whole: [][]string{{"GREEN", "0", "0"}}}
			_, err := execute.Run(t.Context(), model.Action{
				Kind: model.ActionDeleteClaims, Pod: "p", SystemSecret: "system", NodeIDs: c.ids, NodeNames: c.ids, Members: "n1,n3", Claims: c.claims, Whole: model.WholeHealth{Asked: true},
			}, execute.Tools{Objects: l, Secrets: l.script, Database: l})
			require.ErrorContains(t, err, c.words)
			assert.Empty(t, l.claims)
		})
	}
}
