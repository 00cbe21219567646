package adopt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/ops/adopt"
)

// Plan is what would be done, or why nothing is.
type Plan struct {
	Refusals []adopt.Refusal `json:"refusals,omitempty"`
	Steps    []adopt.Step    `json:"steps,omitempty"`
	// Reading is what it rests on.
	Reading *adopt.Reading `json:"-"`
}

// Plan looks and decides, and writes nothing.
func (m *Mover) Plan(ctx context.Context, wish adopt.Wish) (Plan, error) {
	r, err := m.Look(ctx, wish)
	if err != nil {
		return Plan{}, err
	}
	steps := adopt.Steps(r, wish)
	r.Missing = m.missing(ctx, steps, nil)
	return Plan{Refusals: adopt.Refusals(r, wish), Steps: steps, Reading: r}, nil
}

// RefusedError is for a cluster that is not adopted, or not given back. Nothing was written by
// the run that returns it first.
type RefusedError struct{ Refusals []adopt.Refusal }

func (e *RefusedError) Error() string {
	var out []string
	for _, one := range e.Refusals {
		out = append(out, one.Name+": "+one.Message)
	}
	return strings.Join(out, "\n")
}

// Run takes one step after the other until none is left, and says each before it is done. It ends
// with a *RefusedError where something forbids the next one. It takes only steps that its first look has
// named, which are those of Plan.
func (m *Mover) Run(ctx context.Context, wish adopt.Wish, say func(adopt.Step) error) (*adopt.Reading, error) {
	granted := map[string]bool{}
	var announced []adopt.Step
	for {
		r, err := m.Look(ctx, wish)
		if err != nil {
			return nil, err
		}
		steps := adopt.Steps(r, wish)
		if r.Missing = m.missing(ctx, steps, granted); len(r.Missing) == 0 {
			for _, right := range rightsFor(steps) {
				granted[right.String()] = true
			}
		}
		if refusals := adopt.Refusals(r, wish); len(refusals) > 0 {
			return r, &RefusedError{refusals}
		}
		if len(steps) == 0 {
			return r, nil
		}
		if announced == nil {
			announced = steps
		}
		next := steps[0]
		if next.Unannounced(announced) {
			return r, fmt.Errorf("%s: this step is in addition to those that --dry-run names, because somebody has changed something since this run began: what is done stays done; read --dry-run again, then run the command again", next)
		}
		if err := say(next); err != nil {
			return r, err
		}
		if next.Verb == adopt.Await {
			err = m.awaits(ctx, next, wish)
		} else {
			err = m.do(ctx, r, next)
		}
		if err != nil {
			return r, err
		}
		if next.Verb == adopt.Forget {
			return r, nil
		}
	}
}

// awaits looks until a step is not the next one any more.
func (m *Mover) awaits(ctx context.Context, step adopt.Step, wish adopt.Wish) error {
	return m.until(ctx, step.String(), func(ctx context.Context) (bool, error) {
		r, err := m.Look(ctx, wish)
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(adopt.Steps(r, wish), func(s adopt.Step) bool { return s.Verb == adopt.Await && s.Object == step.Object }), nil
	})
}

// right is one that a step needs.
type right struct{ verb, group, resource string }

func (r right) String() string {
	if r.group == "" {
		return r.verb + " " + r.resource
	}
	return r.verb + " " + r.resource + "." + r.group
}

// rightsFor are the rights that steps need.
func rightsFor(steps []adopt.Step) []right {
	var out []right
	need := func(group, resource string, verbs ...string) {
		for _, verb := range verbs {
			if one := (right{verb, group, resource}); !slices.Contains(out, one) {
				out = append(out, one)
			}
		}
	}
	for _, s := range steps {
		switch s.Verb {
		case adopt.Save, adopt.Note:
			need("", "configmaps", "create", "update")
		case adopt.NoteBack, adopt.KeepSet, adopt.NoteMade:
			need("", "configmaps", "update")
		case adopt.Forget:
			need("", "configmaps", "delete")
		case adopt.ResetSettings:
			need("", "pods/portforward", "create")
		case adopt.SuspendJob, adopt.Detach, adopt.Attach, adopt.NoteCluster:
			need(s.Dependent.Resource.Group, s.Dependent.Resource.Resource, "patch")
		case adopt.CloseBudget:
			need("policy", "poddisruptionbudgets", "create", "patch", "delete") // at last it goes
		case adopt.DropBudget:
			need("policy", "poddisruptionbudgets", "delete")
		case adopt.RestoreBudget:
			need("policy", "poddisruptionbudgets", "create", "update")
		case adopt.Orphan:
			need("apps", "statefulsets", "delete")
		case adopt.Create:
			need("apps", "statefulsets", "create", "patch")
		case adopt.DeleteObject:
			need("cloud.crate.io", "cratedbs", "delete")
		case adopt.Unfinalize:
			need("cloud.crate.io", "cratedbs", "update")
		default:
			writtenRights(s, need)
		}
	}
	return out
}

// missing are the rights that the person lacks, but those that were granted a moment ago. What
// cannot be asked is missing.
func (m *Mover) missing(ctx context.Context, steps []adopt.Step, granted map[string]bool) (out []string) {
	for _, one := range rightsFor(steps) {
		if granted[one.String()] {
			continue
		}
		resource, sub, _ := strings.Cut(one.resource, "/")
		review, err := m.Client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: m.Cluster.Namespace, Verb: one.verb, Group: one.group, Resource: resource, Subresource: sub,
			}},
		}, metav1.CreateOptions{})
		switch {
		case err != nil:
			out = append(out, fmt.Sprintf("%s (it cannot be asked: %s)", one, reason(err)))
		case !review.Status.Allowed:
			out = append(out, one.String())
		}
	}
	return out
}
