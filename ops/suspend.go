package ops

// startSuspend stops all nodes where all groups are wanted at 0; it says whether
// that is due.
func (t *turn) startSuspend() bool { return false }

// startResume starts what was suspended; it says whether that is due.
func (t *turn) startResume() bool { return false }

// suspend takes a suspension or its end a step further.
func (t *turn) suspend() {}
