package differential

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// heldAfter is when a statement that has not been answered counts as held: CrateDB
// holds some for 30 or 60 seconds, and on a busy machine takes some for others.
const heldAfter = 12 * time.Second

// systemPassword is that of the user system, in both clusters.
const systemPassword = "pw-system"

// cluster is one of the two: CrateDB or the simulator.
type cluster struct {
	name   string // for messages
	real   bool   // not the simulator
	prefix string // of the nodes' addresses: "127.0.35."
	http   *http.Client
	system *pgx.Conn
	ids    map[string]string // by node name; those of nodes that have left stay
	id     string            // the cluster's
	// repositories is the folder below which repositories of type fs may be.
	repositories string

	start func(i int) error
	end   func(i int, kill bool) error
	close func()
	up    [Nodes]bool
}

func (c *cluster) address(i int) string { return fmt.Sprintf("%s%d", c.prefix, i+1) }

func newCluster(name, prefix string) *cluster {
	c := &cluster{name: name, prefix: prefix, ids: map[string]string{}}
	// From the node's own address: such a client counts as local.
	from := &net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(c.address(0))}}
	c.http = &http.Client{Transport: &http.Transport{DialContext: from.DialContext, MaxIdleConnsPerHost: 8}}
	return c
}

// answer is what a statement came to.
type answer struct {
	columns []string
	rows    [][]any
	masked  []bool // columns that are measured, by place
	count   int64
	err     string // normalised: "400 4000 words" or "XX000 words"
	held    bool
}

// http runs a statement over HTTP as a user without a password.
func (c *cluster) overHTTP(ctx context.Context, user, stmt string, args []any) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, heldAfter)
	defer cancel()
	body, err := json.Marshal(map[string]any{"stmt": stmt, "args": args})
	if args == nil {
		body, err = json.Marshal(map[string]any{"stmt": stmt})
	}
	if err != nil {
		return answer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.address(0)+":4200/_sql", bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.SetBasicAuth(user, "")
	req.Header.Set("Content-Type", "application/json")
	res, err := c.http.Do(req)
	if err == nil {
		defer func() { _ = res.Body.Close() }()
		body, err = io.ReadAll(res.Body)
	}
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return answer{held: true}, nil
		}
		return answer{}, fmt.Errorf("%s: %w", c.name, err)
	}
	var a struct {
		Cols     []string
		Rows     [][]any
		RowCount int64
		Error    *struct {
			Message string
			Code    int
		}
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&a); err != nil {
		return answer{err: fmt.Sprintf("%d %s", res.StatusCode, c.normal(string(body)))}, nil
	}
	if a.Error != nil {
		return answer{err: fmt.Sprintf("%d %d %s", res.StatusCode, a.Error.Code, c.normal(a.Error.Message))}, nil
	}
	return answer{columns: a.Cols, rows: a.Rows, count: a.RowCount}, nil
}

// overPostgreSQL runs a statement as system.
func (c *cluster) overPostgreSQL(ctx context.Context, stmt string, args []any) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, heldAfter)
	defer cancel()
	if err := c.connect(ctx); err != nil {
		return answer{}, err
	}
	a, err := c.query(ctx, stmt, args)
	if err == nil {
		return a, nil
	}
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg):
		return answer{err: pg.Code + " " + c.normal(pg.Message)}, nil
	case ctx.Err() != nil:
		c.disconnect()
		return answer{held: true}, nil
	}
	c.disconnect()
	return answer{}, fmt.Errorf("%s as system: %w", c.name, err)
}

func (c *cluster) query(ctx context.Context, stmt string, args []any) (a answer, err error) {
	rows, err := c.system.Query(ctx, stmt, args...)
	if err != nil {
		return a, err
	}
	defer rows.Close()
	for _, f := range rows.FieldDescriptions() {
		a.columns = append(a.columns, fmt.Sprintf("%s:%d", f.Name, f.DataTypeOID))
	}
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return a, err
		}
		a.rows = append(a.rows, values)
	}
	rows.Close()
	a.count = rows.CommandTag().RowsAffected()
	return a, rows.Err()
}

func (c *cluster) connect(ctx context.Context) error {
	if c.system != nil && !c.system.IsClosed() {
		return nil
	}
	cfg, err := pgx.ParseConfig(fmt.Sprintf("postgres://%s:5432/doc?sslmode=disable", c.address(0)))
	if err != nil {
		return err
	}
	cfg.User, cfg.Password = "system", systemPassword
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	if c.system, err = pgx.ConnectConfig(ctx, cfg); err != nil {
		return fmt.Errorf("%s: login of system: %w", c.name, err)
	}
	return nil
}

func (c *cluster) disconnect() {
	if c.system != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_ = c.system.Close(ctx)
		cancel()
		c.system = nil
	}
}

// run runs a statement as its user.
func (c *cluster) run(ctx context.Context, user, stmt string, args []any) (answer, error) {
	if user == "system" {
		return c.overPostgreSQL(ctx, stmt, args)
	}
	return c.overHTTP(ctx, user, stmt, args)
}

// must runs a statement as crate, which has to succeed.
func (c *cluster) must(ctx context.Context, stmt string, args ...any) (answer, error) {
	a, err := c.overHTTP(ctx, "crate", stmt, args)
	switch {
	case err != nil:
		return a, err
	case a.held:
		return a, fmt.Errorf("%s: %s: no answer within %s", c.name, stmt, heldAfter)
	case a.err != "":
		return a, fmt.Errorf("%s: %s: %s", c.name, stmt, a.err)
	}
	return a, nil
}

