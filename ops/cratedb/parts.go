package cratedb

import (
	"context"
	"errors"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// errSlow is a statement that CrateDB ended at its deadline.
var errSlow = errors.New("CrateDB has ended the statement at its deadline")

// ask runs one of the statements of a reading. One that fails leaves its part unknown,
// and the reading says so.
func (p *asked) ask(ctx context.Context, db *model.Database, part, query string, arguments ...any) ([][]string, bool) {
	return p.askAny(ctx, db, part, []string{query}, arguments...)
}

// askAll is ask, with the tables that are being restored.
func (p *asked) askAll(ctx context.Context, db *model.Database, part, query string) ([][]string, bool) {
	return p.first(ctx, db, part, []string{query})
}

// askAny runs the first of the statements that this release of CrateDB knows, and leaves out what is hidden.
func (p *asked) askAny(ctx context.Context, db *model.Database, part string, queries []string, arguments ...any) ([][]string, bool) {
	rows, ok := p.first(ctx, db, part, queries, arguments...)
	return p.visible(queries[0], rows), ok
}

// first runs the first of the statements that this release of CrateDB knows. What is
// noted is why the first has failed: the others are for older releases.
func (p *asked) first(ctx context.Context, db *model.Database, part string, queries []string, arguments ...any) ([][]string, bool) {
	var failed error
	for _, query := range queries {
		rows, err := p.session.Strings(ctx, query, arguments...)
		if err == nil {
			return rows, true
		}
		if failed == nil {
			failed = err
		}
		if slow(err) || p.session.conn.IsClosed() {
			break
		}
	}
	unread(db, part, failed)
	return nil, false
}

// unread notes a part that is not known.
func unread(db *model.Database, part string, why error) {
	db.Unread = append(db.Unread, model.UnreadPart{Part: part, Why: why.Error(), Slow: slow(why)})
}

// slow says of an error that the database did not answer in time.
func slow(err error) bool {
	return errors.Is(err, errSlow) || errors.Is(err, context.DeadlineExceeded)
}

// timedOut knows CrateDB's words for a statement that it has ended at statement_timeout:
// "Job killed. statement_timeout (10s/exec)".
func timedOut(message string) bool { return strings.Contains(message, "statement_timeout") }
