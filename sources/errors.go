package sources

import "errors"

// Reason says what kind of failure a look met. It is for metrics and tests;
// people read the error's text.
type Reason string

// The reasons of an Error.
const (
	AuthenticationRefused Reason = "authentication-refused"
	CredentialsUnreadable Reason = "credentials-unreadable"
	HostUnreachable       Reason = "host-unreachable"
	CertificateUnknown    Reason = "certificate-unknown"
	HostKeyUnknown        Reason = "host-key-unknown"
	HostKeyChanged        Reason = "host-key-changed"
	RepositoryNotFound    Reason = "repository-not-found"
	ReferenceNotFound     Reason = "reference-not-found"
	PathNotFound          Reason = "path-not-found"
	HistoryRewritten      Reason = "history-rewritten"
	RefDeleted            Reason = "ref-deleted"
	TooLarge              Reason = "too-large"
	TimedOut              Reason = "timed-out"
	Incomplete            Reason = "incomplete"
	Unsettled             Reason = "unsettled"
	Unreadable            Reason = "unreadable"
	NotSupported          Reason = "not-supported"
	Other                 Reason = "other"
)

// Error is a failed look: what was being done, what went wrong, and what to do
// about it. It never holds a secret.
type Error struct {
	Reason Reason
	Doing  string // "listing the references of https://…"
	Err    error  // what went wrong; not nil
	Advice string // what to do about it; may be empty
	// Commit that was found and is not followed, as a Snapshot's Revision names
	// one; "" when it is not about a commit.
	Commit string
}

// Error puts the advice last, so that a line that is cut still says what failed.
func (e *Error) Error() string {
	text := e.Doing + ": " + e.Err.Error()
	if e.Advice != "" {
		text += "; " + e.Advice
	}
	return text
}

// Unwrap gives what went wrong.
func (e *Error) Unwrap() error { return e.Err }

// ReasonOf is the Reason of err, Other for an error without one, and "" for nil.
func ReasonOf(err error) Reason {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return Other
}
