package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// Observation is what is published of a cluster for those who have no way to
// its database: a plan in CI has its numbers from here. It holds no secret and
// no name that a person did not put into the definition or into a table's name.
type Observation struct {
	// At is when the oldest of what is in it was read: how the tables lie is read less
	// often than the rest.
	At time.Time `json:"at"`
	// Seq is how many transitions the record counted by then: an operation whose
	// end a killed process did not publish is published by the next one.
	Seq int64 `json:"seq,omitempty"`
	// Owner is the source that the cluster belongs to: it outlives the record, so
	// that another source cannot take over a cluster whose record was lost.
	Owner     string `json:"owner,omitempty"`
	ClusterID string `json:"clusterId,omitempty"`
	Contact   string `json:"contact"`
	Recovered string `json:"recovered"`
	Health    string `json:"health"`
	// Tables are those that are not green, at most 20.
	Tables []string `json:"tables,omitempty"`
	// Moving are the copies that were on their way to another node, or being made.
	Moving int `json:"moving,omitempty"`
	// Unassigned copies are on no node.
	Unassigned int `json:"unassigned,omitempty"`
	// Denied is what the user system is denied: what follows may lack tables.
	Denied []model.Denial    `json:"denied,omitempty"`
	Nodes  []ObservationNode `json:"nodes,omitempty"`
	// Data is how the tables lie on the nodes; nil until they were read.
	Data *ObservationData `json:"data,omitempty"`
}

// ObservationNode is a node of the cluster.
type ObservationNode struct {
	Name    string `json:"name"`
	ID      string `json:"id,omitempty"`
	Version string `json:"version"`
	Master  bool   `json:"master,omitempty"`
	// Attributes are node.attr.*.
	Attributes map[string]string `json:"attributes,omitempty"`
	// Shards are the copies on it. Bytes is their size, Disk that of its file
	// system and Used what is taken of it, all rounded (record.RoundBytes); -1 is
	// unknown.
	Shards int   `json:"shards"`
	Bytes  int64 `json:"bytes"`
	Disk   int64 `json:"disk"`
	Used   int64 `json:"used"`
	// Disks are size and used of each of its file systems where it has several, in the order of
	// its data paths; none where they are not known one by one.
	Disks [][2]int64 `json:"disks,omitempty"`
	// Heap is what of its heap is used and how large that is, in bytes, the former rounded; none
	// where it is not known. It differs in every reading, and is not published for that alone.
	Heap []int64 `json:"heap,omitempty"`
}

// heapOf is what is published of a node's heap.
func heapOf(n *model.Node) []int64 {
	if n.Heap == (model.Heap{}) {
		return nil
	}
	return []int64{record.RoundBytes(n.Heap.Used), n.Heap.Max}
}

// unheaped is an observation without the heaps, by which it is compared.
func unheaped(o Observation) Observation {
	o.Nodes = slices.Clone(o.Nodes)
	for i := range o.Nodes {
		o.Nodes[i].Heap = nil
	}
	return o
}

// disksOf are the disks of a node of which the sum says too little.
func disksOf(n *model.Node) [][2]int64 {
	if len(n.Disks) == 1 && n.Disks[0] == (model.Disk{Size: n.DiskSize, Used: n.DiskUsed}) {
		return nil
	}
	var out [][2]int64
	for _, d := range n.Disks {
		out = append(out, [2]int64{rounded(d.Size), rounded(d.Used)})
	}
	return out
}

func rounded(size int64) int64 {
	if size < 0 {
		return -1
	}
	return record.RoundBytes(size)
}

// publish writes the observation when its content changed: at most once in ten
// minutes, once a minute while an operation is under way, at its end, and soon after shards
// have moved. A failure to do so stops nothing.
func (w *worker) publish(ctx context.Context, decision model.Decision) {
	if !decision.Apply || !decision.Record.Bootstrap.Done || w.reading.Contact != model.Yes || !w.reading.NodesKnown {
		return
	}
	next := Observation{
		Owner: decision.Record.Owner, ClusterID: w.reading.ClusterID, Contact: w.reading.Contact.String(),
		Recovered: w.reading.Recovered.String(), Health: w.reading.Health.Colour.String(),
		Tables: w.reading.Health.Tables, Unassigned: w.reading.Unassigned, Denied: w.reading.Denied,
		Moving: w.reading.Relocating + w.reading.Initializing,
	}
	for _, node := range w.reading.Nodes {
		published := ObservationNode{
			Name: node.Name, ID: node.ID, Version: node.Version, Master: node.ID == w.reading.MasterNode, Attributes: w.attributes[node.ID],
			Shards: -1, Bytes: -1, Disk: rounded(node.DiskSize), Used: rounded(node.DiskUsed), Disks: disksOf(&node), Heap: heapOf(&node),
		}
		if w.reading.ShardsKnown {
			published.Shards, published.Bytes = node.Shards, rounded(node.Bytes)
		}
		next.Nodes = append(next.Nodes, published)
	}
	slices.SortFunc(next.Nodes, func(a, b ObservationNode) int { return strings.Compare(a.Name, b.Name) })
	next.Data = w.data.of(next.Nodes)
	content, err := json.Marshal(unheaped(next))
	if err != nil {
		w.log.Warn("the observation cannot be encoded", "error", err)
		return
	}
	if w.published.At.IsZero() {
		// After a restart: what was published is in Kubernetes.
		var last Observation
		if _, err := w.store.Load(ctx, w.key, record.Observation, &last); err == nil && !last.At.IsZero() {
			at := last.At
			w.publishedSeq = last.Seq
			last.At, last.Seq = time.Time{}, 0
			if was, err := json.Marshal(unheaped(last)); err == nil {
				w.published = record.Published{At: at, Content: was}
			}
		}
	}
	now := time.Now()
	ended := decision.Record.Operation == nil && decision.Record.Seq != w.publishedSeq ||
		decision.Record.Operation != nil && now.Sub(w.published.At) >= operationInterval
	if !record.ShouldPublish(w.published, content, now, ended || w.shifted(now)) {
		return
	}
	at := w.reading.At
	if next.Data != nil && w.dataAt.Before(at) {
		at = w.dataAt
	}
	next.At, next.Seq = at.UTC().Truncate(time.Second), decision.Record.Seq
	var old Observation
	entry, err := w.store.Load(ctx, w.key, record.Observation, &old)
	if err != nil && !errors.Is(err, record.ErrDamaged) {
		w.log.Warn("the observation cannot be read", "error", err)
		return
	}
	if _, err := w.store.Save(ctx, entry, next); err != nil {
		w.log.Warn("the observation cannot be published, it will be tried again", "error", err)
		return
	}
	w.published, w.publishedSeq, w.publishedShards = record.Published{At: now, Content: content}, next.Seq, shardCounts(&w.reading)
}

// operationInterval is the shortest time between two observations while an operation
// moves shards: a plan that is asked for then is about where they are.
const operationInterval = time.Minute

// ownerFromObservation is whose the cluster is when its record is lost.
func (w *worker) ownerFromObservation(ctx context.Context, rec *model.Record) {
	var last Observation
	if _, err := w.store.Load(ctx, w.key, record.Observation, &last); err != nil {
		w.log.Warn("the observation cannot be read", "error", err)
		return
	}
	rec.Owner = last.Owner
}
