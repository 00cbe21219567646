// Package aim answers what a cluster is held to now: which template and how many replicas
// each StatefulSet gets, which set is tried first, and what of a definition is refused.
package aim
