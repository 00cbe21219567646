package simulation

// random is splitmix64: small, fast, and the same everywhere.
type random struct{ state uint64 }

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below is in [0, n); 0 for n <= 0.
func (r *random) below(n int) int {
	if n <= 0 {
		return 0
	}
	return int(r.next() >> 33 % uint64(n))
}

// between is in [low, high].
func (r *random) between(low, high int) int { return low + r.below(high-low+1) }

// one in n.
func (r *random) oneIn(n int) bool { return r.below(n) == 0 }

// span is a duration in [low, high].
func (r *random) span(low, high millis) millis {
	return low + millis(r.below(int(high-low)+1))
}
