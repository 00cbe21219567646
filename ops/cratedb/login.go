package cratedb

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"stevedore.dev/stevedore/ops/execute"
)

const (
	defaultPort         = 5432
	defaultTimeout      = 10 * time.Second
	defaultWriteTimeout = 35 * time.Second
)

var _ execute.Database = Client{}

func (c Client) timeout() time.Duration {
	if c.Timeout > 0 {
		return c.Timeout
	}
	return defaultTimeout
}

func (c Client) writeTimeout() time.Duration {
	if c.WriteTimeout > 0 {
		return c.WriteTimeout
	}
	return defaultWriteTimeout
}

// Login connects to the CrateDB in a pod. The session is for a few statements
// at once: a kept one may point at a node that is gone.
func (c Client) Login(ctx context.Context, pod, user, password string) (execute.Session, error) {
	return c.connect(ctx, pod, user, password, c.writeTimeout())
}

// connect logs in. CrateDB ends each statement of the session after the deadline, 0: never.
// It does so from 5.4 on; earlier releases ignore the option.
func (c Client) connect(ctx context.Context, pod, user, password string, deadline time.Duration) (*session, error) {
	config, err := c.config(pod, user, password)
	if err != nil {
		return nil, fmt.Errorf("logging in to pod %s as %s: %w", pod, user, err)
	}
	if deadline > 0 {
		// A little earlier than we give up: the session goes on then.
		config.RuntimeParams["options"] = "-c statement_timeout=" + strconv.FormatInt((deadline-deadline/10).Milliseconds(), 10)
	}
	dialling, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	conn, err := pgx.ConnectConfig(dialling, config)
	if err != nil {
		return nil, fmt.Errorf("logging in to pod %s as %s: %w", pod, user, classified(err, append(slices.Clone(c.Secrets), password)...))
	}
	return &session{conn: conn, pod: pod, timeout: c.writeTimeout(), hidden: append(slices.Clone(c.Secrets), password), sent: c.Sent}, nil
}

// errUnsafe keeps passwords off ways that others can listen on.
var errUnsafe = errors.New("a password does not travel beyond the pod network without verified TLS: configure the cluster's CA, or connect by port-forward")

func (c Client) config(pod, user, password string) (*pgx.ConnConfig, error) {
	if c.Dialer == nil {
		return nil, errors.New("no way to the pods is configured")
	}
	if !c.Dialer.Private() && (c.TLS == nil || c.TLS.InsecureSkipVerify) {
		return nil, errUnsafe
	}
	port := c.Port
	if port == 0 {
		port = defaultPort
	}
	// Everything that the environment (PGHOST, PGSSLMODE, a password file) could
	// set is set here.
	config, err := pgx.ParseConfig("host=pod port=" + strconv.Itoa(port) + " user=crate dbname=doc password=none sslmode=disable connect_timeout=0 target_session_attrs=any")
	if err != nil {
		return nil, fmt.Errorf("configuring pgx: %w", err)
	}
	config.Host, config.Port, config.User, config.Password = pod, uint16(port), user, password
	config.TLSConfig, config.Fallbacks = c.tls(), nil
	config.RuntimeParams = map[string]string{"application_name": "stevedore"}
	config.LookupFunc = func(context.Context, string) ([]string, error) { return []string{pod}, nil }
	config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return c.Dialer.DialPod(ctx, pod, port)
	}
	// Statements are prepared nowhere: CrateDB's DDL cannot be, and a session
	// runs each statement once.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.StatementCacheCapacity, config.DescriptionCacheCapacity = 0, 0
	return config, nil
}

func (c Client) tls() *tls.Config {
	if c.TLS == nil {
		return nil
	}
	return c.TLS.Clone()
}

// session is one login.
type session struct {
	conn    *pgx.Conn
	pod     string
	timeout time.Duration
	// hidden are the secrets that no error has.
	hidden []string
	sent   func()
}

func (s *session) counts() {
	if s.sent != nil {
		s.sent()
	}
}

// Exec runs one statement. Arguments are bound; none of them gets into an error.
func (s *session) Exec(ctx context.Context, statement string, arguments ...any) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	s.counts()
	tag, err := s.conn.Exec(ctx, statement, arguments...)
	if err != nil {
		return 0, fmt.Errorf("in pod %s: %w", s.pod, classified(err, s.secrets(arguments)...))
	}
	return tag.RowsAffected(), nil
}

// Strings runs a query and returns its rows as text, NULL as "", objects and
// arrays as JSON. Each row has as many columns as the query selects.
func (s *session) Strings(ctx context.Context, query string, arguments ...any) ([][]string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	s.counts()
	rows, err := s.conn.Query(ctx, query, arguments...)
	if err == nil {
		defer rows.Close()
		var out [][]string
		for rows.Next() {
			// pgx goes by what was announced, and indexes past its end.
			if got, announced := len(rows.RawValues()), len(rows.FieldDescriptions()); got != announced {
				err = fmt.Errorf("the answer has a row of %d columns where it announced %d: this is no CrateDB that is known", got, announced)
				break
			}
			var values []any
			if values, err = rows.Values(); err != nil {
				break
			}
			if want := width(query); want > 0 && len(values) != want {
				err = fmt.Errorf("the answer has rows of %d columns, not of %d: this is no CrateDB that is known", len(values), want)
				break
			}
			if len(out) >= maxRows {
				err = fmt.Errorf("the answer has more than %d rows", maxRows)
				break
			}
			row := make([]string, len(values))
			for i, v := range values {
				row[i] = text(v)
			}
			out = append(out, row)
		}
		if err == nil {
			err = rows.Err()
		}
		if err == nil {
			return out, nil
		}
	}
	return nil, fmt.Errorf("in pod %s: %w", s.pod, classified(err, s.secrets(arguments)...))
}

func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case map[string]any, []any:
		if b, err := json.Marshal(v); err == nil {
			return string(b)
		}
	}
	return fmt.Sprint(value)
}

func (s *session) secrets(arguments []any) []string {
	out := slices.Clone(s.hidden)
	for _, a := range arguments {
		if text, ok := a.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// closeTimeout bounds the good-bye to a node that may be gone.
const closeTimeout = 2 * time.Second

// Close ends the session, also after the statement's own context has ended.
func (s *session) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	// A connection that cannot say good-bye is closed all the same.
	_ = s.conn.Close(ctx)
}
