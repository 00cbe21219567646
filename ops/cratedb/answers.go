package cratedb

import (
	"context"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// readAnswers asks what gates.Questions ask. What runs is no part of the cluster state, so an answer that is taken over
// is up to a minute old; the last look asks again.
func (p *asked) readAnswers(ctx context.Context, db *model.Database) {
	db.Answers = make([]gates.Answer, len(gates.Questions))
	for i, rule := range gates.Questions {
		if rows, ok := p.ask(ctx, db, rule.Asks.View, rule.Asks.SQL); ok {
			db.Answers[i] = rule.Asks.Answer(rows)
		}
	}
}
