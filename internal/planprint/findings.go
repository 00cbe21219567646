package planprint

import (
	"slices"

	"stevedore.dev/stevedore/ops/plan"
	"stevedore.dev/stevedore/render/definition"
)

// Level of a finding.
type Level string

const (
	LevelError   Level = "error"
	LevelWarning Level = "warning"
	// LevelNote: there is nothing to do about it.
	LevelNote Level = "note"
)

// Names of the rules that are no gates.
const (
	// RuleDefinition: a file cannot be read, or says what it must not say.
	RuleDefinition = "definition"
	// RuleSetting: a setting has a name that is not known.
	RuleSetting = "unknown-setting"
	// RuleAtRisk: something may be unavailable or lost on the way.
	RuleAtRisk = "at-risk"
	// RuleRefused: an object's change is refused, by no gate of its own.
	RuleRefused = "change-refused"
	// RuleMoved: something stands in another file, and nothing is done.
	RuleMoved = "moved"
)

// Place is where a finding is to be shown. The file's path is relative to the
// repository, with slashes; "" when it is not known. Line and Column begin at 1,
// 0 when they are not known.
type Place struct {
	File   string
	Line   int
	Column int
}

// Finding is one thing to show to the author of a change.
type Finding struct {
	Rule    string
	Level   Level
	Message string
	// Cluster is "namespace/name", "" where it concerns all.
	Cluster string
	Place
}

// Locate says where the definition of a cluster stands; nil knows of none.
type Locate func(namespace, name string) Place

// Problems are findings of what is wrong with a folder.
func Problems(problems []definition.Problem) []Finding {
	findings := make([]Finding, 0, len(problems))
	for _, p := range problems {
		message := p.Message
		if p.Path != "" {
			message = p.Path + ": " + message
		}
		found := Finding{
			Rule: RuleDefinition, Level: LevelError, Message: message, Cluster: p.Cluster,
			Place: Place{File: p.File, Line: p.Line, Column: p.Column},
		}
		if p.Warning {
			found.Rule, found.Level = RuleSetting, LevelWarning
		}
		findings = append(findings, found)
	}
	return findings
}

// WithWarnings are copies of plans with the warnings of each one's cluster.
func WithWarnings(plans []plan.Plan, warnings []Finding) []plan.Plan {
	plans = slices.Clone(plans)
	for i := range plans {
		for _, w := range warnings {
			if w.Cluster == title(plans[i]) {
				plans[i].Warnings = append(slices.Clip(plans[i].Warnings), plan.Warning{File: w.File, Line: w.Line, Column: w.Column, Message: w.Message})
			}
		}
	}
	return plans
}

// Findings are what plans refuse, wait for and put at risk, errors first.
func Findings(plans []plan.Plan, locate Locate) []Finding {
	var refused, waits, risks []Finding
	for _, p := range Fit(plans) {
		var place Place
		if locate != nil {
			place = locate(p.Namespace, p.Name)
		}
		cluster := title(p)
		for _, gate := range p.Refused {
			refused = append(refused, Finding{Rule: gate.Name, Level: LevelError, Message: gate.Message, Cluster: cluster, Place: place})
		}
		for _, object := range p.Objects {
			gated := func(f plan.Field) bool { return f.Gate != "" && f.Class != plan.Waiting }
			if object.Class == plan.Refused && len(p.Refused) == 0 && !slices.ContainsFunc(object.Fields, gated) {
				refused = append(refused, Finding{Rule: RuleRefused, Level: LevelError, Message: objectName(p, object) + ": " + object.Why, Cluster: cluster, Place: place})
			}
			for _, field := range object.Fields {
				if gated(field) && !slices.ContainsFunc(p.Refused, func(g plan.Gate) bool { return g.Name == field.Gate }) {
					refused = append(refused, Finding{Rule: field.Gate, Level: LevelError, Message: objectName(p, object) + ", " + field.Path + ": " + field.Why, Cluster: cluster, Place: place})
				}
			}
		}
		for _, gate := range p.Waits {
			waits = append(waits, Finding{Rule: gate.Name, Level: LevelWarning, Message: "it waits: " + gate.Message, Cluster: cluster, Place: place})
		}
		for _, risk := range p.AtRisk {
			risks = append(risks, Finding{Rule: RuleAtRisk, Level: LevelWarning, Message: risk.Subject + ": " + risk.Why, Cluster: cluster, Place: place})
		}
	}
	return slices.Concat(refused, waits, risks)
}

// Moves are notes of what only moved to another file.
func Moves(plans []plan.Plan, locate Locate) []Finding {
	var moved []Finding
	for _, p := range Fit(plans) {
		var place Place
		if locate != nil {
			place = locate(p.Namespace, p.Name)
		}
		for _, object := range p.Objects {
			if object.Change == plan.Moved {
				moved = append(moved, Finding{Rule: RuleMoved, Level: LevelNote, Message: objectName(p, object) + ": " + objectNote(p, object) + "; nothing is done for it", Cluster: title(p), Place: place})
			}
		}
	}
	return moved
}
