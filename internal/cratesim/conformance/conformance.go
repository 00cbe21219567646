// Package conformance is one script of statements for the simulator and for a real CrateDB
// alike, so that a difference between the two is a failing line.
//
// The script is a table, one case a line, columns parted by " | ":
//
//	situation | user | statement | expectation
//
// Cases of a situation run in order on one cluster. A user "name/password" logs in with
// that password. In a statement and an expectation, {n0.id} and {n0.name} stand for the
// first node by name, and so on, {master.id} for the master. Expectations:
//
//	rows JSON           exactly these rows
//	until JSON          these rows within a minute
//	count N             the rowcount
//	error HTTP CODE SQLSTATE TEXT   the answer over HTTP, and over the PostgreSQL protocol;
//	                    TEXT is contained in the message, "-" is any number or state
//	unauthorized TEXT   no login, over both protocols
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

func (r *runner) dialer() *net.Dialer {
	d := &net.Dialer{Timeout: 5 * time.Second}
	if r.target.Source != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(r.target.Source)}
	}
	return d
}

func (r *runner) http(t *testing.T, user, stmt string) answer {
	t.Helper()
	body, err := json.Marshal(map[string]string{"stmt": stmt})
	require.NoError(t, err)
	req, err := http.NewRequest(http.MethodPost, "http://"+r.target.Nodes[0]+"/_sql", bytes.NewReader(body))
	require.NoError(t, err)
	name, password, _ := strings.Cut(user, "/")
	req.SetBasicAuth(name, password)
	client := &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{DialContext: r.dialer().DialContext, DisableKeepAlives: true}}
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

// postgres runs the statement over the PostgreSQL protocol and gives its error.
func (r *runner) postgres(t *testing.T, user, stmt string) *pgconn.PgError {
	t.Helper()
	host, _, err := net.SplitHostPort(r.target.Nodes[0])
	require.NoError(t, err)
	port := r.target.PSQLPort
	if port == 0 {
		port = 5432
	}
	cfg, err := pgx.ParseConfig(fmt.Sprintf("postgres://%s/doc?sslmode=disable", net.JoinHostPort(host, strconv.Itoa(port))))
	require.NoError(t, err)
	cfg.User, cfg.Password, _ = strings.Cut(user, "/")
	cfg.DialFunc = r.dialer().DialContext
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err == nil {
		defer func() { _ = c.Close(ctx) }()
		_, err = c.Exec(ctx, stmt)
	}
	var pg *pgconn.PgError
	if err != nil {
		require.True(t, errors.As(err, &pg), "%v", err)
	}
	return pg
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
		require.Contains(t, a.Error.Message, f[3])
		pg := r.postgres(t, c.User, stmt)
		require.NotNil(t, pg, "no error over the PostgreSQL protocol")
		if f[2] != "-" {
			require.Equal(t, f[2], pg.Code, pg.Message)
		}
		require.Contains(t, pg.Message, f[3])
	case "unauthorized":
		a := r.http(t, c.User, stmt)
		require.Equal(t, http.StatusUnauthorized, a.status, a.raw)
		require.Contains(t, a.raw, rest)
		pg := r.postgres(t, c.User, stmt)
		require.NotNil(t, pg)
		require.Equal(t, "28000", pg.Code)
		require.Contains(t, pg.Message, rest)
	default:
		t.Fatalf("script.txt:%d: unknown expectation %q", c.Line, word)
	}
}
