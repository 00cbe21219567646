package simulation

// neverReady are schedules in which the node of a pod that was never ready held up what
// its correction waited for, each reduced to what it needs.
var neverReady = []struct {
	name string
	s    Schedule
}{
	{"what a resume starts on is never ready, and is corrected", Schedule{
		Seed: 748, Start: Start{Hot: 1, Shards: 1, Leave: true}, Steps: 90,
		Items: []Item{{What: pushSuspend, At: 42238, A: 6, B: 2}, {What: failProbe, At: 10847, A: 4, B: 7}},
	}},
	{"fewer nodes and a correction are wanted", Schedule{
		Seed: 1637, Start: Start{Hot: 4, Shards: 1}, Steps: 68,
		Items: []Item{{What: pushShrink, At: 4621, A: 2, B: 5}, {What: failProbe, At: 123202, A: 48, B: 47}},
	}},
	{"nodes are leaving", Schedule{
		Seed: 2541, Start: Start{Hot: 4, Shards: 1, Leave: true}, Steps: 51,
		Items: []Item{{What: pushShrink, At: 1411, A: 6}, {What: cutDatabase, Call: 14, A: 51, B: 54}, {What: failProbe, At: 19854, A: 33, B: 21}},
	}},
	{"a group that never became ready goes out of the definition", Schedule{
		Seed: 3813, Start: Start{Hot: 2, Tables: []string{"1"}, Shards: 1, Extend: true, Leave: true}, Steps: 89,
		Items: []Item{{What: pushAddGroup, At: 44221, A: 7, B: 2}, {What: pushRemoveGroup, At: 76112, A: 4, B: 4}, {What: pushNeverReady, At: 51529, A: 1, B: 51}},
	}},
	{"more nodes are wanted than are being added", Schedule{
		Seed: 10410, Start: Start{Hot: 3, Shards: 1, Extend: true, Leave: true}, Steps: 89,
		Items: []Item{{What: pushAddGroup, At: 1658, A: 2, B: 4}, {What: pushGrow, At: 69961, A: 6, B: 4}, {What: killNode, Call: 6, A: 40, B: 57}, {What: pushNeverReady, At: 71481, A: 1, B: 48}},
	}},
	{"a group that is not ready goes out of the definition while its exclusion waits", Schedule{
		Seed: 27199, Start: Start{Hot: 1, Warm: 1, Shards: 1, Extend: true, Leave: true}, Steps: 64,
		Items: []Item{{What: pushRemoveGroup, At: 4682, A: 5, B: 6}, {What: forbid, Call: 12, A: 60, B: 11}, {What: setPersistent, Call: 15, A: 15, B: 19}, {What: failProbe, At: 18331, A: 26, B: 33}},
	}},
	{"the only node of a new cluster is never ready", Schedule{
		Seed: 22767, Start: Start{Hot: 1, Shards: 1, Extend: true, Leave: true, Early: true}, Steps: 68,
		Items: []Item{{What: failProbe, At: 3934, A: 24, B: 33}},
	}},
	{"the only node of a new cluster is never ready, and the cluster is released", Schedule{
		Seed: 35691, Start: Start{Hot: 1, Shards: 1, Extend: true, Leave: true, Zones: true, JSON: true, Early: true}, Steps: 55,
		Items: []Item{{What: pushRelease, At: 2260, A: 4}, {What: failProbe, At: 9520, A: 51, B: 55}},
	}},
	{"a master of a new cluster is never ready, and another template is wanted", Schedule{
		Seed: 20388, Start: Start{Masters: 3, Hot: 1, Shards: 1, Extend: true, Leave: true, Zones: true, Early: true}, Steps: 58,
		Items: []Item{{What: forbid, Call: 25, A: 32, B: 26}, {What: killBefore, Call: 24, A: 1, B: 24}, {What: failProbe, At: 15523, A: 1, B: 7}},
	}},
}
