package daemon

import (
	"strings"

	"stevedore.dev/stevedore/internal/redact"
	"stevedore.dev/stevedore/ops/model"
)

// redaction takes secrets out of texts that others have written: a kubelet, an admission
// webhook, the process in a container.
type redaction []string

// redactionOf knows the values of all Secrets that the cluster's operations look at.
func redactionOf(live liveView, desired model.Desired) redaction {
	var values redaction
	for _, name := range secretNames(desired) {
		if secret, ok := live.Secret(desired.Namespace, name); ok {
			for _, value := range secret.Data {
				values = append(values, strings.TrimSpace(string(value)))
			}
		}
	}
	return values
}

// repositorySecrets are what an object store is sent: CrateDB passes on what it answers.
func repositorySecrets(live liveView, desired model.Desired) (values []string) {
	if desired.Backups == nil {
		return nil
	}
	for _, s := range desired.Backups.Repository.Secrets {
		if secret, ok := live.Secret(desired.Namespace, s.Ref.Name); ok {
			values = append(values, strings.TrimSpace(string(secret.Data[s.Ref.Key])))
		}
	}
	return values
}

// textMost bounds a text of others, in bytes.
const textMost = 600

// line is a text without secrets, in one line and of a bounded length.
func (r redaction) line(text string) string {
	text = redact.Text(redact.Values(text, r...))
	text = strings.Join(strings.FieldsFunc(text, func(c rune) bool { return c <= ' ' || c == 0x7f }), " ")
	if len(text) > textMost {
		text = strings.ToValidUTF8(text[:textMost], "") + "…"
	}
	return text
}
