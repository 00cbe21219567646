package allocation

import "strconv"

// Watermark is a threshold of cluster.routing.allocation.disk.watermark: how full a disk
// may be in percent, or how many bytes have to be free.
type Watermark struct {
	Text    string
	Percent float64
	Bytes   float64
	IsBytes bool
}

// Above says whether the node has less free space than the watermark asks for.
func (s *Settings) Above(n *Node, w Watermark) bool {
	if !s.DiskThreshold || n.DiskSize == 0 {
		return false
	}
	if w.IsBytes {
		return float64(n.DiskFree) < w.Bytes
	}
	return float64(n.DiskFree) < float64(n.DiskSize)*(1-w.Percent/100)
}

// diskFits is DiskThresholdDecider. Only a primary that was never started, and is empty, is
// let onto a node above the low watermark; also a copy that has its files there is not.
func (q *question) diskFits() (Verdict, string) {
	w, mark := &q.s.Low, "low"
	if q.c.Primary && q.c.On == nil && !q.c.Allocated && !q.c.Restored {
		w, mark = &q.s.High, "high"
	}
	if !q.s.Above(q.n, *w) {
		return q.diskStays()
	}
	if !q.words {
		return No, ""
	}
	return No, "the node is above the " + mark + " watermark cluster setting [" + prefix + "disk.watermark." + mark + "=" + w.Text + "], " + w.lacks(q.n)
}

func (w *Watermark) lacks(n *Node) string {
	if w.IsBytes {
		return "having less than the minimum required [" + w.Text + "] free space, actual free: [" + strconv.FormatInt(n.DiskFree, 10) + "b]"
	}
	return "using more disk space than the maximum allowed [" + strconv.FormatFloat(w.Percent, 'f', 1, 64) + "%], actual free: [" + strconv.FormatFloat(float64(n.DiskFree)/float64(n.DiskSize)*100, 'f', -1, 64) + "%]"
}

// diskStays asks whether a shard that comes from a snapshot would bring the node above the
// high watermark: its size is known before it is there.
func (q *question) diskStays() (Verdict, string) {
	after := *q.n
	after.DiskFree -= q.c.Size
	if !q.c.Restored || !q.s.Above(&after, q.s.High) {
		return Yes, ""
	}
	if !q.words {
		return No, ""
	}
	words := "allocating the shard to this node will bring the node above the high watermark cluster setting [" + prefix + "disk.watermark.high=" + q.s.High.Text + "] and cause it to "
	if q.s.High.IsBytes {
		return No, words + "have less than the minimum required [" + q.s.High.Text + "] of free space (free: [" + strconv.FormatInt(q.n.DiskFree, 10) + "b], estimated shard size: [" + strconv.FormatInt(q.c.Size, 10) + "b])"
	}
	return No, words + "use more disk space than the maximum allowed [" + strconv.FormatFloat(q.s.High.Percent, 'f', 1, 64) + "%] (free space after shard added: [" + strconv.FormatFloat(float64(after.DiskFree)/float64(after.DiskSize)*100, 'f', -1, 64) + "%])"
}
