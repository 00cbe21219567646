package reports_test

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/ops/model"
)

func card(color, subject, text string) string {
	return `{"type": "message", "attachments": [{"contentType": "application/vnd.microsoft.card.adaptive", "content": {
		"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "msteams": {"width": "Full"}, "body": [
		{"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": "prod/orders ` + subject + `", "color": "` + color + `", "weight": "bolder"}]},
		{"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": "` + text + `", "color": "default", "weight": "default"}]}]}}]}`
}

func TestTeamsGetsACardOfWhatSlackIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		report model.Report
		want   string
	}{
		"an outcome":  {model.Report{Event: model.EventFeedback, Status: model.StatusSuccess, Reason: "BootstrapSucceeded", Message: "it has been made", Commit: "main@sha1:0123456789012345678901234567890123456789"}, card("good", "BootstrapSucceeded", "it has been made (commit 0123456789)")},
		"a beginning": {model.Report{Event: model.EventUpgrade, Status: model.StatusInProgress, Reason: "UpgradeStarted", Message: "6.3.7 to 6.4.3"}, card("accent", "UpgradeStarted", "6.3.7 to 6.4.3")},
		"a refusal, whose text is no Markdown and mentions nobody": {
			model.Report{Event: model.EventFeedback, Status: model.StatusFailure, Names: []string{"replicas-do-not-fit"}, Message: "<at>all</at> [x](http://y) **3**"},
			card("attention", "ReplicasDoNotFit", "<at>all</at> [x](http://y) **3**"),
		},
		"a warning":          {model.Report{Status: model.StatusInProgress, Warning: true, Reason: "RestartForecast", Message: "t is away"}, card("warning", "RestartForecast", "t is away")},
		"what is only noted": {model.Report{Status: model.StatusInProgress, Reason: "GrowStarted", Message: "3 to 4"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			to := newReceiver(t, httptest.NewServer, status(202))
			targets, _ := targetsOf(t, recordtest.NewConfigMaps(), map[string]string{"TEAMS_WEBHOOK_URL": to.URL + "/workflows/1/triggers/manual/paths/invoke?sig=secret"})
			runTargets(t, targets)
			c.report.ID = "1"
			require.NoError(t, targets.Enqueue(t.Context(), orders, []model.Report{c.report}))
			require.NoError(t, targets.Settled(t.Context()))
			if c.want == "" {
				assert.Empty(t, to.all())
				return
			}
			require.Len(t, to.all(), 1)
			assert.JSONEq(t, c.want, to.all()[0].body)
		})
	}
}
