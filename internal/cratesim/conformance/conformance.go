// Package conformance is one script of statements for the simulator and for a real CrateDB
// alike, so that a difference between the two is a failing line.
//
// The script is a table, one case a line, columns parted by " | ":
//
//	situation | user | statement | expectation
//
// Cases of a situation run in order on one cluster. A user "name/password" logs in with
// that password, "remote:name/password" from an address that is not local to the node. A
// statement that ends in " <- [ARGUMENTS]" has them bound and runs over the PostgreSQL
// protocol alone, where values are compared as texts. In a statement and an expectation, {n0.id} and {n0.name} stand for the
// first node by name, and so on, {master.id} for the master, {client} for the client's address. Expectations:
//
//	rows JSON           exactly these rows
//	until JSON          these rows within a minute
//	contains TEXT       an answer over HTTP with that in it
//	count N             the rowcount
//	error HTTP CODE SQLSTATE TEXT   the answer over HTTP, and over the PostgreSQL protocol;
//	                    TEXT is contained in the message, "-" is any number or state
//	unauthorized TEXT   no login, over both protocols
//	unauthorized-http TEXT, unauthorized-pg TEXT   over one, where the words differ
package conformance

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

//go:embed script.txt
var script string

// Case is one line of the script.
type Case struct {
	Line                               int
	Situation, User, Statement, Expect string
}

// Cases are the cases of a situation, in order.
func Cases(situation string) ([]Case, error) {
	var out []Case
	for i, line := range strings.Split(script, "\n") {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, " | ")
		if len(f) != 4 {
			return nil, fmt.Errorf("script.txt:%d: %d columns, want 4", i+1, len(f))
		}
		for k := range f {
			f[k] = strings.TrimSpace(f[k])
		}
		if f[0] == situation {
			out = append(out, Case{i + 1, f[0], f[1], f[2], f[3]})
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no case of situation %q", situation)
	}
	return out, nil
}

// Target is a cluster to ask.
type Target struct {
	Nodes []string // host:port of HTTP; statements go to the first
	// Source is the address to dial from, which decides who counts as _local_; "" leaves it
	// to the system.
	Source string
	// Remote is the address of clients that do not count as _local_.
	Remote string
	// PSQLPort is the port of the PostgreSQL protocol. 0 is 5432.
	PSQLPort int
}

// Run runs a situation's cases against the target.
func Run(t *testing.T, situation string, target Target) {
	cases, err := Cases(situation)
	require.NoError(t, err)
	r := &runner{target: target, names: map[string]string{}}
	for _, c := range cases {
		ok := t.Run(fmt.Sprintf("line %d", c.Line), func(t *testing.T) { r.run(t, c) })
		if !ok {
			t.Logf("%s | %s | %s", c.User, c.Statement, c.Expect)
		}
	}
}

// overPostgreSQL stands between an error's words over HTTP and those over the other
// protocol, where the two differ; "nothing" is a message without any.
const overPostgreSQL = " over PostgreSQL "

type runner struct {
	target Target
	names  map[string]string
}

type answer struct {
	status   int
	Rows     [][]any
	RowCount int `json:"rowcount"`
	Error    struct {
		Message string
		Code    int
	}
	raw string
}

// login takes a user column apart and gives the way from which it comes.
func (r *runner) login(user string) (name, password string, from *net.Dialer) {
	from = &net.Dialer{Timeout: 5 * time.Second}
	user, remote := strings.CutPrefix(user, "remote:")
	name, password, _ = strings.Cut(user, "/")
	source := r.target.Source
	if remote {
		source = r.target.Remote
	}
	if source != "" {
		from.LocalAddr = &net.TCPAddr{IP: net.ParseIP(source)}
	}
	return name, password, from
}

func (r *runner) http(t *testing.T, user, stmt string) answer {
	t.Helper()
	body, err := json.Marshal(map[string]string{"stmt": stmt})
	require.NoError(t, err)
	req, err := http.NewRequest(http.MethodPost, "http://"+r.target.Nodes[0]+"/_sql", bytes.NewReader(body))
	require.NoError(t, err)
	name, password, from := r.login(user)
	req.SetBasicAuth(name, password)
	client := &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{DialContext: from.DialContext, DisableKeepAlives: true}}
	res, err := client.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	a := answer{status: res.StatusCode, raw: string(b)}
	if strings.HasPrefix(a.raw, "{") {
		dec := json.NewDecoder(bytes.NewReader(b))
		dec.UseNumber()
		require.NoError(t, dec.Decode(&a))
	}
	return a
}

// postgres runs the statement over the PostgreSQL protocol, without a prepared statement,
// and gives its rows as texts, its rowcount and its error.
func (r *runner) postgres(t *testing.T, user, stmt string, arguments ...any) ([][]string, int64, *pgconn.PgError) {
	t.Helper()
	host, _, err := net.SplitHostPort(r.target.Nodes[0])
	require.NoError(t, err)
	port := r.target.PSQLPort
	if port == 0 {
		port = 5432
	}
	cfg, err := pgx.ParseConfig(fmt.Sprintf("postgres://%s/doc?sslmode=disable", net.JoinHostPort(host, strconv.Itoa(port))))
	require.NoError(t, err)
	name, password, from := r.login(user)
	cfg.User, cfg.Password, cfg.DialFunc = name, password, from.DialContext
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var texts [][]string
	var count int64
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err == nil {
		defer func() { _ = c.Close(ctx) }()
		texts, count, err = query(ctx, c, stmt, arguments)
	}
	var pg *pgconn.PgError
	if err != nil {
		require.True(t, errors.As(err, &pg), "%v", err)
	}
	return texts, count, pg
}

