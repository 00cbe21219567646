package reports

// teams is a workflow of Microsoft Teams that posts an Adaptive Card.
var teams = chat(format{
	name: "teams", title: "Microsoft Teams", variables: []string{"TEAMS_WEBHOOK"},
	says: `The URL is that of a [workflow](https://learn.microsoft.com/connectors/teams/#microsoft-teams-webhook) that posts what it gets to
a channel ("When a Teams webhook request is received"). Each message is an Adaptive Card. Teams answers before it has posted the
message: stevedore cannot know whether it appears.`,
}, func(m chatMessage) any {
	type object = map[string]any
	color := map[sign]string{begun: "accent", succeeded: "good", failed: "attention", warned: "warning"}[m.sign]
	run := func(text, color string, bold bool) object {
		weight := "default"
		if bold {
			weight = "bolder"
		}
		return object{"type": "TextRun", "text": text, "color": color, "weight": weight}
	}
	// The runs of a RichTextBlock are no Markdown: no text can be a link, or mention people.
	card := object{
		"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4",
		"msteams": object{"width": "Full"},
		"body": []object{
			{"type": "RichTextBlock", "inlines": []object{run(m.cluster+" "+m.subject, color, true)}},
			{"type": "RichTextBlock", "inlines": []object{run(m.text, "default", false)}},
		},
	}
	return object{"type": "message", "attachments": []object{{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}}}
})
