// Package adopt decides how a cluster that crate-operator has made becomes stevedore's while it
// runs, and how it goes back: what forbids it, and which writes come in which order. It is pure: it
// is given one look at everything and answers with the next writes, so that whoever was killed in
// the middle looks again and goes on.
package adopt
