package ops

import (
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/gates"
)

// Reference is a Secret that nodes read when they start.
type Reference struct {
	// Secret is its name, What the fields of the definition that name it,
	// "spec.cluster.ssl.keystore".
	Secret string
	What   []string
}

// RecordedReference is how a Secret was when it was last looked at.
type RecordedReference struct {
	Secret  string        `json:"secret"`
	Version SecretVersion `json:"version"`
	// Changed is when another version was first seen; zero while every pod has
	// started with the one that it is.
	Changed time.Time `json:"changed"`
}

// references says what a Secret needs that has changed since the nodes read it.
// Nothing is restarted for it: when that suits is for a person to say.
func (t *turn) references() {
	if !t.r.Bootstrap.Done {
		return
	}
	var next []RecordedReference
	for _, ref := range t.d.References {
		s := t.secret(ref.Secret)
		i := slices.IndexFunc(t.r.References, func(r RecordedReference) bool { return r.Secret == ref.Secret })
		if !s.Exists {
			// Its pods could not start; what was known of it stays known.
			if i >= 0 {
				next = append(next, t.r.References[i])
			}
			continue
		}
		known := RecordedReference{Secret: ref.Secret, Version: s.Version}
		if i >= 0 {
			known = t.r.References[i]
		}
		changed := known.Version != s.Version
		if changed {
			known.Version, known.Changed = s.Version, t.now
		}
		before := t.startedBefore(known.Changed)
		if known.Changed.IsZero() || before == 0 {
			known.Changed = time.Time{}
			next = append(next, known)
			continue
		}
		reason := gates.SecretChanged(ref.Secret, strings.Join(ref.What, ", "), before)
		t.wait(reason)
		if changed {
			t.report(Report{Reason: "SecretChanged", Status: StatusInProgress, Message: reason.Message, Names: []string{reason.Name}})
		}
		next = append(next, known)
	}
	if !slices.EqualFunc(next, t.r.References, sameReference) {
		t.r.References = next
	}
}

// startedBefore counts the pods whose process may have read what was there
// before a time; Kubernetes gives the start of one in whole seconds.
func (t *turn) startedBefore(when time.Time) int {
	n := 0
	for i := range t.o.Pods {
		if p := &t.o.Pods[i]; !p.Started.IsZero() && p.Started.Before(when) {
			n++
		}
	}
	return n
}
