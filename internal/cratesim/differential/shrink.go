package differential

import (
	"context"
	"errors"
	"slices"
)

// Shrink drops steps one by one while run still gives a difference to the same
// question, and gives what is left with its difference. The steps after the difference
// go first.
func Shrink(ctx context.Context, steps []Step, d *Difference, run func(context.Context, []Step) (*Difference, error)) ([]Step, *Difference, error) {
	steps = slices.Clone(steps[:d.Step+1])
	for dropped := true; dropped; {
		dropped = false
		for i := len(steps) - 1; i >= 0; i-- {
			fewer := slices.Delete(slices.Clone(steps), i, i+1)
			if len(fewer) == 0 {
				continue
			}
			now, err := run(ctx, fewer)
			if err != nil {
				if errors.Is(err, errNotQuiet) {
					continue
				}
				return steps, d, err
			}
			if now == nil || now.Question != d.Question {
				continue
			}
			steps, d, dropped = fewer[:now.Step+1], now, true
			i = min(i, len(steps))
		}
	}
	return steps, d, nil
}
