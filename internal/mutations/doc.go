// Package mutations lists the guards that keep a cluster's data safe, each with
// the test that goes red without it. A soak run takes them out one by one, by a
// build overlay, and sees the test fail: a test that stays green guards nothing.
//
// A guard is named by the function that it stands in: so a refactoring that moves
// the function changes nothing here.
package mutations