func query(ctx context.Context, c *pgx.Conn, stmt string, arguments []any) (texts [][]string, count int64, err error) {
	rows, err := c.Query(ctx, stmt, arguments...)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return nil, 0, err
		}
		var row []string
		for _, v := range values {
			row = append(row, fmt.Sprint(v))
		}
		texts = append(texts, row)
	}
	rows.Close()
	return texts, rows.CommandTag().RowsAffected(), rows.Err()
}

var placeholder = regexp.MustCompile(`\{(n\d+|master)\.(id|name)\}`)

func (r *runner) expand(t *testing.T, s string) string {
	t.Helper()
	if placeholder.MatchString(s) && len(r.names) == 0 {
		a := r.http(t, "crate", "SELECT id, name FROM sys.nodes ORDER BY name")
		for i, row := range a.Rows {
			r.names[fmt.Sprintf("n%d.id", i)], r.names[fmt.Sprintf("n%d.name", i)] = row[0].(string), row[1].(string)
		}
		a = r.http(t, "crate", "SELECT master_node FROM sys.cluster")
		r.names["master.id"], _ = a.Rows[0][0].(string)
	}
	s = strings.ReplaceAll(s, "{client}", r.target.Remote)
	return placeholder.ReplaceAllStringFunc(s, func(p string) string { return r.names[strings.Trim(p, "{}")] })
}

func rowsText(t *testing.T, text string) [][]any {
	t.Helper()
	var rows [][]any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	require.NoError(t, dec.Decode(&rows))
	return rows
}

func (r *runner) run(t *testing.T, c Case) {
	stmt, expect := r.expand(t, c.Statement), r.expand(t, c.Expect)
	word, rest, _ := strings.Cut(expect, " ")
	if stmt, bound, ok := strings.Cut(stmt, " <- "); ok {
		r.bound(t, c.User, stmt, bound, word, rest)
		return
	}
	switch word {
	case "rows":
		a := r.http(t, c.User, stmt)
		require.Equal(t, http.StatusOK, a.status, a.raw)
		require.Equal(t, rowsText(t, rest), a.Rows)
	case "until":
		want := rowsText(t, rest)
		var a answer
		require.Eventually(t, func() bool {
			a = r.http(t, c.User, stmt)
			return fmt.Sprint(a.Rows) == fmt.Sprint(want)
		}, time.Minute, 50*time.Millisecond, "%s", a.raw)
	case "contains":
		a := r.http(t, c.User, stmt)
		require.Equal(t, http.StatusOK, a.status, a.raw)
		require.Contains(t, a.raw, rest)
	case "count":
		n, err := strconv.Atoi(rest)
		require.NoError(t, err)
		a := r.http(t, c.User, stmt)
		require.Equal(t, http.StatusOK, a.status, a.raw)
		require.Equal(t, n, a.RowCount)
	case "error":
		f := strings.SplitN(rest, " ", 4)
		require.Len(t, f, 4)
		a := r.http(t, c.User, stmt)
		if f[0] != "-" {
			require.Equal(t, f[0], strconv.Itoa(a.status), a.raw)
		}
		if f[1] != "-" {
			require.Equal(t, f[1], strconv.Itoa(a.Error.Code), a.raw)
		}
		words, pgWords, differ := strings.Cut(f[3], overPostgreSQL)
		require.Contains(t, a.Error.Message, words)
		_, _, pg := r.postgres(t, c.User, stmt)
		require.NotNil(t, pg, "no error over the PostgreSQL protocol")
		if f[2] != "-" {
			require.Equal(t, f[2], pg.Code, pg.Message)
		}
		switch {
		case !differ:
			require.Contains(t, pg.Message, words)
		case pgWords == "nothing":
			require.Empty(t, pg.Message)
		default:
			require.Contains(t, pg.Message, pgWords)
		}
	case "unauthorized", "unauthorized-http", "unauthorized-pg":
		if word != "unauthorized-pg" {
			a := r.http(t, c.User, stmt)
			require.Equal(t, http.StatusUnauthorized, a.status, a.raw)
			require.Contains(t, a.raw, rest)
		}
		if word != "unauthorized-http" {
			_, _, pg := r.postgres(t, c.User, stmt)
			require.NotNil(t, pg)
			require.Equal(t, "28000", pg.Code)
			require.Contains(t, pg.Message, rest)
		}
	default:
		t.Fatalf("script.txt:%d: unknown expectation %q", c.Line, word)
	}
}

// bound runs a statement with bound arguments.
func (r *runner) bound(t *testing.T, user, stmt, bound, word, rest string) {
	var arguments []any
	require.NoError(t, json.Unmarshal([]byte(bound), &arguments))
	texts, count, pg := r.postgres(t, user, stmt, arguments...)
	if word == "error" {
		f := strings.SplitN(rest, " ", 4)
		require.Len(t, f, 4)
		require.NotNil(t, pg, "no error")
		require.Equal(t, f[2], pg.Code, pg.Message)
		require.Contains(t, pg.Message, f[3])
		return
	}
	require.Nil(t, pg)
	switch word {
	case "rows":
		var want [][]string
		for _, row := range rowsText(t, rest) {
			var texts []string
			for _, v := range row {
				texts = append(texts, fmt.Sprint(v))
			}
			want = append(want, texts)
		}
		require.Equal(t, want, texts)
	case "count":
		require.Equal(t, rest, strconv.FormatInt(count, 10))
	default:
		t.Fatalf("the expectation %q takes no bound arguments", word)
	}
}
