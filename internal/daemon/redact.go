package daemon

import (
	"regexp"
	"slices"
	"strings"

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
				// Shorter ones would take the words apart.
				if text := strings.TrimSpace(string(value)); len(text) >= 3 {
					values = append(values, text)
				}
			}
		}
	}
	// A longer one first: a shorter one may be a part of it.
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	return values
}

var (
	// assigned is a value that somebody calls a secret.
	assigned = regexp.MustCompile(`(?i)((?:password|passwd|passphrase|secret|token|credentials?|api[-_]?key)["']?\s*[=:]\s*["']?)[^\s"',;)]+`)
	// inAddress is the password of an address.
	inAddress = regexp.MustCompile(`(://[^/\s:@]*:)[^/\s@]+@`)
)

// textMost bounds a text of others, in bytes.
const textMost = 600

// line is a text without secrets, in one line and of a bounded length.
func (r redaction) line(text string) string {
	for _, value := range r {
		text = strings.ReplaceAll(text, value, "***")
	}
	text = assigned.ReplaceAllString(text, "${1}***")
	text = inAddress.ReplaceAllString(text, "${1}***@")
	text = strings.Join(strings.FieldsFunc(text, func(c rune) bool { return c <= ' ' || c == 0x7f }), " ")
	if len(text) > textMost {
		text = strings.ToValidUTF8(text[:textMost], "") + "…"
	}
	return text
}
