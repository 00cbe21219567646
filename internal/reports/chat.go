package reports

import (
	"encoding/json"
	"fmt"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// maxChatText bounds a message to people, in bytes: nobody reads more.
const maxChatText = 3000

// chatMessage is what a channel of people is told of a report.
type chatMessage struct {
	sign             sign
	cluster, subject string
	// text is bounded.
	text string
}

// sign says at first sight how it is.
type sign uint8

const (
	warned sign = iota
	begun
	succeeded
	failed
)

// chat is a channel of people: a message for each report that the webhook gets, health left out, and for each warning. The
// token is in its address, so it needs nothing else. body is a message as the channel takes it.
func chat(f format, body func(chatMessage) any) *format {
	encode := func(m chatMessage) ([]byte, error) {
		m.text = cut(m.text, maxChatText)
		out, err := json.Marshal(body(m))
		if err != nil {
			return nil, fmt.Errorf("encode a message to %s: %w", f.title, err)
		}
		return out, nil
	}
	f.report = func(cluster record.Cluster, report model.Report) ([]byte, error) {
		if report.Event == model.EventNone && !report.Warning {
			return nil, nil
		}
		text := report.Message
		if _, sha, ok := splitCommit(report.Commit); ok {
			text += " (commit " + sha[:10] + ")"
		}
		return encode(chatMessage{signOf(report), cluster.String(), reasonOf(report), text})
	}
	f.missing = func(cluster record.Cluster, reason string) ([]byte, error) {
		return encode(chatMessage{warned, cluster.String(), "reports are missing", reason})
	}
	return &f
}

func signOf(report model.Report) sign {
	switch {
	case report.Status == model.StatusFailure:
		return failed
	case report.Warning:
		return warned
	case report.Status == model.StatusSuccess:
		return succeeded
	case report.Status == model.StatusInProgress:
		return begun
	}
	return warned
}
