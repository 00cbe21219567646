package reports

import (
	"fmt"
	"strings"
)

// slack is an incoming webhook of Slack.
var slack = chat(format{
	name: "slack", title: "Slack", variables: []string{"SLACK_WEBHOOK"},
	says: `The URL is that of an [incoming webhook](https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks),
https://hooks.slack.com/services/…. Slack drops no message that comes twice: after a kill or a lost answer one may appear again.`,
}, func(m chatMessage) any {
	sign := map[sign]string{begun: ":hourglass_flowing_sand:", succeeded: ":white_check_mark:", failed: ":x:", warned: ":warning:"}[m.sign]
	return map[string]string{"text": fmt.Sprintf("%s *%s* %s: %s", sign, slackEscapes.Replace(m.cluster), m.subject, slackEscapes.Replace(m.text))}
})

// slackEscapes are the three characters that mean something to Slack; with them escaped no
// text can mention people or be another link than it looks.
var slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
