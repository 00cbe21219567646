package ops

// startShrink begins a drain where nodes are to leave; with masters, of
// dedicated masters only. It says whether one is due.
func (t *turn) startShrink(bool) bool { return false }

// shrink takes one that has begun a step further.
func (t *turn) shrink() {}
