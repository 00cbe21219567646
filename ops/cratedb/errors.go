package cratedb

import (
	"cmp"
	"crypto/tls"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"stevedore.dev/stevedore/internal/redact"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/gates"
)

// SQLSTATEs that CrateDB sets; most of its errors are XX000 and are known by
// their words only.
const (
	stateAuthorization = "28000"
	stateUndefined     = "42704" // an unknown user, from 5.10 on
)

// failure is an error of CrateDB with what is known of its meaning. Its text
// holds no secret (said).
type failure struct {
	text string
	kind error // one of execute's errors; nil when it has no meaning of its own
	err  error // the cause, for errors.Is with context's errors; never printed
}

func (f *failure) Error() string { return f.text }

func (f *failure) Unwrap() []error {
	var out []error
	if f.kind != nil {
		out = append(out, f.kind)
	}
	if f.err != nil {
		out = append(out, f.err)
	}
	return out
}

// classified gives an error of pgx its meaning and takes secrets out of its
// text.
func classified(err error, secrets ...string) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		f := &failure{text: said(cmp.Or(pg.Message, wordless), secrets...), kind: kindOf(pg.Code, pg.Message)}
		if !timedOut(pg.Message) {
			f.err = execute.ErrRejected
		}
		return f
	}
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return &failure{text: redact.Values(gates.Untrusted+": "+certificate.Err.Error()+": no password was sent", secrets...), err: err}
	}
	return &failure{text: redact.Text(redact.Values(err.Error(), secrets...)), err: err}
}

// said are words of CrateDB as they may be told: it quotes what it cannot parse, and passes on what an object store has
// answered, and where.
func said(words string, secrets ...string) string {
	return onOneLine(redact.Text(redact.Values(words, secrets...)))
}

// onOneLine is what CrateDB says without line breaks. What it passes on of an object store has many, and
// ends with where the client was in memory (run on 6.4.3).
func onOneLine(message string) string {
	if !strings.Contains(message, "\n") {
		return message
	}
	message, _, _ = strings.Cut(message, "\n\nBacktrace:")
	return strings.Join(strings.Fields(message), " ")
}

// wordless stands for an error without a message: CrateDB sends one for what a node
// needs its master for (run on 6.4.3).
const wordless = "CrateDB says that it failed, and not why, as a node without a master does"

// kindOf knows CrateDB's words from 4.4 to 6.4; code is "" for the command
// line, which shows none.
func kindOf(code, message string) error {
	user := strings.Contains(message, "User ") || strings.Contains(message, "Role ") ||
		strings.Contains(message, "user ") || strings.Contains(message, "role ")
	switch {
	case strings.Contains(message, "Schema 'sys' unknown"), strings.Contains(message, "Missing 'DQL' privilege"):
		return errBlind
	case timedOut(message):
		return errSlow
	case strings.Contains(message, "STATE_NOT_RECOVERED"):
		return execute.ErrNotRecovered
	case user && strings.Contains(message, "already exists"):
		// "Role 'x' already exists"; up to 5.5 "User 'x' already exists".
		return execute.ErrUserExists
	case user && (code == stateUndefined || strings.Contains(message, "does not exist")):
		return execute.ErrUserUnknown
	case strings.Contains(message, "snapshot with the same name"):
		// "… already exists", "… is already in-progress" (SnapshotsService).
		return execute.ErrSnapshotExists
	case strings.Contains(message, "License is violated"):
		return execute.ErrLicence
	case code == stateAuthorization && !strings.Contains(message, "disconnected"):
		// A node that is leaving says "disconnected" with the same code.
		return execute.ErrLoginRefused
	}
	return nil
}

// literals are the quoted texts of a statement, without their quotes.
func literals(statement string) []string {
	var out []string
	for {
		_, rest, ok := strings.Cut(statement, "'")
		if !ok {
			return out
		}
		var b strings.Builder
		i := 0
		for i < len(rest) {
			if rest[i] == '\'' {
				if i+1 < len(rest) && rest[i+1] == '\'' {
					i++
				} else {
					break
				}
			}
			b.WriteByte(rest[i])
			i++
		}
		out = append(out, b.String())
		if i >= len(rest) {
			return out
		}
		statement = rest[i+1:]
	}
}
