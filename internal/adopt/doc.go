// Package adopt looks at a cluster of crate-operator's with the rights of the person who runs the
// command, and carries out what ops/adopt decides, one write after the other. It looks again
// after each: whoever was killed in the middle runs the command again.
package adopt
