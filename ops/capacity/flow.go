package capacity

// flow is a network in which copies go to places: edges with a capacity between points
// that have names. It finds how many get through at most (Ford and Fulkerson).
type flow struct {
	points map[string]int
	edges  []flowEdge
	// from are the edges that leave each point; pairs are those that were made once.
	from  [][]int
	pairs map[[2]int]bool
}

type flowEdge struct{ to, free int }

func newFlow() *flow { return &flow{points: map[string]int{}, pairs: map[[2]int]bool{}} }

func (f *flow) point(name string) int {
	i, ok := f.points[name]
	if !ok {
		i = len(f.from)
		f.points[name] = i
		f.from = append(f.from, nil)
	}
	return i
}

// edge makes one, and its way back, and returns its number.
func (f *flow) edge(from, to string, capacity int) int {
	a, b := f.point(from), f.point(to)
	i := len(f.edges)
	f.edges = append(f.edges, flowEdge{to: b, free: max(capacity, 0)}, flowEdge{to: a})
	f.from[a] = append(f.from[a], i)
	f.from[b] = append(f.from[b], i+1)
	f.pairs[[2]int{a, b}] = true
	return i
}

// once makes an edge where there is none yet between these points.
func (f *flow) once(from, to string, capacity int) {
	if !f.pairs[[2]int{f.point(from), f.point(to)}] {
		f.edge(from, to, capacity)
	}
}

func (f *flow) left(edge int) int { return f.edges[edge].free }

// most sends as much as can be from one point to another.
func (f *flow) most(from, to string) {
	source, sink := f.point(from), f.point(to)
	for seen := make([]bool, len(f.from)); f.send(source, sink, seen); clear(seen) {
	}
}

// send finds a way for one more.
func (f *flow) send(at, sink int, seen []bool) bool {
	if at == sink {
		return true
	}
	seen[at] = true
	for _, i := range f.from[at] {
		if e := &f.edges[i]; e.free > 0 && !seen[e.to] && f.send(e.to, sink, seen) {
			e.free--
			f.edges[i^1].free++
			return true
		}
	}
	return false
}
