package execute_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// noted is a Kubernetes that notes what is written to it.
type noted struct {
	done  []string
	fails error
}

func (n *noted) note(words ...any) error {
	n.done = append(n.done, strings.TrimSpace(fmt.Sprintln(words...)))
	return n.fails
}

func (n *noted) CreateSecret(_ context.Context, name string, _ map[string][]byte) error {
	return n.note("create secret", name)
}
func (n *noted) LabelSecret(_ context.Context, name, label, value string) error {
	return n.note("label secret", name, label, value)
}
func (n *noted) AnnotateClaim(_ context.Context, name string, _ map[string]string) error {
	return n.note("annotate", name)
}
func (n *noted) SetBudget(_ context.Context, name string, value int) error {
	return n.note("budget", name, value)
}
func (n *noted) DeletePod(_ context.Context, name, uid string) error {
	return n.note("delete pod", name, uid)
}
func (n *noted) RestartPod(_ context.Context, name, uid string, ready bool) error {
	return n.note("restart pod", name, uid, "ready", ready)
}
func (n *noted) ShrinkSet(_ context.Context, set, uid, version string, from, to int) error {
	return n.note("shrink", set, uid, version, from, to)
}
func (n *noted) DeleteSet(_ context.Context, name, uid, version string) error {
	return n.note("delete set", name, uid, version)
}
func (n *noted) GrowClaim(context.Context, string, string, model.ClaimChange) error { return nil }
func (n *noted) ResizePod(context.Context, string, string, model.Resources) error   { return nil }
func (n *noted) OrphanSet(context.Context, string, string, string, int, []string, string, int) error {
	return nil
}
func (n *noted) ForgetOwned(_ context.Context, set, uid string) error {
	return n.note("forget hold", set, uid)
}
func (n *noted) DeleteObject(_ context.Context, object model.ObjectRef, uid, version string) error {
	return n.note("delete", object.Name, uid, version)
}

// wrote are the statements that change something.
func (s *script) wrote() (all []string) {
	for _, told := range s.told {
		if !strings.HasPrefix(told, "SELECT") && !strings.HasPrefix(told, "login") && !strings.HasPrefix(told, "crash: SELECT") {
			all = append(all, told)
		}
	}
	return all
}

type (
	rows    = [][]string
	replies = map[string][]rows // by what a query holds
)

func value(v string) rows { return rows{{v}} }

// excludes is the list of the node ids, and the object with all keys of the exclusions.
func excludes(ids string) rows { return rows{{ids, `{"_id":"` + ids + `","_name":null}`}} }

// besides is a list beside which others exclude a node by its name.
func besides(ids, name string) rows {
	return rows{{ids, `{"_id":"` + ids + `","_name":"` + name + `"}`}}
}

const (
	setEnable  = `SET GLOBAL PERSISTENT "cluster.routing.allocation.enable" = `
	setExclude = `SET GLOBAL PERSISTENT "cluster.routing.allocation.exclude._id" = `
	alterTable = `ALTER TABLE "doc"."t" `
)

// asking is an action that is done on pod p, as `system`.
func asking(a model.Action) model.Action {
	a.Pod, a.SystemSecret = "p", "system"
	return a
}

