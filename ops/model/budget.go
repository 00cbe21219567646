package model

import (
	"time"
)

// BudgetState is what is remembered of the data nodes' budget. The zero value is one that is
// open and of which nothing was reported.
type BudgetState struct {
	// Closed is since when it has been at 0; zero while it is open. Reported is true once
	// that was reported as too long.
	Closed   time.Time `json:"closed"`
	Reported bool      `json:"told,omitempty"`
	// Note is what was reported of it and still holds: a word of package budget; "" for none.
	Note string `json:"note,omitempty"`
}

func (s BudgetState) equal(o BudgetState) bool {
	return s.Closed.Equal(o.Closed) && s.Reported == o.Reported && s.Note == o.Note
}
