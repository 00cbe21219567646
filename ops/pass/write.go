package pass

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
)

// Report adds a report of a transition. Its id is made of what is recorded, so that one that is
// reported again after a kill has the same id.
func (t *Pass) Report(r model.Report) {
	t.Record.Seq++
	h := sha256.Sum256([]byte(strings.Join([]string{
		t.Desired.Namespace + "/" + t.Desired.Name, strconv.FormatInt(t.Record.Seq, 10), t.Record.Revision, r.Reason, string(r.Event), string(r.Status), strings.Join(r.Names, ","),
	}, "\n")))
	r.ID = hex.EncodeToString(h[:16])
	r.Revision, r.Commit = t.Record.Revision, t.Record.Commit
	t.Decision.Reports = append(t.Decision.Reports, r)
}

// Feedback reports a change of something that is there, as crate-operator's event of that name.
// gates are those that the message names.
func (t *Pass) Feedback(action string, status model.Status, reason, message string, gates ...string) {
	t.Report(model.Report{
		Event: model.EventFeedback, Operation: "update", Action: action, Status: status,
		Reason: reason, Warning: status == model.StatusFailure, Message: message, Names: gates,
	})
}

// Warns waits with a reason, and reports it unless it was reported last; was is what the record has of that, and now what it gets.
func (t *Pass) Warns(r model.Reason, report string, was *string, now string) {
	t.Wait(r)
	if *was != now {
		*was = now
		t.Report(model.Report{Reason: report, Warning: true, Status: model.StatusFailure, Message: r.Message, Names: []string{r.Name}})
	}
}

// Wait adds a reason, once.
func (t *Pass) Wait(r model.Reason) {
	if !slices.Contains(t.Decision.Waits, r) {
		t.Decision.Waits = append(t.Decision.Waits, r)
	}
}

// Waits adds the reason of a gate that holds something up; true where it does.
func (t *Pass) Waits(r model.Reason, waits bool) bool {
	if waits {
		t.Wait(r)
	}
	return waits
}

// Refuse adds refusals.
func (t *Pass) Refuse(r ...model.Reason) { t.Decision.Refusals = append(t.Decision.Refusals, r...) }

// Refuses adds the reason of a gate that refuses something; true where it does.
func (t *Pass) Refuses(r model.Reason, refused bool) bool {
	if refused {
		t.Refuse(r)
	}
	return refused
}

// Harmless adds an action that never waits behind a disruptive one.
func (t *Pass) Harmless(a model.Action) { t.Decision.Harmless = append(t.Decision.Harmless, a) }

// SystemSecret is the name of the Secret of `system`, whether it exists or not.
func (t *Pass) SystemSecret() string {
	if t.System != "" {
		return t.System
	}
	if s := model.Find(t.Observed.Secrets, func(s *model.Secret) bool { return names.IsSystemSecret(s.Name, t.Desired.Name) }); s != nil {
		t.System = s.Name
	} else {
		t.System = names.SystemSecret(t.Desired.Name)
	}
	return t.System
}
