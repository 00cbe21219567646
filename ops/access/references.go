package access

import (
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
)

// References names each Secret that has changed since nodes read it. A person says when to
// restart.
func References(t *pass.Pass) {
	if !t.Record.Bootstrap.Done {
		return
	}
	var next []model.RecordedReference
	for _, ref := range t.Desired.References {
		s := t.Secret(ref.Secret)
		i := slices.IndexFunc(t.Record.References, func(r model.RecordedReference) bool { return r.Secret == ref.Secret })
		if !s.Exists {
			// Its pods could not start; what was known of it stays known.
			if i >= 0 {
				next = append(next, t.Record.References[i])
			}
			continue
		}
		known := model.RecordedReference{Secret: ref.Secret, Version: s.Version}
		if i >= 0 {
			known = t.Record.References[i]
		}
		changed := known.Version != s.Version
		if changed {
			known.Version, known.Changed = s.Version, t.Now
		}
		// Pods whose process may have read what was there before. Kubernetes gives the start in whole seconds.
		before := model.Count(t.Observed.Pods, func(p *model.Pod) bool { return !p.Started.IsZero() && p.Started.Before(known.Changed) })
		if known.Changed.IsZero() || before == 0 {
			known.Changed = time.Time{}
			next = append(next, known)
			continue
		}
		reason := gates.SecretChanged(ref.Secret, strings.Join(ref.What, ", "), before)
		t.Wait(reason)
		if changed {
			t.Report(model.Report{Reason: "SecretChanged", Status: model.StatusInProgress, Message: reason.Message, Names: []string{reason.Name}})
		}
		next = append(next, known)
	}
	if !slices.EqualFunc(next, t.Record.References, model.SameReference) {
		t.Record.References = next
	}
}
