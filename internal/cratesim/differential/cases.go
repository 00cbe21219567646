package differential

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed cases.txt
var casesText string

// Case is a difference that was found, shrunk to the least steps, with what CrateDB
// answers.
type Case struct {
	// Name is a sentence, Line where it stands in cases.txt.
	Name string
	Line int
	// Version is the release that gave the answer.
	Version string
	Steps   []Step
	// Question is what is asked after the last step: that of a Difference. Answer has the
	// words that CrateDB's answer has, Never those that it has not.
	Question string
	Answer   []string
	Never    []string
}

// Cases reads the committed cases:
//
//	case 6.4.3 NAME
//	crate | STATEMENT
//	ask QUESTION
//	has WORDS
//	never WORDS
func Cases() ([]Case, error) {
	var out []Case
	for i, line := range strings.Split(casesText, "\n") {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if word == "case" {
			version, name, _ := strings.Cut(rest, " ")
			out = append(out, Case{Name: name, Version: version, Line: i + 1})
			continue
		}
		if len(out) == 0 {
			return nil, fmt.Errorf("cases.txt:%d: no case begins here", i+1)
		}
		c := &out[len(out)-1]
		switch word {
		case "ask":
			c.Question = rest
		case "has":
			c.Answer = append(c.Answer, rest)
		case "never":
			c.Never = append(c.Never, rest)
		default:
			s, err := ParseStep(line)
			if err != nil {
				return nil, fmt.Errorf("cases.txt:%d: %w", i+1, err)
			}
			c.Steps = append(c.Steps, s)
		}
	}
	for _, c := range out {
		if len(c.Steps) == 0 || len(c.Answer)+len(c.Never) == 0 {
			return nil, fmt.Errorf("cases.txt:%d: %q has no step or says nothing of an answer", c.Line, c.Name)
		}
	}
	return out, nil
}

// Check says what of a case an answer does not keep; nil is all well.
func (k Case) Check(answer string) error {
	for _, words := range k.Answer {
		if !strings.Contains(answer, words) {
			return fmt.Errorf("cases.txt:%d: %s: %q is not in\n%s", k.Line, k.Name, words, answer)
		}
	}
	for _, words := range k.Never {
		if strings.Contains(answer, words) {
			return fmt.Errorf("cases.txt:%d: %s: %q is in\n%s", k.Line, k.Name, words, answer)
		}
	}
	return nil
}
