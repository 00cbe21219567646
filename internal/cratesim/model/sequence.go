package model

// MaxSeqNo is the last sequence number that the shard has given, -1 for none. Each row that is
// written, changed or deleted takes one. A restored shard goes on after those that it had in
// its snapshot. Blobs are files and take none (run on 6.3.7 and 6.4.3).
func (s *Shard) MaxSeqNo() int64 { return s.operations - 1 }

// Insert appends rows that have passed the gate. Each is an operation on the shard that has
// one row more then, as Docs counts.
func (n *Node) Insert(ix *Index, rows [][]any) {
	for _, row := range rows {
		ix.operation(len(ix.Rows))
		ix.Rows = append(ix.Rows, row)
	}
	n.m.changes++
}

// Replace puts rows in the place of all rows of the index: so many of them are changed, and
// those that there are less are deleted.
func (n *Node) Replace(ix *Index, rows [][]any, changed int) {
	for at := len(ix.Rows) - 1; at >= len(rows); at-- {
		ix.operation(at)
	}
	for at := range changed {
		ix.operation(at)
	}
	ix.Rows = rows
	n.m.changes++
}

// operation is one on the shard that would have the row if all rows before it were there and
// none after it.
func (ix *Index) operation(row int) {
	if !ix.Table.Blob {
		ix.shards[row%len(ix.shards)].operations++
	}
}