// What was decided on is looked at once more right before it is written, and read
// back where something can hide it. What has changed since is an error, and is
// decided again from a new reading.
func TestWhatHasChangedSinceTheDecisionIsFoundRightBeforeTheWrite(t *testing.T) {
	hold := asking(model.Action{Kind: model.ActionLockAllocation, Allocation: "primaries", Before: "all"})
	release := asking(model.Action{Kind: model.ActionUnlockAllocation, Allocation: "primaries", Before: "all"})
	restart := asking(model.Action{Kind: model.ActionRestartPod, PodUID: "u", Allocation: "primaries", Members: "crate-0,crate-1,crate-2", Green: true})
	seen := restart
	seen.Whole = model.WholeHealth{Asked: true, Lacks: 2}
	zone := asking(model.Action{Kind: model.ActionRestartZone, Pods: "a-0/u0,a-1/u1", Allocation: "primaries", Members: "crate-0,crate-1,crate-2"})
	torn := zone
	torn.Pods = "a-0/u0,a-1"
	exclude := asking(model.Action{Kind: model.ActionExcludeNodes, NodeIDs: "n3"})
	include := asking(model.Action{Kind: model.ActionIncludeNodes, NodeIDs: "n3"})
	table := asking(model.Action{Kind: model.ActionExcludeInTable, Table: "doc.t", NodeIDs: "n3"})
	back := table
	back.Kind = model.ActionIncludeInTable
	unnamed := table
	unnamed.Table = "t"
	shrink := asking(model.Action{Kind: model.ActionShrinkSet, Set: "s", SetUID: "u", SetVersion: "7", From: 3, To: 2, NodeIDs: "n3", NodeNames: "n3", Members: "n1,n2,n3"})
	nobody := shrink
	nobody.NodeIDs, nobody.NodeNames = "", ""
	two := shrink
	two.To = 1
	set := asking(model.Action{Kind: model.ActionSetSettings, Settings: one("stats.jobs_log_size", "20"), Expected: one("stats.jobs_log_size", "10")})
	so := asking(model.Action{Kind: model.ActionSetSettings, Settings: one("stats.jobs_log_size", "20"), Expected: one("stats.jobs_log_size", "20")})
	reset := asking(model.Action{Kind: model.ActionResetSettings, Settings: one("stats.jobs_log_size", "20")})
	again := reset
	again.Expected = one("stats.jobs_log_size", "10000")
	unknown := asking(model.Action{Kind: model.ActionResetSettings, Settings: one("cluster.name", "mine")})
	acknowledge := asking(model.Action{Kind: model.ActionAcknowledgeNodeChecks})

	const enabled, excluded, jobsLog = "['enable']", "['exclude']['_id'], settings", "['jobs_log_size']"
	for _, c := range []struct {
		name    string
		action  model.Action
		replies map[string][]rows
		words   string // of the error; "" for none
		code    model.ResultCode
		wrote   []string
		done    []string
	}{
		{"the allocation lock is set and read back", hold, replies{enabled: {value("all"), value("primaries")}}, "", 0, []string{setEnable + "'primaries'"}, nil},
		{"the allocation lock stands already", hold, replies{enabled: {value("primaries")}}, "", 0, nil, nil},
		{"somebody has set another value", hold, replies{enabled: {value("none")}}, "somebody has changed it", 0, nil, nil},
		{"a transient value hides the allocation lock", hold, replies{enabled: {value("all")}}, "", model.ResultHidden, []string{setEnable + "'primaries'", setEnable + "'all'"}, nil},
		{"somebody has set another right after the allocation lock", hold, replies{enabled: {value("all"), value("new_primaries")}}, "somebody has changed it", 0, []string{setEnable + "'primaries'"}, nil},
		{"no value before the allocation lock", hold, replies{enabled: {rows{}}}, "not one value", 0, nil, nil},
		{"an empty value before the allocation lock", hold, replies{enabled: {value("")}}, "not one value", 0, nil, nil},

		{"what was held is given back", release, replies{enabled: {value("primaries"), value("all")}}, "", 0, []string{setEnable + "'all'"}, nil},
		{"what a transient value may hide is given back too", release, replies{enabled: {value("all")}}, "", 0, []string{setEnable + "'all'"}, nil},
		{"somebody's value is not given back", release, replies{enabled: {value("none")}}, "somebody else has set", 0, nil, nil},
		{"a transient value stands after it was given back", release, replies{enabled: {value("primaries")}}, "by a transient value", 0, []string{setEnable + "'all'"}, nil},

		{"a pod goes when all is as it was", restart, replies{enabled: {value("primaries")}, "sys.nodes": {nodes(3)}, "sys.health": {nil}}, "", 0, nil, []string{"restart pod p u ready true"}},
		{"the allocation lock was taken off", restart, replies{enabled: {value("all")}}, "'all' and not 'primaries' any more", 0, nil, nil},
		{"a node has left", restart, replies{enabled: {value("primaries")}, "sys.nodes": {nodes(2)}}, "node crate-2 is not there", 0, nil, nil},
		{"a node has left, and another has come", restart, replies{enabled: {value("primaries")}, "sys.nodes": {append(nodes(2), nodes(4)[3])}}, "node crate-2 is not there", 0, nil, nil},
		{"a node is listed and does not answer", restart, replies{enabled: {value("primaries")}, "sys.nodes": {append(nodes(2), []string{"crate-2", ""})}}, "node crate-2 does not answer the other nodes", 0, nil, nil},
		{"another has come", restart, replies{enabled: {value("primaries")}, "sys.nodes": {nodes(4)}}, "", 0, nil, []string{"restart pod p u ready true"}},
		{"a table is not green any more", restart, replies{enabled: {value("primaries")}, "sys.nodes": {nodes(3)}, "sys.health": {rows{{"doc", "t"}}}}, "1 table(s) are not green", 0, nil, nil},
		{"a hidden table is not green any more", seen, replies{enabled: {value("primaries")}, "sys.nodes": {nodes(3)}, "sys.cluster_health": {rows{{"YELLOW", "0", "3"}}}}, "3 lack copies", 0, nil, nil},
		{"the yellow that it was decided with", seen, replies{enabled: {value("primaries")}, "sys.nodes": {nodes(3)}, "sys.cluster_health": {rows{{"YELLOW", "0", "2"}}}}, "", 0, nil, []string{"restart pod p u ready true"}},
		{"the pods of a zone go", zone, replies{enabled: {value("primaries")}, "sys.nodes": {nodes(3)}}, "", 0, nil, []string{"restart pod a-0 u0 ready true", "restart pod a-1 u1 ready true"}},
		{"the allocation lock of a zone was taken off", zone, replies{enabled: {value("all")}}, "not 'primaries' any more", 0, nil, nil},
		{"a pod of a zone without its UID", torn, replies{enabled: {value("primaries")}, "sys.nodes": {nodes(3)}}, "is no pod and its UID", 0, nil, []string{"restart pod a-0 u0 ready true"}},

		{"a node is excluded beside another's", exclude, replies{excluded: {excludes("n9"), excludes("n9,n3")}}, "", 0, []string{setExclude + "'n9,n3'"}, nil},
		{"it is excluded already", exclude, replies{excluded: {excludes("n9,n3")}}, "", 0, nil, nil},
		{"a transient value hides the exclusion", exclude, replies{excluded: {excludes("n9")}}, "", model.ResultHidden, []string{setExclude + "'n9,n3'", setExclude + "'n9'"}, nil},
		{"somebody has set another list right after the exclusion", exclude, replies{excluded: {excludes("n9"), excludes("n8")}}, "somebody has changed it", 0, []string{setExclude + "'n9,n3'"}, nil},
		{"no value of the exclusions", exclude, replies{excluded: {rows{}}}, "not one list", 0, nil, nil},
		{"somebody excludes a node by its name by now", exclude, replies{excluded: {besides("n9", "crate-7")}}, "_name=crate-7", 0, nil, nil},
		{"somebody excludes a node by its name while ours is taken off", include, replies{excluded: {besides("n9,n3", "crate-7")}}, "_name=crate-7", 0, nil, nil},
		{"an exclusion is given back", include, replies{excluded: {excludes("n9,n3"), excludes("n9")}}, "", 0, []string{setExclude + "'n9'"}, nil},
		{"a transient value still excludes it", include, replies{excluded: {excludes("n9,n3")}}, "node n3 is still excluded", 0, []string{setExclude + "'n9'"}, nil},
		{"a table is excluded from", table, replies{"information_schema.tables": {rows{{"n9", `{"include":{"zone":""}}`}}}}, "", 0, []string{alterTable + `SET ("routing.allocation.exclude._id" = 'n9,n3')`}, nil},
		{"a table that requires something by now", table, replies{"information_schema.tables": {rows{{"n9", `{"require":{"zone":"a"}}`}}}}, "decides alone", 0, nil, nil},
		{"a table that includes only some by now", table, replies{"information_schema.tables": {rows{{"n9", `{"include":{"_name":"n9"}}`}}}}, "decides alone", 0, nil, nil},
		{"ours is taken off a table that requires something by now", back, replies{"information_schema.tables": {rows{{"n9,n3", `{"require":{"zone":"a"}}`}}}}, "", 0, []string{alterTable + `SET ("routing.allocation.exclude._id" = 'n9')`}, nil},
		{"a table that is gone", table, replies{"information_schema.tables": {nil}}, "", 0, nil, nil},
		{"a table without its schema", unnamed, nil, "no schema and table", 0, nil, nil},

		{"nobody is known of those that are to leave", nobody, nil, "0 node(s) are known of 1", 0, nil, nil},
		{"more are to leave than are known", two, nil, "1 node(s) are known of 2", 0, nil, nil},

		{"a setting is set and read back", set, replies{jobsLog: {value("10"), value("20")}}, "", 0, []string{`SET GLOBAL PERSISTENT "stats.jobs_log_size" = '20'`}, nil},
		{"a transient value hides the setting", set, replies{jobsLog: {value("10")}}, "", model.ResultHidden, []string{`SET GLOBAL PERSISTENT "stats.jobs_log_size" = '20'`}, nil},
		{"this node was started with it, another was not", set, replies{jobsLog: {value("20")}}, "", 0, []string{`SET GLOBAL PERSISTENT "stats.jobs_log_size" = '20'`}, nil},
		{"a setting is so already", so, replies{jobsLog: {value("20")}}, "", 0, nil, nil},
		{"somebody has changed the setting", set, replies{jobsLog: {value("30")}}, "somebody has changed it", 0, nil, nil},
		{"no value of the setting", set, replies{jobsLog: {rows{}}}, "not one value", 0, nil, nil},
		{"our setting is taken off", reset, replies{jobsLog: {value("20")}}, "", 0, []string{`RESET GLOBAL "stats.jobs_log_size"`}, nil},
		{"another's is not, and it may hide ours", reset, replies{jobsLog: {value("30")}}, "", model.ResultHidden, nil, nil},
		{"our setting is off already: the answer was lost", again, replies{jobsLog: {value("10000")}}, "", 0, nil, nil},
		{"another's is not, though it was known what was before", again, replies{jobsLog: {value("30")}}, "", model.ResultHidden, nil, nil},
		{"what is never set live is not taken off", unknown, nil, "not among the settings", 0, nil, nil},

		{"checks are acknowledged", acknowledge, replies{"sys.node_checks": {nil}}, "", 0, []string{"UPDATE sys.node_checks SET acknowledged = TRUE WHERE id = 1"}, nil},
		{"a check that stays open", acknowledge, replies{"sys.node_checks": {rows{{"n1"}}}}, "still open on 1 node(s)", 0, []string{"UPDATE sys.node_checks SET acknowledged = TRUE WHERE id = 1"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, objects := newScript("system/real"), &noted{}
			s.replies = c.replies
			tools := s.tools()
			tools.Objects = objects
			r, err := execute.Run(t.Context(), c.action, tools)
			if c.words != "" {
				require.ErrorContains(t, err, c.words)
			} else {
				require.NoError(t, err)
			}
			assert.Equal(t, c.code, r.Code)
			assert.Equal(t, c.wrote, s.wrote())
			assert.Equal(t, c.done, objects.done)
		})
	}
}

