package ops

// startUpgrade begins a rolling restart onto another version where one is
// wanted; it says whether that is due.
func (t *turn) startUpgrade() bool { return false }
