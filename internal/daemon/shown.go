package daemon

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unicode"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// noteShown puts into the next record what is said of a cluster for which nothing is done, and since when that is so.
func noteShown(before, next *model.Record, decision model.Decision, problems []string, now time.Time) {
	next.Shown = shown(before.Shown, decision, problems, false, now)
	next.Shown.Since = since(before, next, now)
}

// shown puts a decision in words. Where the operation has come to
// another step the record is written anyway, and numbers of the step before say nothing of this one.
func shown(before model.Shown, decision model.Decision, problems []string, stepped bool, now time.Time) model.Shown {
	out := model.Shown{Verdict: decision.Verdict.String(), Since: before.Since, Problems: problems, Progress: decision.Progress, Lease: before.Lease, Kept: before.Kept}
	for _, reason := range decision.Waits {
		kind := "wait"
		if gates.Informs(reason.Name) {
			kind = "information"
		}
		out.Reasons = append(out.Reasons, model.ShownReason{Kind: kind, Name: reason.Name, Message: reason.Message})
	}
	for _, reason := range decision.Refusals {
		out.Reasons = append(out.Reasons, model.ShownReason{Kind: "refusal", Name: reason.Name, Message: reason.Message})
	}
	if len(problems) > 0 {
		out.Verdict = model.Refuse.String()
	}
	same := before.Verdict == out.Verdict && slices.Equal(before.Problems, problems) &&
		slices.EqualFunc(before.Reasons, out.Reasons, func(a, b model.ShownReason) bool { return a.Kind == b.Kind && a.Name == b.Name }) &&
		(out.Progress == nil) == (before.Progress == nil)
	moved := !slices.Equal(before.Reasons, out.Reasons) || !equalProgress(before.Progress, out.Progress)
	refresh := shownRefresh
	if out.Progress != nil || !slices.EqualFunc(before.Reasons, out.Reasons, sameWords) {
		refresh = progressRefresh
	}
	tooSoon := !stepped && now.Sub(before.At) < refresh
	if same && (!moved || tooSoon) {
		// Numbers in a message move all the time; they are not worth a write each.
		return before
	}
	out.At = now.UTC().Truncate(time.Second)
	return out
}

// stepped reports whether the operation is another one, or at another step.
func stepped(before, next *model.Record) bool {
	if before.Operation == nil || next.Operation == nil {
		return before.Operation != next.Operation
	}
	return before.Operation.Kind != next.Operation.Kind || before.Operation.Step != next.Operation.Step
}

// withoutPast leaves out the reasons and the progress that a decision has no more. If no reason is left, the daemon acts.
func withoutPast(before model.Shown, decision model.Decision, now time.Time) model.Shown {
	out := before
	out.Progress = decision.Progress
	out.Reasons = slices.DeleteFunc(slices.Clone(before.Reasons), func(r model.ShownReason) bool {
		return !slices.ContainsFunc(decision.Waits, func(w model.Reason) bool { return w.Name == r.Name })
	})
	if len(out.Reasons) == 0 && len(before.Reasons) > 0 && len(before.Problems) == 0 {
		out.Verdict, out.At = model.Act.String(), now.UTC().Truncate(time.Second)
	}
	return out
}

// brokenBy is the first commit with the problems that are shown; "" without problems.
func brokenBy(before, shown model.Shown, want wanted) string {
	switch {
	case len(shown.Problems) == 0:
		return ""
	case before.Commit != "" && slices.Equal(before.Problems, shown.Problems):
		return before.Commit
	}
	return cmp.Or(want.newest, want.commit)
}

// StateOf is what people call the state of a cluster: other reasons for the same state are no other state. A record is
// written before its words are: an operation that has just begun is not done.
func StateOf(r *model.Record) string {
	if len(r.Shown.Problems) > 0 {
		return "broken"
	}
	for _, rule := range []gates.Rule{gates.ReleasedRule, gates.PausedRule, gates.OrphanedRule} {
		if slices.ContainsFunc(r.Shown.Reasons, func(shown model.ShownReason) bool { return shown.Name == rule.Name }) {
			return rule.Name
		}
	}
	switch {
	case r.Shown.Verdict == model.Refuse.String():
		return "refused"
	case r.IsSuspended():
		return "suspended"
	case r.Shown.Verdict == model.Wait.String():
		return "waiting"
	case r.Shown.Verdict == model.Done.String() && r.Operation == nil:
		return "done"
	}
	return "working"
}

// since is when the state began that a status shows.
func since(before, next *model.Record, now time.Time) time.Time {
	switch {
	case before.Shown.Since.IsZero():
		return next.Shown.At
	case StateOf(before) != StateOf(next):
		return now.UTC().Truncate(time.Second)
	}
	return before.Shown.Since
}

// shownRefresh is how old recorded words with outdated numbers may get.
const shownRefresh = 30 * time.Second

// progressRefresh is the same while an operation runs that somebody may watch, and where more
// than numbers has changed: why a pod is missing is known only after it is said to be.
const progressRefresh = 5 * time.Second

// sameWords: two messages differ in their numbers at most.
func sameWords(a, b model.ShownReason) bool {
	words := func(message string) string {
		return strings.Map(func(c rune) rune {
			if unicode.IsDigit(c) {
				return -1
			}
			return c
		}, message)
	}
	return a.Kind == b.Kind && a.Name == b.Name && (a.Message == b.Message || words(a.Message) == words(b.Message))
}

func equalProgress(a, b *model.Progress) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func problemTexts(problems []definition.Problem) []string {
	var texts []string
	for _, problem := range problems {
		texts = append(texts, problem.String())
	}
	return texts
}

// brokenDefinition reports a definition that cannot be used, once for the same mistakes:
// who pushed it may look at the webhook only. The id is made of what is told,
// so that a kill before the record is saved tells no other report.
func brokenDefinition(key record.Cluster, before model.Shown, problems []string, want wanted) []model.Report {
	// Why the source is held is a report of its own.
	own := func(all []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(text string) bool { return want.held.message != "" && text == want.held.message })
	}
	if problems = own(problems); len(problems) == 0 || slices.Equal(own(before.Problems), problems) {
		return nil
	}
	sum := sha256.Sum256([]byte(key.String() + "\x00" + cmp.Or(want.newest, want.commit) + "\x00" + strings.Join(problems, "\x00")))
	return []model.Report{{
		ID: "broken-" + hex.EncodeToString(sum[:12]), Event: model.EventFeedback, Status: model.StatusFailure,
		Operation: "update", Action: "unknown", Commit: cmp.Or(want.newest, want.commit), Reason: "DefinitionBroken", Warning: true,
		Message: "the newest definition is not used, the cluster stays as it was: " + strings.Join(problems, "; "),
		Names:   []string{"definition-broken"},
	}}
}
