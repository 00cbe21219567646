package model

import (
	"fmt"
	"slices"

	"stevedore.dev/stevedore/render/definition"
)

// Validate says whether a record is one that a decision could have left. Whoever
// may write ConfigMaps may write another; one without the part that its
// operation goes by is damaged, and is recreated from what is live.
func (r *Record) Validate() error {
	for _, sets := range [][]RecordedSet{r.Sets, r.Suspended} {
		if err := Countable(sets); err != nil {
			return err
		}
	}
	op := r.Operation
	if op == nil {
		return nil
	}
	lacks := func(part string) error {
		return fmt.Errorf("an operation of kind %q has no part %q", op.Kind, part)
	}
	for _, sets := range [][]RecordedSet{op.From, op.To} {
		if err := Countable(sets); err != nil {
			return err
		}
	}
	switch {
	case op.Kind == OperationUpgrade && op.Upgrade == nil:
		return lacks("upgrade")
	case (op.Kind == OperationUpgrade || op.Kind == OperationRestart) && op.Restart == nil:
		return lacks("restart")
	case (op.Kind == OperationShrink || op.Kind == OperationReplace || op.Kind == OperationRemoveDisks) && op.Shrink == nil:
		return lacks("shrink")
	case op.Shrink != nil && drains(op.Step) && r.Exclusions == nil:
		return lacks("exclusions")
	case op.Shrink != nil && (drains(op.Step) || op.Step == StepClaims) && !slices.ContainsFunc(r.Sets, func(s RecordedSet) bool { return s.Name == op.Shrink.Set }):
		return fmt.Errorf("StatefulSet %q is drained, and is not recorded", op.Shrink.Set)
	}
	return nil
}

// drains reports whether a shrink has excluded nodes, or is about to: they are recorded together.
func drains(step string) bool {
	return step == StepExclude || step == StepDrain || step == StepSmaller || step == StepGone
}

// Countable refuses numbers of replicas that no definition may have: a list is made with an
// entry for each node, and no number in a record may make it as long as it likes.
func Countable(sets []RecordedSet) error {
	for _, s := range sets {
		if s.Replicas < 0 || s.Replicas > definition.MaxReplicas {
			return fmt.Errorf("StatefulSet %s has %d replicas, which no definition may have", s.Name, s.Replicas)
		}
	}
	return nil
}
