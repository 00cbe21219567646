package model

// Closed reports ALTER TABLE CLOSE of the table as a whole.
func (t *Table) Closed() bool { return t.closed }

// Closed reports that of the table or of this partition alone.
func (ix *Index) Closed() bool { return ix.closed }

// Active reports whether each shard of the table has an active primary.
func (t *Table) Active() bool {
	for _, ix := range t.Indexes() {
		for _, s := range ix.shards {
			if !s.primaryActive() {
				return false
			}
		}
	}
	return true
}

// SetClosed is ALTER TABLE OPEN and CLOSE of a table or of one partition of it. Their shards
// start again where that changes anything: CrateDB keeps those of closed tables too, with other engines.
func (n *Node) SetClosed(t *Table, only *Index, closed bool) *Error {
	if err := n.ChangeGate(); err != nil {
		return err
	}
	if closed {
		if ix := n.cluster.beingRestored(t); ix != nil {
			return ErrIllegalArgument("Cannot close indices that are being restored: [[%s/%s]]", ix.name(), ix.uuid)
		}
	}
	targets := t.Indexes()
	if only != nil {
		targets = []*Index{only}
	} else {
		t.closed = closed
	}
	for _, ix := range targets {
		if ix.closed != closed {
			ix.startAgain()
		}
		if ix.closed = closed; closed {
			n.cluster.snapshotsAbort(ix)
		}
	}
	n.m.touch()
	n.m.settle()
	return nil
}
