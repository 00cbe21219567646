package model

import "stevedore.dev/stevedore/ops/gates"

// NothingFound are the answers of a cluster in which no rule finds what it asks for.
func NothingFound() []gates.Answer {
	all := make([]gates.Answer, len(gates.Questions))
	for i := range all {
		all[i].Known = true
	}
	return all
}

// Answered is what gates.Questions[i] finds, and why that holds a restart up.
func (db *Database) Answered(i int) (Reason, bool) {
	rule := gates.Questions[i]
	var answer gates.Answer
	if i < len(db.Answers) {
		answer = db.Answers[i]
	}
	return rule.Holds(answer, db.Why(rule.Asks.View))
}
