package gates

import (
	"fmt"
	"strings"
)

// ActionFailedRule is the rule action-failed.
var ActionFailedRule = Rule{
	Name:   "action-failed",
	Kind:   Waits,
	Says:   "An action that failed is tried again, from a new observation.",
	Do:     "The message says what failed. It is tried again with longer pauses, at most 15 s apart; when its cause has gone it goes on by itself.",
	Source: "docs/safety.md, invariant E",
}

// ActionFailed says what failed, how often and why.
func ActionFailed(kind, subject, message string, count int) Reason {
	if strings.Contains(message, Untrusted) {
		return CertificateRule.because("%s", message)
	}
	message = strings.TrimPrefix(message, kind+" "+subject+": ") // an error of an action begins with it
	return ActionFailedRule.because("%s %s failed (%s): %s", kind, subject, times(count), message)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
