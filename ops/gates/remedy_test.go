package gates

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
)

// remedy is a clause that tells a person to do something: it begins with a verb of this list, or
// with SQL or a command to run.
var remedy = regexp.MustCompile(`(?:^|[:;.,] |\(|, or |, else |, then | and | or |: or )(?:or |else |then )?` +
	`(?i:set|put|write|add|remove|delete|drop|give|choose|correct|take|keep|free|raise|lower|change|create|make|move|restore|run|consent|release|wait|stop|name|let|ALTER TABLE|RESET GLOBAL|SET GLOBAL|REVOKE|kubectl|` + "`stevedore)" + `\b`)

// A refusal needs a person, and what a person reads in status, plan, log and webhook is the message
// alone: so each message of each refusal says what to do, not only the manual.
func TestEachRefusalNamesItsRemedy(t *testing.T) {
	for _, s := range situations() {
		if s.want && s.rule.Kind == Refuses {
			assert.Regexp(t, remedy, s.got.reason.Message, "%s: %s", s.rule.Name, s.name)
		}
	}
}
