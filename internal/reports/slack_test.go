package reports_test

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1 "k8s.io/api/core/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/ops/model"
)

// targetsOf are the targets of a daemon with these variables, over an API server that
// outlives it.
func targetsOf(t *testing.T, server *recordtest.ConfigMaps, variables map[string]string) (*reports.Targets, map[string]*counts) {
	t.Helper()
	configs, err := reports.ConfigsFromEnv(func(name string) (string, bool) { value, ok := variables[name]; return value, ok }, os.ReadFile)
	require.NoError(t, err)
	for i := range configs {
		configs[i].Timeout = patience
	}
	receivers, err := reports.NewReceivers(configs, "test")
	require.NoError(t, err)
	measured := map[string]*counts{}
	targets := reports.NewTargets(reports.Options{Store: record.NewStore(server), Retry: quick, Clusters: func() []record.Cluster { return []record.Cluster{orders} }},
		receivers, func(target string) reports.Measure {
			measured[target] = newCounts()
			return measured[target]
		})
	return targets, measured
}

func runTargets(t *testing.T, targets *reports.Targets) {
	t.Helper()
	ctx, cancel := contextOf(t)
	done := make(chan struct{})
	go func() { defer close(done); _ = targets.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
}

// said are the messages that Slack got.
func said(t *testing.T, to *receiver) (texts []string) {
	t.Helper()
	for _, d := range to.all() {
		var message map[string]string
		require.NoError(t, json.Unmarshal([]byte(d.body), &message))
		require.Len(t, message, 1)
		texts = append(texts, message["text"])
	}
	return texts
}

func TestSlackIsToldWhatHappenedAndEachWarning(t *testing.T) {
	commit := "main@sha1:" + strings.Repeat("0123456789", 4)
	for name, situation := range map[string]struct {
		report model.Report
		want   []string
	}{
		"an outcome": {
			model.Report{Event: model.EventFeedback, Status: model.StatusSuccess, Reason: "BootstrapSucceeded", Message: "cluster orders has been made", Commit: commit},
			[]string{":white_check_mark: *prod/orders* BootstrapSucceeded: cluster orders has been made (commit 0123456789)"},
		},
		"a beginning": {
			model.Report{Event: model.EventUpgrade, Status: model.StatusInProgress, Reason: "UpgradeStarted", Message: "6.3.7 to 6.4.3", Commit: "dir@sha256:12"},
			[]string{":hourglass_flowing_sand: *prod/orders* UpgradeStarted: 6.3.7 to 6.4.3"},
		},
		"a refusal, in which nothing mentions people": {
			model.Report{Event: model.EventFeedback, Status: model.StatusFailure, Names: []string{"replicas-do-not-fit"}, Message: "table <!channel> wants 3 copies > 2 nodes & more"},
			[]string{":x: *prod/orders* ReplicasDoNotFit: table &lt;!channel&gt; wants 3 copies &gt; 2 nodes &amp; more"},
		},
		"a warning that no event of the webhook has": {
			model.Report{Status: model.StatusInProgress, Warning: true, Reason: "RestartForecast", Message: "t is away"},
			[]string{":warning: *prod/orders* RestartForecast: t is away"},
		},
		"what is only noted": {model.Report{Status: model.StatusInProgress, Reason: "GrowStarted", Message: "3 to 4"}, nil},
		"a long one":         {model.Report{Event: model.EventFeedback, Message: strings.Repeat("a", 5000)}, []string{":warning: *prod/orders* Reported: " + strings.Repeat("a", 3000-len(" … (cut)")) + " … (cut)"}},
	} {
		t.Run(name, func(t *testing.T) {
			to := newReceiver(t, httptest.NewServer, nil)
			targets, _ := targetsOf(t, recordtest.NewConfigMaps(), map[string]string{"SLACK_WEBHOOK_URL": to.URL + "/services/T0/B0/secret"})
			runTargets(t, targets)
			situation.report.ID = "1"
			require.NoError(t, targets.Enqueue(t.Context(), orders, []model.Report{situation.report}))
			require.NoError(t, targets.Settled(t.Context()))
			assert.Equal(t, situation.want, said(t, to))
		})
	}
}

// Each target has what it has not taken yet, whatever becomes of the others.
func TestATargetThatIsAwayKeepsTheOthersFromNothing(t *testing.T) {
	server := recordtest.NewConfigMaps()
	hook, away := newReceiver(t, httptest.NewServer, nil), newReceiver(t, httptest.NewServer, status(500))
	variables := map[string]string{"WEBHOOK_URL": hook.URL, "SLACK_WEBHOOK_URL": away.URL + "/services/secret"}
	targets, measured := targetsOf(t, server, variables)
	ctx, cancel := contextOf(t)
	done := make(chan struct{})
	go func() { defer close(done); _ = targets.Run(ctx) }()
	require.NoError(t, targets.Enqueue(t.Context(), orders, []model.Report{feedback("a"), feedback("b")}))
	eventually(t, func() bool {
		return len(hook.all()) == 2 && len(pendingIn(t, server, orders)) == 0 && len(away.all()) > 2
	}, "the webhook has both")
	waiting, err := targets.Waiting(t.Context(), orders)
	require.NoError(t, err)
	assert.Equal(t, 2, waiting, "a cluster is not forgotten before they are taken")
	for _, id := range away.ids() {
		assert.Equal(t, "a", id, "in order")
	}
	cancel()
	<-done
	assert.NotZero(t, measured["slack"].of("failed"))
	assert.Equal(t, 2, measured["webhook"].of("delivered"))

	// The next process has them, and the webhook gets nothing twice.
	back := newReceiver(t, httptest.NewServer, nil)
	variables["SLACK_WEBHOOK_URL"] = back.URL
	targets, _ = targetsOf(t, server, variables)
	runTargets(t, targets)
	require.NoError(t, targets.Enqueue(t.Context(), orders, []model.Report{feedback("a"), feedback("b")}))
	eventually(t, func() bool { return len(back.all()) == 2 }, "Slack has both")
	require.NoError(t, targets.Settled(t.Context()))
	assert.Equal(t, []string{"a", "b"}, back.ids())
	assert.Len(t, hook.all(), 2)
}

// The bound is the document's: the largest list gives way, and says so in its own words.
func TestALongListOfOneTargetGivesWayToAnother(t *testing.T) {
	server := recordtest.NewConfigMaps()
	variables := map[string]string{"WEBHOOK_URL": "http://localhost:1/", "SLACK_WEBHOOK_URL": "http://localhost:1/secret"}
	targets, measured := targetsOf(t, server, variables)
	many := feedback("")
	many.Message = strings.Repeat("m", reports.MaxMessage)
	for i := range 45 {
		many.ID = string(rune('a'+i%26)) + strings.Repeat("x", 1+i/26)
		require.NoError(t, targets.Enqueue(t.Context(), orders, []model.Report{many}))
	}
	assert.NotZero(t, measured["webhook"].of("coalesced"))
	assert.NotZero(t, measured["slack"].of("coalesced"))

	type list struct {
		Pending []struct{ Body json.RawMessage }
	}
	var stored struct {
		list
		Others struct{ Slack list }
	}
	object := server.Stored(orders.Namespace, record.Reports.Name(orders.Name))
	require.NoError(t, json.Unmarshal([]byte(object.Data[names.DataKey]), &stored))
	assert.Contains(t, string(stored.Pending[0].Body), `"event":"delay"`)
	assert.Contains(t, string(stored.Others.Slack.Pending[0].Body), ":warning: *prod/orders* reports are missing: ")
}

func TestADamagedQueueIsSaidToEachTarget(t *testing.T) {
	server := recordtest.NewConfigMaps()
	server.Change("prod", "stevedore-orders-reports", func(o *corev1.ConfigMap) { o.Data = map[string]string{"data.json": "{"} })
	hook, to := newReceiver(t, httptest.NewServer, nil), newReceiver(t, httptest.NewServer, nil)
	targets, _ := targetsOf(t, server, map[string]string{"WEBHOOK_URL": hook.URL, "SLACK_WEBHOOK_URL": to.URL})
	runTargets(t, targets)
	eventually(t, func() bool { return len(hook.all()) == 1 && len(to.all()) == 1 }, "each is told once")
	assert.Contains(t, hook.all()[0].body, "was damaged")
	assert.Contains(t, said(t, to)[0], "was damaged")
}