// learn reads the ids of the cluster and its nodes.
func (c *cluster) learn(ctx context.Context) error {
	a, err := c.must(ctx, "SELECT name, id FROM sys.nodes")
	if err != nil {
		return err
	}
	for _, r := range a.rows {
		c.ids[fmt.Sprint(r[0])] = fmt.Sprint(r[1])
	}
	a, err = c.must(ctx, "SELECT id FROM sys.cluster")
	if err == nil {
		c.id = fmt.Sprint(a.rows[0][0])
	}
	return err
}

var (
	allocation = regexp.MustCompile(`, a\[id=[^\]]*\]`)
	amounts    = regexp.MustCompile(`(free|size|shard added|allocating shard): \[[^\]]*\]`)
	attributes = regexp.MustCompile(`\{\w+=[^{}]*(\{[^}]*\}[^{}]*)*\}`)
	millis     = regexp.MustCompile(`waiting [\d.]+(ms|s|m)\b`)
	measured   = regexp.MustCompile(`(?i)\bpath\b|'dev'|_state_version|size|used|free|heap|started|finished`)
	// A generated id may begin or end with a dash, where \b sees no word's end.
	words = regexp.MustCompile(`[A-Za-z0-9_-]+`)
)

// normal takes what two clusters cannot have in common out of a text.
func (c *cluster) normal(text string) string {
	for name, id := range c.ids {
		text = strings.ReplaceAll(text, id, "{"+name+".id}")
	}
	if c.id != "" {
		text = strings.ReplaceAll(text, c.id, "{cluster}")
	}
	if c.repositories != "" {
		text = strings.ReplaceAll(text, c.repositories, "{repositories}")
	}
	for i := range Nodes {
		text = strings.ReplaceAll(text, c.address(i), "{"+nodeName(i)+".ip}")
	}
	text = allocation.ReplaceAllString(text, "")
	text = words.ReplaceAllStringFunc(text, func(s string) string {
		if len(s) == 22 && strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz") && strings.ContainsAny(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			return "{uuid}"
		}
		return s
	})
	// CrateDB keeps the attributes of a node in a hash map, and names them in the order of that.
	text = attributes.ReplaceAllStringFunc(text, func(s string) string {
		list := strings.Split(s[1:len(s)-1], ", ")
		slices.Sort(list)
		return "{" + strings.Join(list, ", ") + "}"
	})
	text = millis.ReplaceAllString(text, "waiting {time}")
	return amounts.ReplaceAllString(text, "$1: [{amount}]")
}

// text is the answer as a text that can be compared: rows in the order of their texts,
// since no statement of ours asks for one.
func (c *cluster) text(a answer) string {
	switch {
	case a.held:
		return "held"
	case a.err != "":
		return "error " + a.err
	case a.columns == nil:
		return fmt.Sprintf("count %d", a.count)
	}
	lines := make([]string, 0, len(a.rows))
	for _, row := range a.rows {
		values := make([]any, len(row))
		for i, v := range row {
			if i < len(a.masked) && a.masked[i] && v != nil {
				v = unmeasured(v)
			}
			values[i] = ordered(v)
		}
		b, err := json.Marshal(values)
		if err != nil {
			b = fmt.Append(nil, values)
		}
		b = bytes.ReplaceAll(bytes.ReplaceAll(bytes.ReplaceAll(b, []byte(`\u003c`), []byte("<")), []byte(`\u003e`), []byte(">")), []byte(`\u0026`), []byte("&"))
		lines = append(lines, c.normal(string(b)))
	}
	slices.Sort(lines)
	return strings.Join(append([]string{"columns " + strings.Join(a.columns, ", ")}, lines...), "\n")
}

// unmeasured is a measured value without what was measured: of a list its length is left.
func unmeasured(v any) any {
	list, ok := v.([]any)
	if !ok {
		return "{measured}"
	}
	out := make([]any, len(list))
	for i := range out {
		out[i] = "{measured}"
	}
	return out
}

// quoted is a text in SQL, unlike the name of a part of an object: it may be a measure's name.
var quoted = regexp.MustCompile(`([\s=(,])'[^']*'`)

// masks says which columns of a SELECT are measured: no two clusters have the same
// sizes and times.
func masks(sql string) (out []bool) {
	rest, ok := strings.CutPrefix(sql, "SELECT ")
	if !ok {
		return nil
	}
	depth, from := 0, 0
	for i, r := range rest {
		switch {
		case r == '(' || r == '[':
			depth++
		case r == ')' || r == ']':
			depth--
		case depth == 0 && (r == ',' || strings.HasPrefix(rest[i:], " FROM ")):
			out = append(out, measured.MatchString(quoted.ReplaceAllString(rest[from:i], "$1")))
			from = i + 1
			if r != ',' {
				return out
			}
		}
	}
	return out
}

// ordered puts lists of objects that have a node's name into the order of the names, and lists of tables with
// their schemas, as of a snapshot: CrateDB has them in no order. It writes numbers in one way: 1.0 is 1.
func ordered(v any) any {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil && strings.Contains(v.String(), ".") {
			return f
		}
	case map[string]any:
		out := map[string]any{}
		for k, each := range v {
			out[k] = ordered(each)
		}
		return out
	case []any:
		out := make([]any, len(v))
		named, tables := true, true
		for i, each := range v {
			out[i] = ordered(each)
			o, ok := each.(map[string]any)
			named = named && ok && o["node_name"] != nil
			text, _ := each.(string)
			tables = tables && strings.Count(text, ".") == 1
		}
		if tables {
			slices.SortFunc(out, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		}
		if named {
			slices.SortFunc(out, func(a, b any) int {
				return strings.Compare(fmt.Sprint(a.(map[string]any)["node_name"]), fmt.Sprint(b.(map[string]any)["node_name"]))
			})
		}
		return out
	}
	return v
}
