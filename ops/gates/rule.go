// Package gates holds the rules that say why something may not happen now.
// One file is one rule: its name, which users see in status, webhooks, metrics
// and the documentation, a sentence, and where it comes from. A rule is a pure
// function of plain values and puts the numbers that it is based on into words.
package gates

import (
	"fmt"
	"time"
)

// Reason is why something waits or is refused.
type Reason struct {
	// Name of the rule, kebab-case.
	Name string
	// Message is a sentence with the numbers that it is based on and what to do.
	Message string
	// Until is when a wait ends by itself; zero when it depends on what is seen.
	Until time.Time
}

// Kind says whether a rule waits for something or refuses it.
type Kind uint8

const (
	// Waits: it goes on by itself when what is named has happened.
	Waits Kind = iota
	// Refuses: a person has to change something.
	Refuses
)

// String is the kind in one word, for the documentation.
func (k Kind) String() string {
	if k == Refuses {
		return "refuses"
	}
	return "waits"
}

// Rule describes a gate for the documentation.
type Rule struct {
	Name string
	Kind Kind
	// Informs: it is shown, and the revision counts as verified all the same.
	Informs bool
	// Webhook is crate-operator's word for what the rule refuses; "": that of the operation.
	Webhook string
	// Passes: an operation brings the wait about and ends it by itself. A cluster at rest has none.
	Passes bool
	// Says is one sentence: when it holds, and what a person can do.
	Says string
	// Do is what a person does about it, in a sentence or two.
	Do string
	// Source is the section of CrateDB's or Kubernetes' manual, or the invariant
	// of docs/safety.md, that it comes from.
	Source string
	// Asks is what is asked before a node is restarted; nil for a rule that has its own conditions.
	Asks *Question
}

// named are the rules by their names.
var named = func() map[string]*Rule {
	all := map[string]*Rule{}
	for i := range All {
		all[All[i].Name] = &All[i]
	}
	return all
}()

// Named is the rule of that name; the zero value for a name of no rule.
func Named(name string) Rule {
	if r := named[name]; r != nil {
		return *r
	}
	return Rule{}
}

// Informs says whether the rule of that name informs only; false for a name of no rule.
func Informs(name string) bool {
	r := named[name]
	return r != nil && r.Informs
}

func (r Rule) because(format string, values ...any) Reason {
	return Reason{Name: r.Name, Message: fmt.Sprintf(format, values...)}
}
