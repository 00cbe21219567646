package model

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
)

// Evidence is what two witnesses beside `system` say of a node that is to leave. What
// `system` is shown depends on its privileges, so it is never the only one that is asked.
type Evidence struct {
	// Pod is the leaving node's, Node its name.
	Pod, Node string
	// Superuser is the user `crate`, by exec: no privilege hides anything from it. Shards
	// are those that it sees on the nodes that leave, and those that are not started.
	Superuser Witness
	Shards    []SeenShard
	// Volume is that of the node, by exec. Folders are the shards that lie on it.
	Volume  Witness
	Folders []ShardFolder
	// Elsewhere are the shards that the superuser sees started on nodes that stay; it is
	// read only for a node that may leave with such copies.
	Elsewhere []SeenShard
}

// Witness says whether somebody could be asked.
type Witness struct {
	// Had is true when there is an answer. Why says, redacted, why there is none.
	Had bool
	Why string
}

// SeenShard is a row of sys.shards as the superuser reads it.
type SeenShard struct {
	Schema, Table, Partition string
	ID                       int
	// State is routing_state. Node and NodeName are "" for a copy that is on no node.
	State, Node, NodeName string
	// To is the node id that it relocates to; "" for none.
	To string
	// UUID is the index's, of the path of a copy that is on a node.
	UUID string
}

// ShardFolder is a shard's folder on a volume: PATH/nodes/0/indices/UUID/ID.
type ShardFolder struct {
	UUID string
	ID   int
	Path string
}

// Examination says which witnesses are to be asked, and of which nodes.
type Examination struct {
	// IDs and Names are those of all nodes that leave.
	IDs, Names []string
	// Pods are asked for themselves: the superuser in them, and their volume.
	Pods []string
	// Absent are pods without a node that could be asked. The superuser in Ask is asked
	// for them.
	Absent []string
	Ask    string
	// Elsewhere: a copy that is started elsewhere too may stay on them.
	Elsewhere bool
}

// Wanted reports whether anybody has to be asked.
func (x *Examination) Wanted() bool { return len(x.Pods)+len(x.Absent) > 0 }

// Verdict is what the evidence of one examination comes to: each node needs the superuser
// or its volume beside `system`, and none that was asked may see a shard that would be
// lost. holds is true where a node may not leave.
func (x *Examination) Verdict(all []Evidence) (reason gates.Reason, holds bool) {
	for _, pod := range slices.Concat(x.Pods, x.Absent) {
		i := slices.IndexFunc(all, func(e Evidence) bool { return e.Pod == pod })
		if i < 0 {
			return gates.EvidenceUnread(pod), true
		}
		e := &all[i]
		if seen := e.lost(x); len(seen) > 0 {
			return gates.SuperuserSeesShards(pod, seen), true
		}
		if left := e.folders(x); len(left) > 0 {
			return gates.VolumeHasShards(pod, left), true
		}
	}
	for _, pod := range slices.Concat(x.Pods, x.Absent) {
		e := &all[slices.IndexFunc(all, func(e Evidence) bool { return e.Pod == pod })]
		if !e.Superuser.Had && !e.Volume.Had {
			return gates.EvidenceMissing(pod, e.Superuser.Why, e.Volume.Why), true
		}
	}
	return gates.Reason{}, false
}

// lost are the shards that the superuser sees and that would be lost, in words.
func (e *Evidence) lost(x *Examination) []string {
	var out []string
	for i := range e.Shards {
		s := &e.Shards[i]
		if x.Elsewhere && s.State == shardStarted && e.elsewhere(func(o *SeenShard) bool {
			return o.Schema == s.Schema && o.Table == s.Table && o.Partition == s.Partition && o.ID == s.ID
		}) {
			continue
		}
		out = append(out, s.words())
	}
	return Distinct(out)
}

// folders on the volume that count: all, but where a node may leave with copies, those of
// which no other started one is known.
func (e *Evidence) folders(x *Examination) []string {
	var out []string
	for i := range e.Folders {
		f := &e.Folders[i]
		if x.Elsewhere && e.elsewhere(func(o *SeenShard) bool { return o.UUID != "" && o.UUID == f.UUID && o.ID == f.ID }) {
			continue
		}
		out = append(out, f.Path)
	}
	return Distinct(out)
}

const shardStarted = "STARTED"

func (e *Evidence) elsewhere(is func(*SeenShard) bool) bool {
	for i := range e.Elsewhere {
		if o := &e.Elsewhere[i]; o.State == shardStarted && is(o) {
			return true
		}
	}
	return false
}

func (s *SeenShard) words() string {
	where := " (" + strings.ToLower(s.State)
	if s.NodeName != "" {
		where += " on " + s.NodeName
	}
	return s.Schema + "." + s.Table + where + ")"
}

// NodeEvidence is who has found a node empty before it left.
type NodeEvidence struct {
	Node string `json:"node"`
	// By are some of "system", "superuser" and "volume", joined by commas.
	By string `json:"by"`
	// Without says of each that could not be asked why, redacted; "" where all could.
	Without string `json:"without,omitempty"`
}

// Witnessed is what is recorded of an examination that found the nodes empty.
func (x *Examination) Witnessed(all []Evidence, leaving []LeavingNode) []NodeEvidence {
	var out []NodeEvidence
	for _, n := range leaving {
		if !slices.Contains(x.Names, n.Name) {
			continue
		}
		by, without := []string{"system"}, []string(nil)
		note := func(name string, w Witness) {
			if w.Had {
				by = append(by, name)
			} else {
				without = append(without, name+": "+w.Why)
			}
		}
		for i := range all {
			if all[i].Pod == n.Pod {
				note("superuser", all[i].Superuser)
				note("volume", all[i].Volume)
			}
		}
		out = append(out, NodeEvidence{Node: n.Name, By: strings.Join(by, ","), Without: strings.Join(without, "; ")})
	}
	return out
}

// words say it for an event.
func (n NodeEvidence) words() string {
	words := n.Node + " (asked: user " + strings.ReplaceAll(n.By, ",", ", ")
	switch {
	case n.Without != "":
		words += "; could not be asked: " + n.Without
	case n.By == "system":
		words += "; CrateDB never started on its volume"
	}
	return words + ")"
}

// EmptyBy says of the nodes that have left who found them empty.
func (sh *Shrink) EmptyBy() string {
	if len(sh.Evidence) == 0 {
		return ""
	}
	var all []string
	for _, n := range sh.Evidence {
		all = append(all, n.words())
	}
	return ": " + strings.Join(all, "; ")
}
