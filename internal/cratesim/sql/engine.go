package sql

import (
	"cmp"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

// Engine runs statements over a model. It has no lock: whoever shares it, locks.
type Engine struct {
	Model *model.Model
	// SnapshotTakes is how long a snapshot runs in addition to what its bytes do, at the rate
	// of the repository's max_snapshot_bytes_per_sec. Default 1 s.
	SnapshotTakes time.Duration
	// RestoreTakes is how long the restore of a shard takes in addition to what its bytes
	// do, at the least rate of the repository's max_restore_bytes_per_sec, the cluster's
	// indices.recovery.max_bytes_per_sec and the model's RecoveryRate.
	RestoreTakes time.Duration
	// Stop is asked to end a node's process (ALTER CLUSTER DECOMMISSION); nil does nothing.
	Stop func(*model.Node)

	jobs    []job
	running []running
	jobN    int
}

// job is a row of sys.jobs_log.
type job struct {
	id             string
	user, stmt     string
	node           *model.Node
	cluster        *model.Cluster
	started, ended time.Time
	err            string
}

// running is a row of sys.jobs: a statement that has not ended, whether or not its client
// still waits for it.
type running struct {
	job
	ended func() bool
	// operation is what its data nodes work on, as sys.operations names it; "" for what that does not show here.
	operation string
}

// Work is what a node works on for a client that the simulator does not know as a statement, such as a COPY.
type Work struct {
	// Statement is the message of the client; "" for one that does not wait (wait_for_completion = false), which
	// sys.jobs does not have.
	Statement string
	// Operation is its name in sys.operations; "" for none.
	Operation string
	Ended     func() bool
}

// Begin has a node work on something, as `crate`.
func (e *Engine) Begin(n *model.Node, w Work) {
	e.jobN++
	e.running = append(e.running, running{
		job:   job{id: jobID(e.jobN), user: "crate", stmt: w.Statement, node: n, cluster: n.Cluster(), started: e.Model.Now()},
		ended: w.Ended, operation: w.Operation,
	})
}

// jobLogSize is stats.jobs_log_size, cut down: the oldest go.
const jobLogSize = 1000

// Session is a client's connection to a node.
type Session struct {
	Engine *Engine
	Node   *model.Node
	User   *model.User

	// Message is all that the client has sent at once; "" for the statement that runs.
	Message string
	stmt    string // that runs
	grouped bool   // it has groups: each node gets some of them
}

// Column is a column of a result.
type Column struct {
	Name string
	Type *Type
}

// Result is what a statement answers. Columns is nil for what has no rows.
type Result struct {
	Columns  []Column
	Rows     [][]any
	RowCount int
	Tag      string // of the PostgreSQL protocol
	// Ready, where set, is what CrateDB waits for before it answers, at most for Wait.
	Ready func() bool
	Wait  time.Duration
	// Failed, where set, is asked once Ready is true: the error that is the answer then.
	Failed func() *model.Error
}

// Description is what a statement takes and gives, before it runs.
type Description struct {
	Params  []*Type
	Columns []Column
}

// Execute runs one statement. An error with a Wait is to be tried again until that time
// has passed, as CrateDB holds the statement.
func (s *Session) Execute(stmt string, args []any) (*Result, *model.Error) {
	s.stmt = cmp.Or(s.Message, stmt)
	res, err := s.execute(stmt, args)
	if err == nil && res.Ready != nil {
		s.Engine.jobN++
		s.Engine.running = append(s.Engine.running, running{
			job:   job{id: jobID(s.Engine.jobN), user: s.User.Name, stmt: s.stmt, node: s.Node, cluster: s.Node.Cluster(), started: s.Engine.Model.Now()},
			ended: res.Ready,
		})
	}
	if err == nil && res.Tag == "" {
		res.Tag = commandTag(stmt, res.RowCount)
	}
	if err == nil || err.Wait == 0 {
		s.Log(s.stmt, err)
	}
	return res, s.mask(err)
}

// Log records a statement in sys.jobs_log, bound parameters left out.
func (s *Session) Log(stmt string, err *model.Error) {
	e := s.Engine
	e.jobN++
	j := job{id: jobID(e.jobN), user: s.User.Name, stmt: stmt, node: s.Node, cluster: s.Node.Cluster(), started: e.Model.Now(), ended: e.Model.Now()}
	if err != nil {
		j.err = err.Message
	}
	if len(e.jobs) >= jobLogSize {
		e.jobs = e.jobs[1:]
	}
	e.jobs = append(e.jobs, j)
}

func commandTag(stmt string, rows int) string {
	word, _, _ := strings.Cut(strings.TrimSpace(stmt), " ")
	word = strings.ToUpper(strings.TrimRight(word, ";"))
	if rows < 0 {
		rows-- // unknown is -2 in JDBC
	}
	switch word {
	case "BEGIN":
		return "BEGIN"
	case "INSERT":
		return "INSERT 0 " + text(int64(rows))
	}
	return word + " " + text(int64(rows))
}

func (s *Session) execute(stmt string, args []any) (*Result, *model.Error) {
	if err := s.User.Alive(); err != nil {
		return nil, err
	}
	ast, params, err := parse(stmt, s.Node.Version)
	if err != nil {
		return nil, err
	}
	if params > len(args) {
		return nil, model.ErrIllegalArgument("The query contains a parameter placeholder $%d, but there are only %d parameter values", params, len(args))
	}
	if !worksUnlicensed(ast) {
		if err := s.Node.LicenceGate(); err != nil {
			return nil, err
		}
	}
	return s.run(ast, args)
}

// worksUnlicensed are the statements that a cluster above its licence's limit still runs:
// what cures it, a session's settings, and reading system tables (crate 4.4,
// IsStatementExecutionAllowed).
func worksUnlicensed(ast any) bool {
	switch q := ast.(type) {
	case setLicense, decommission, setSession:
		return true
	case selectStmt:
		return q.from == nil || isSystemSchema(schemaOf(*q.from))
	}
	return false
}

// Describe checks a statement and tells its parameters and columns.
func (s *Session) Describe(stmt string, known []*Type) (*Description, *model.Error) {
	d, err := s.describe(stmt, known)
	return d, s.mask(err)
}

func (s *Session) describe(stmt string, known []*Type) (*Description, *model.Error) {
	ast, params, err := parse(stmt, s.Node.Version)
	if err != nil {
		return nil, err
	}
	d := &Description{Params: make([]*Type, params)}
	for i := range d.Params {
		if i < len(known) && known[i] != nil {
			d.Params[i] = known[i]
		}
	}
	guess := func(e expr, t *Type) {
		if p, ok := e.(param); ok && p.index < len(d.Params) && d.Params[p.index] == nil {
			d.Params[p.index] = t
		}
	}
	switch q := ast.(type) {
	case selectStmt:
		sc, err := s.scope(q, nil)
		if err != nil {
			return nil, err
		}
		_, cols, err := sc.columnsOf(q)
		if err != nil {
			return nil, err
		}
		d.Columns = cols
		sc.guessParams(q, guess)
		for i, it := range q.items { // a cast or bare parameter has its type by now
			if p, ok := it.e.(param); ok && i < len(cols) && d.Params[p.index] != nil {
				cols[i].Type = d.Params[p.index]
			}
		}
	case insert:
		if t := s.Node.Table(schemaOf(q.name), q.name.name); t != nil {
			names := q.columns
			if len(names) == 0 {
				for _, c := range t.Columns {
					names = append(names, c.Name)
				}
			}
			for _, r := range q.rows {
				for i, e := range r {
					for _, c := range t.Columns {
						if i < len(names) && c.Name == names[i] {
							guess(e, typeNamed(c.Type))
						}
					}
				}
			}
		}
	case setSession:
		if q.show {
			d.Columns = []Column{{q.name, Text}}
		}
	}
	for i := range d.Params {
		if d.Params[i] == nil {
			d.Params[i] = Text
		}
	}
	return d, nil
}

func (s *scope) guessParams(q selectStmt, guess func(expr, *Type)) {
	var walk func(e expr)
	walk = func(e expr) {
		switch e := e.(type) {
		case binary:
			if lt, err := s.typeOf(e.l); err == nil && lt != Undefined && e.op != "and" && e.op != "or" {
				guess(e.r, lt)
			}
			if rt, err := s.typeOf(e.r); err == nil && rt != Undefined && e.op != "and" && e.op != "or" {
				guess(e.l, rt)
			}
			walk(e.l)
			walk(e.r)
		case unary:
			walk(e.e)
		case inList:
			if t, err := s.typeOf(e.e); err == nil {
				for _, i := range e.list {
					guess(i, t)
				}
			}
		case quantified:
			if t, err := s.typeOf(e.e); err == nil && t != Undefined {
				guess(e.arr, arrayOf(t))
			}
		case like:
			guess(e.pattern, Text)
		case cast:
			guess(e.e, e.typ)
			walk(e.e)
		case call:
			for _, a := range e.args {
				walk(a)
			}
		}
	}
	for _, it := range q.items {
		walk(it.e)
	}
	walk(q.where)
	guess(q.limit, Bigint)
	guess(q.offset, Bigint)
}

func (s *Session) scope(q selectStmt, args []any) (*scope, *model.Error) {
	sc := &scope{session: s, args: args, version: s.Node.Version, alias: q.alias}
	if q.from != nil {
		t, err := s.table(*q.from)
		if err != nil {
			return nil, err
		}
		sc.table = t
	}
	return sc, nil
}

func schemaOf(n tableName) string {
	if n.schema == "" {
		return "doc"
	}
	return n.schema
}
