// Package redact takes secrets out of texts that others have written: a database, an object store behind it, a kubelet, an
// admission webhook, the process in a container.
package redact

import (
	"regexp"
	"slices"
	"strings"
)

// Shortest is the length of the shortest value that Values takes out: a shorter one would take the words apart.
const Shortest = 3

var (
	// assigned is a value that somebody calls a secret.
	assigned = regexp.MustCompile(`(?i)((?:password|passwd|passphrase|secret|token|credentials?|(?:api|access|account|private|secret)[-_]?key(?:[-_]?id)?)["']?\s*[=:]\s*["']?)[^\s"',;)&]+`)
	// inAddress is the user of an address with the password: a COPY has both parts of an S3 key there. A secret may have
	// slashes in it that nobody has escaped.
	inAddress = regexp.MustCompile(`(://)([^/\s:@"']*:[^\s"']*)@`)
	// inQuery is what signs an address, as that of an Azure container.
	inQuery = regexp.MustCompile(`(?i)([?&](?:sig|signature|x-amz-[a-z-]+)=)[^\s"'&]+`)
	// port is where no password is: an image has an @ before its digest.
	port = regexp.MustCompile(`^[^/:]*:\d+/`)
)

// Text is a text without what looks like a secret.
func Text(text string) string {
	text = inAddress.ReplaceAllStringFunc(text, func(found string) string {
		if port.MatchString(strings.TrimPrefix(found, "://")) {
			return found
		}
		return "://***@"
	})
	text = assigned.ReplaceAllString(text, "${1}***")
	return inQuery.ReplaceAllString(text, "${1}***")
}

// Values takes known secrets out of a text.
func Values(text string, secrets ...string) string {
	// A longer one first: a shorter one may be a part of it.
	for _, s := range slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) }) {
		if len(s) < Shortest {
			continue
		}
		text = strings.ReplaceAll(text, s, "***")
		text = strings.ReplaceAll(text, strings.ReplaceAll(s, "'", "''"), "***") // as CrateDB quotes it
	}
	return text
}
