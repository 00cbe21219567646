package differential

import (
	"regexp"
	"strings"
)

// Allowed is a way in which the simulator may differ from CrateDB. There are at most
// 20; one that a full run did not need fails the run.
type Allowed struct {
	// Name is short.
	Name string
	// Reason says why the simulator is left as it is.
	Reason string
	// Source is the line in CrateDB from which the difference comes: file:line of a tag.
	Source string
	// Version is the release whose runs need it, "" for all.
	Version string
	// Question is the beginning of the questions that it is for, "" for all.
	Question string
	// Pattern is replaced by With in both answers.
	Pattern *regexp.Regexp
	With    string
}

func (a Allowed) applies(version, question string) bool {
	return (a.Version == "" || strings.HasPrefix(version, a.Version)) && strings.HasPrefix(question, a.Question)
}

func (a Allowed) mask(text string) string { return a.Pattern.ReplaceAllString(text, a.With) }

// AllowedDifferences is the committed list.
func AllowedDifferences() []Allowed { return allowedDifferences }

var allowedDifferences = []Allowed{}
