// Package backup decides when a snapshot is taken, where it goes and how long it is kept. The
// daemon is the scheduler: a window that is due is recorded as running before CREATE SNAPSHOT, and
// what became of it is read from sys.snapshots, whoever asked for it. Only SUCCESS counts.
//
// Snapshots and operations wait for each other in a fixed order: a window that is due goes before an
// operation that has not begun, and after one that has. Neither waits longer than maxDelay without
// that being said, and an operation that is then between two pods lets the snapshot pass.
package backup
