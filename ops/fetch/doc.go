// Package fetch restores tables of a snapshot into a cluster that runs: on trial, to prove the snapshot, or because a
// person asked for them. It decides purely, as all of ops does.
package fetch
