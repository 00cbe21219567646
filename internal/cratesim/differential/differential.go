// Package differential compares the CrateDB simulator with a real CrateDB: random
// situations, made from a seed, are applied to both, and after each step the answers
// of every statement that this program sends are compared, as `system` and as `crate`.
// A difference is shrunk to the least list of steps and kept as a case (cases.txt).
//
// The one thing in which the two may differ is the balancer's choice among nodes that
// may all take a shard. After each step the simulator is therefore given the placement
// to which CrateDB came, and two things are asked of it: that its deciders allow every
// copy to be where CrateDB has put it, and that nothing moves from there by itself. So
// the deciders, which say where a shard may go, are compared; the balancer, which
// chooses, is not.
//
// docs/differential.md says how to run it and what was found.
package differential

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Nodes is how many nodes each cluster has. n0 is the only one that can be master, so
// that both clusters have the same; n0 and n1 are in zone a, n2 in zone b, n3 has no
// zone and is the one that comes and goes.
const Nodes = 4

// zones of the nodes, by number; "" is none. halls are another attribute, of which all nodes force the values.
var (
	zones = [Nodes]string{"a", "a", "b", ""}
	halls = [Nodes]string{"x", "x", "y", "z"}
)

func nodeName(i int) string { return fmt.Sprintf("n%d", i) }

// Step is one thing that happens to both clusters: a statement of a user, a node that
// starts, stops (TERM) or is killed, or files of repositories that are lost or locked.
type Step struct {
	// User is "crate" or "system" for a statement, else "start", "stop" or "kill", or "lose",
	// "lock" or "unlock".
	User string
	// Text is the statement, the node's name, or a pattern of files below path.repo: those
	// that are lost are deleted, and nobody can read or write in a folder that is locked.
	// In a statement {n1.id}, {n1.ip} and {n1.name} stand
	// for a node; {doc.t0.1.p}, .r and .x for the node's name that has the primary of
	// shard 1, a replica of it, or no copy of it; {n} for the number of the situation. After
	// " <- " stands a list of what is bound.
	Text string
}

// bound are a statement and what is bound to it: SELECT $1 <- ["x"].
func (s Step) bound() (statement string, arguments []any, err error) {
	statement, list, ok := strings.Cut(s.Text, " <- ")
	if ok {
		err = json.Unmarshal([]byte(list), &arguments)
	}
	return statement, arguments, err
}

// String is a line of a case: "crate | SELECT 1".
func (s Step) String() string { return s.User + " | " + s.Text }

// ParseStep reads a line of a case.
func ParseStep(line string) (Step, error) {
	user, text, ok := strings.Cut(line, " | ")
	s := Step{strings.TrimSpace(user), strings.TrimSpace(text)}
	switch s.User {
	case "crate", "system", "start", "stop", "kill", "lose", "lock", "unlock":
	default:
		ok = false
	}
	if !ok {
		return Step{}, fmt.Errorf("%q is no step: want \"crate | STATEMENT\", \"system | STATEMENT\" \"start|stop|kill | NODE\" or \"lose|lock|unlock | FILES\"", line)
	}
	return s, nil
}

// Difference is where the simulator and CrateDB part.
type Difference struct {
	// Step is the number of the step after which they differed, from 0.
	Step int
	// Question is what was asked: a statement's name and user, "answer" for the step's
	// own answer, "placement" for where the copies are.
	Question string
	// Real and Simulated are the two answers, normalised.
	Real, Simulated string
}

func (d *Difference) String() string {
	return fmt.Sprintf("after step %d, %s:\n%s", d.Step+1, d.Question, d.Words())
}

// Words are the lines of the two answers that the other does not have, or not so often.
func (d *Difference) Words() string {
	real, simulated := without(d.Real, d.Simulated), without(d.Simulated, d.Real)
	var out []string
	for _, l := range real {
		out = append(out, "  CrateDB:   "+l)
	}
	for _, l := range simulated {
		out = append(out, "  simulator: "+l)
	}
	return strings.Join(out, "\n")
}

// without are the lines of a text that another does not have, or not so often.
func without(text, other string) (out []string) {
	rest := strings.Split(other, "\n")
	for l := range strings.SplitSeq(text, "\n") {
		if i := slices.Index(rest, l); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		} else {
			out = append(out, l)
		}
	}
	return out
}
