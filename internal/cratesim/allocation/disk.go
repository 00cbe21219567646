package allocation

import (
	"regexp"
	"strconv"
	"strings"
)

// Watermark is a threshold of cluster.routing.allocation.disk.watermark: how full a disk
// may be in percent, or how many bytes have to be free.
type Watermark struct {
	Text    string
	Percent float64
	Bytes   float64
	IsBytes bool
}

// ParseWatermark reads one as the setting has it.
func ParseWatermark(s string) Watermark {
	w := Watermark{Text: s}
	if p, ok := ParsePercent(s); ok {
		w.Percent = p
		return w
	}
	b, _ := ParseBytes(s)
	w.Bytes, w.IsBytes = float64(b), true
	return w
}

var bytesText = regexp.MustCompile(`(?i)^(\d+(?:\.\d+)?)(b|kb?|mb?|gb?|tb?|pb?)$`)

// ParseBytes reads 40mb, 1gb, 512b.
func ParseBytes(s string) (int64, bool) {
	m := bytesText.FindStringSubmatch(s)
	if m == nil {
		return 0, s == "0" || s == "-1"
	}
	f, _ := strconv.ParseFloat(m[1], 64)
	shift := strings.Index("bkmgtp", strings.ToLower(m[2][:1])) * 10
	return int64(f * float64(int64(1)<<shift)), true
}

// ParsePercent reads 85% and 0.85.
func ParsePercent(s string) (float64, bool) {
	p, ok := strings.CutSuffix(s, "%")
	if !ok {
		f, err := strconv.ParseFloat(s, 64)
		return f * 100, err == nil && f <= 1
	}
	f, err := strconv.ParseFloat(p, 64)
	return f, err == nil && f >= 0 && f <= 100
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