func one(name, value string) model.SettingList {
	return manifest.NewSettingList([]model.Setting{{Name: name, Value: value}})
}

func nodes(n int) (all rows) {
	for i := range n {
		all = append(all, []string{fmt.Sprintf("crate-%d", i), "6.4.3"})
	}
	return all
}

// A pod that is recreated because its node seems away may have come back since:
// another node is asked, or itself where there is no other.
func TestAPodIsRecreatedOnlyWhileItsNodeIsAway(t *testing.T) {
	cure := model.Action{Kind: model.ActionReplaceStuckPod, Pod: "p", PodUID: "u", SystemSecret: "system", NodeNames: "crate-2"}
	other, itself := cure, cure
	other.Ask, itself.Ask = "q", "p"
	recoverIt := model.Action{Kind: model.ActionRecoverPod, Pod: "p", PodUID: "u", User: "system"}
	unready := recoverIt
	unready.Unready = true
	for _, c := range []struct {
		name    string
		action  model.Action
		logins  []string
		secret  string
		replies map[string][]rows
		crash   string
		words   string
		done    []string
	}{
		{"nobody is to be asked", cure, nil, "real", nil, "", "", []string{"restart pod p u ready false"}},
		{"another node does not know it", other, []string{"system/real"}, "real", replies{"sys.nodes": {nodes(2)}}, "", "", []string{"restart pod p u ready false"}},
		{"another node knows it by now", other, []string{"system/real"}, "real", replies{"sys.nodes": {nodes(3)}}, "", "node crate-2 has joined meanwhile", nil},
		{"the other node does not answer any more", other, nil, "real", nil, "", "logging in as system", nil},
		{"it is silent", itself, nil, "real", nil, "fails", "", []string{"restart pod p u ready false"}},
		{"whether it is silent nobody can say: no command runs in its pod", itself, nil, "real", nil, "cut", "stays until it can be asked", nil},
		{"it answers by now", itself, []string{"system/real"}, "real", nil, "", "answers by now", nil},
		{"its gateway has not recovered, and it has a master by now", itself, nil, "real", nil, `[{"master_node": "id-1"}]`, "has a master by now", nil},
		{"it answers, and has no master", itself, nil, "real", nil, `[{"master_node": null}]`, "", []string{"restart pod p u ready false"}},
		{"it cannot be asked without a password", itself, nil, "", nil, "", "is empty", nil},
		{"it waits for more nodes than there are", recoverIt, nil, "real", nil, `[{"name": "crate"}]`, "", []string{"restart pod p u ready true"}},
		{"the same, in a pod that is not ready", unready, nil, "real", nil, `[{"name": "crate"}]`, "", []string{"restart pod p u ready false"}},
		{"it has recovered by now", recoverIt, nil, "real", nil, `[{"name": "crate"}, {"name": "system"}]`, "is not one that waits", nil},
		{"its answer is none", recoverIt, nil, "real", nil, "", "is not one that waits", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, objects := newScript(c.logins...), &noted{}
			s.secrets["system"], s.replies, s.answers = c.secret, c.replies, map[string]string{"SELECT name FROM sys.users": c.crash, "SELECT master_node FROM sys.cluster": c.crash}
			for words, err := range map[string]error{"fails": fmt.Errorf("exit code 1: %w", execute.ErrCrashFailed), "cut": errors.New("exec: connection refused")} {
				if c.crash == words {
					s.fails["crash: SELECT master_node"] = err
				}
			}
			tools := s.tools()
			tools.Objects = objects
			_, err := execute.Run(t.Context(), c.action, tools)
			if c.words != "" {
				require.ErrorContains(t, err, c.words)
			} else {
				require.NoError(t, err)
			}
			assert.Equal(t, c.done, objects.done)
		})
	}
}

