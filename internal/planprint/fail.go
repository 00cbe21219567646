package planprint

import (
	"fmt"
	"strings"

	"stevedore.dev/stevedore/ops/plan"
)

// FailOn is what a reviewer wants to be stopped by.
type FailOn string

const (
	// FailOnOperation: an operation would run.
	FailOnOperation FailOn = "operation"
	// FailOnRestart: a pod would be restarted now.
	FailOnRestart FailOn = "restart"
	// FailOnRefused: a part of it would not be done.
	FailOnRefused FailOn = "refused"
	// FailOnDeletion: an object would be deleted.
	FailOnDeletion FailOn = "deletion"
	// FailOnUnknown: something is changed, and a part of what follows is not known.
	FailOnUnknown FailOn = "unknown"
)

// ParseFailOn reads --fail-on.
func ParseFailOn(words []string) ([]FailOn, error) {
	var all []FailOn
	for _, word := range words {
		switch on := FailOn(strings.TrimSpace(word)); on {
		case FailOnOperation, FailOnRestart, FailOnRefused, FailOnDeletion, FailOnUnknown:
			all = append(all, on)
		default:
			return nil, fmt.Errorf("--fail-on %q is not known: write operation, restart, refused, deletion or unknown", word)
		}
	}
	return all, nil
}

// Exit codes of diff: ExitError beats ExitFailOn, which beats ExitChanges.
const (
	ExitNothing = 0
	ExitError   = 1
	ExitChanges = 2
	ExitFailOn  = 3
)

// ExitCode is the code for plans; broken says that something could not be read,
// so that plans are not all there is.
func ExitCode(plans []plan.Plan, failOn []FailOn, broken bool) int {
	if broken {
		return ExitError
	}
	code := ExitNothing
	for _, p := range plans {
		if p.Empty() {
			continue
		}
		code = max(code, ExitChanges)
		for _, on := range failOn {
			if meets(p, on) {
				return ExitFailOn
			}
		}
	}
	return code
}

func meets(p plan.Plan, on FailOn) bool {
	anyClass := func(class plan.Class) bool {
		for _, object := range p.Objects {
			if object.Class == class {
				return true
			}
			for _, field := range object.Fields {
				if field.Class == class {
					return true
				}
			}
		}
		return false
	}
	switch on {
	case FailOnOperation:
		return len(p.Operations) > 0 || anyClass(plan.ByOperation)
	case FailOnRestart:
		if p.Restarts > 0 || anyClass(plan.Restart) {
			return true
		}
		for _, operation := range p.Operations {
			if operation.Restarts > 0 {
				return true
			}
		}
	case FailOnRefused:
		if len(p.Refused) > 0 || anyClass(plan.Refused) {
			return true
		}
		for _, object := range p.Objects {
			for _, field := range object.Fields {
				if field.Gate != "" && field.Class != plan.Waiting {
					return true
				}
			}
		}
	case FailOnUnknown:
		return len(p.Unknown) > 0
	case FailOnDeletion:
		for _, object := range p.Objects {
			if object.Change == plan.Removed {
				return true
			}
		}
		for _, operation := range p.Operations {
			for _, step := range operation.Steps {
				if strings.HasPrefix(step.Action, "delete-") {
					return true
				}
			}
		}
	}
	return false
}
