package model

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// SnapshotContents are the tables of one or more snapshots.
type SnapshotContents struct {
	// Sum is what TakenSnapshot.Contents has of it.
	Sum string `json:"sum"`
	// Tables are "schema.table", sorted, with line ends between them; "" for none.
	Tables string `json:"tables,omitempty"`
}

// maxContents is how long the lists of tables become, in bytes: the record of a cluster has room for so much.
const maxContents = 64 << 10

// NoteTables remembers which tables a snapshot of Taken has. Mostly they all have the same, so each list is there once. Where
// there is no room for all, those of the oldest snapshots are forgotten.
func (b *Backups) NoteTables(snapshot string, names []string) {
	at := slices.IndexFunc(b.Taken, func(k TakenSnapshot) bool { return k.Name == snapshot })
	if at < 0 {
		return
	}
	added := b.contentsOf(names)
	if b.Taken[at].Contents != added.Sum {
		b.Taken = slices.Clone(b.Taken)
		b.Taken[at].Contents = added.Sum
	}
	all := append(slices.Clip(b.Contents), added)
	b.Contents = nil
	room := maxContents
	for _, k := range slices.Backward(b.Taken) {
		i := slices.IndexFunc(all, func(c SnapshotContents) bool { return c.Sum == k.Contents })
		if i < 0 || slices.Contains(b.Contents, all[i]) {
			continue
		}
		if room -= len(all[i].Tables); room < 0 {
			return
		}
		b.Contents = append(b.Contents, all[i])
	}
}

// contentsOf are these tables, as they are noted.
func (b *Backups) contentsOf(names []string) SnapshotContents {
	if !slices.IsSorted(names) {
		names = slices.Sorted(slices.Values(names))
	}
	text := strings.Join(names, "\n")
	if same := Find(b.Contents, func(c *SnapshotContents) bool { return c.Tables == text }); same != nil {
		return *same // as mostly
	}
	sum := sha256.Sum256([]byte(text))
	return SnapshotContents{Sum: hex.EncodeToString(sum[:])[:16], Tables: text}
}

// TablesOf are the tables of a snapshot of Taken, sorted; known is false where nobody has recorded them.
func (b *Backups) TablesOf(k *TakenSnapshot) (names []string, known bool) {
	i := slices.IndexFunc(b.Contents, func(c SnapshotContents) bool { return c.Sum == k.Contents })
	if i < 0 {
		return nil, false
	}
	if b.Contents[i].Tables == "" {
		return []string{}, true
	}
	return strings.Split(b.Contents[i].Tables, "\n"), true
}
