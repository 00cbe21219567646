// Package lifecycle holds how a cluster comes, stops and goes: whose it is, its bootstrap,
// suspension and resume, its removal and release, and a record that was lost.
package lifecycle
