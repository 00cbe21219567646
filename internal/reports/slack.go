package reports

import (
	"encoding/json"
	"fmt"
	"strings"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// slack is an incoming webhook of Slack: a message in its channel for each report that the
// webhook gets, and for each warning. The token is in the address, so it needs nothing else.
// https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
var slack = &format{
	name: "slack", variables: []string{"SLACK_WEBHOOK"},
	report: slackReport,
	missing: func(cluster record.Cluster, reason string) ([]byte, error) {
		return slackMessage(cluster, ":warning:", "reports are missing", reason)
	},
}

// maxSlackText bounds a message, in bytes; Slack cuts one at 40,000 characters, and nobody
// reads so many.
const maxSlackText = 3000

func slackReport(cluster record.Cluster, report model.Report) ([]byte, error) {
	if report.Event == model.EventNone && !report.Warning {
		return nil, nil
	}
	mark := ":warning:"
	switch {
	case report.Status == model.StatusFailure:
		mark = ":x:"
	case report.Warning:
	case report.Status == model.StatusSuccess:
		mark = ":white_check_mark:"
	case report.Status == model.StatusInProgress:
		mark = ":hourglass_flowing_sand:"
	}
	text := report.Message
	if _, sha, ok := splitCommit(report.Commit); ok {
		text += " (commit " + sha[:10] + ")"
	}
	return slackMessage(cluster, mark, reasonOf(report), text)
}

// slackEscapes are the three characters that mean something to Slack; with them escaped no
// text can mention people or be another link than it looks.
var slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func slackMessage(cluster record.Cluster, mark, subject, text string) ([]byte, error) {
	text = slackEscapes.Replace(cut(text, maxSlackText))
	body, err := json.Marshal(map[string]string{"text": fmt.Sprintf("%s *%s* %s: %s", mark, slackEscapes.Replace(cluster.String()), subject, text)})
	if err != nil {
		return nil, fmt.Errorf("encode a message to Slack: %w", err)
	}
	return body, nil
}
