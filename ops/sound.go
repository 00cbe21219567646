package ops

import "fmt"

// Sound says whether a record is one that a decision could have left. Whoever
// may write ConfigMaps may write another; one without the part that its
// operation goes by is damaged, and is made again from what is live.
func (r *Record) Sound() error {
	op := r.Operation
	if op == nil {
		return nil
	}
	lacks := func(part string) error {
		return fmt.Errorf("an operation of kind %q has no part %q", op.Kind, part)
	}
	switch {
	case op.Kind == OperationUpgrade && op.Upgrade == nil:
		return lacks("upgrade")
	case (op.Kind == OperationUpgrade || op.Kind == OperationRestart) && op.Restart == nil:
		return lacks("restart")
	case op.Kind == OperationShrink && op.Shrink == nil:
		return lacks("shrink")
	}
	return nil
}
