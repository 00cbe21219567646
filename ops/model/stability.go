package model

import (
	"strings"
	"time"
)

// Stability is since when the database has been as it is. It is kept in the
// process only: a wait begins again with the process.
type Stability struct {
	// Since the same nodes have been there and the health has been the same;
	// zero while that is not known, or red.
	Since time.Time
	// Master is since when the master has been the same; zero without one.
	Master time.Time
	// Same is since when the same nodes have been there, whatever the health.
	Same time.Time
	// Unchanged is since when each node has applied the same version of the cluster state,
	// and no other; zero while they differ or one did not say. Nothing that the master knows
	// of has happened since, between two readings neither: no node has left or come back, no
	// shard has failed or moved, there was no other master.
	Unchanged time.Time
	// Unreachable is since when no node has answered though they were asked; zero while one
	// does.
	Unreachable time.Time

	nodes, master string
	colour        Colour
	version       int64
}

// Next is the stability after one more reading.
func (s Stability) Next(db *Database) Stability {
	if db.Contact == No {
		if s.Unreachable.IsZero() {
			s.Unreachable = db.At
		}
		return Stability{Unreachable: s.Unreachable}
	}
	if db.Contact != Yes || db.Recovered != Yes {
		return Stability{}
	}
	next := Stability{nodes: s.nodes, master: db.MasterNode, colour: db.Health.Colour}
	// Nodes that could not be read are not known to be the same.
	same := db.NodesKnown && s.sameNodes(db.Nodes)
	if !same {
		var ids strings.Builder
		for i := range db.Nodes {
			ids.WriteString(db.Nodes[i].ID)
			ids.WriteByte(',')
		}
		next.nodes = ids.String()
	}
	next.Same = db.At
	if same && !s.Same.IsZero() {
		next.Same = s.Same
	}
	if next.colour == Green || next.colour == Yellow {
		next.Since = db.At
		if !s.Since.IsZero() && same && s.colour == next.colour {
			next.Since = s.Since
		}
	}
	if next.version = db.StateVersion(); next.version > 0 {
		next.Unchanged = db.At
		if s.version == next.version && !s.Unchanged.IsZero() {
			next.Unchanged = s.Unchanged
		}
	}
	if next.master != "" {
		next.Master = db.At
		if !s.Master.IsZero() && s.master == next.master {
			next.Master = s.Master
		}
	}
	return next
}

// StateVersion is the version of the cluster state that all nodes have applied; 0 where they
// differ, one did not say, or there is no master, whose changes make it.
func (db *Database) StateVersion() int64 {
	if !db.NodesKnown || len(db.Nodes) == 0 || db.MasterNode == "" {
		return 0
	}
	version := db.Nodes[0].StateVersion
	for i := range db.Nodes {
		if db.Nodes[i].StateVersion != version {
			return 0
		}
	}
	return version
}

// sameNodes: these are the nodes of the reading before, in their order.
func (s *Stability) sameNodes(nodes []Node) bool {
	rest := s.nodes
	for i := range nodes {
		tail, ok := strings.CutPrefix(rest, nodes[i].ID)
		if !ok || tail == "" || tail[0] != ',' {
			return false
		}
		rest = tail[1:]
	}
	return rest == ""
}