func TestEachWriteToKubernetesHasTheObjectThatWasDecidedOn(t *testing.T) {
	set := model.Action{Set: "s", SetUID: "u", SetVersion: "7", From: 3, Value: 2}
	gone := fmt.Errorf("StatefulSet s: %w", execute.ErrNotFound)
	for _, c := range []struct {
		kind  model.ActionKind
		with  model.Action
		done  string
		again bool // what is gone already is done
	}{
		{model.ActionSetBudget, model.Action{Budget: "b", Value: 0}, "budget b 0", false},
		{model.ActionForgetOwned, set, "forget hold s u", true},
		{model.ActionSuspendSet, set, "shrink s u 7 3 2", false},
		{model.ActionStopSet, set, "shrink s u 7 3 0", true},
		{model.ActionDeleteSet, set, "delete set s u 7", true},
		{model.ActionDeleteObject, model.Action{Object: model.ObjectRef{Name: "o"}, SetUID: "u", SetVersion: "7"}, "delete o u 7", false},
		{model.ActionRecreatePod, model.Action{Pod: "p", PodUID: "u"}, "delete pod p u", true},
		{model.ActionLabelSecret, model.Action{Secret: model.SecretKey{Name: "ada"}}, "label secret ada operator.cloud.crate.io/user-password true", false},
		{model.ActionAnnotateClaim, model.Action{Claim: "c"}, "annotate c", false},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			objects := &noted{}
			c.with.Kind = c.kind
			_, err := execute.Run(t.Context(), c.with, execute.Tools{Objects: objects})
			require.NoError(t, err)
			assert.Equal(t, []string{c.done}, objects.done)
			objects.fails = gone
			_, err = execute.Run(t.Context(), c.with, execute.Tools{Objects: objects})
			assert.Equal(t, c.again, err == nil, "%v", err)
		})
	}
}

func (n *noted) DeletedClaims(context.Context) ([]model.Claim, error) { return nil, nil }

func (n *noted) DeleteClaim(context.Context, string, string) error { return nil }
