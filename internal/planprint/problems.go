package planprint

import "stevedore.dev/stevedore/render/definition"

// ProblemLine is a problem on one line, as compilers print theirs:
// file:line:column: path: message. Nothing in it acts on a terminal.
func ProblemLine(p definition.Problem) string { return plain(p.String()) }
