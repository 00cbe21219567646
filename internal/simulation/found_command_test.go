package simulation

// byCommand are schedules in which somebody asks to replace a pod whose node is a member, or
// joins in that moment. Without a guard it would go; each is reduced to what it needs.
var byCommand = []struct {
	name string
	s    Schedule
}{
	{"the pod is ready", Schedule{
		Seed: 100000164, Start: Start{Hot: 2, Tables: []string{"0", "0", "0", "1"}, Shards: 2, Extend: true, Leave: true, Zones: true}, Steps: 56,
		Items: []Item{{What: pushBadTemplate, At: 44827, A: 1, B: 7}, {What: replaceCommand, At: 79083, A: 11, B: 61}},
	}},
	{"the only node is a member, and its pod is never ready", Schedule{
		Seed: 100001069, Start: Start{Hot: 1, Shards: 1, Extend: true, Leave: true}, Steps: 712,
		Items: []Item{{What: pushNeverReady, At: 132808, A: 6}, {What: replaceCommand, At: 299958, A: 55, B: 25}},
	}},
	{"a new node joins between the decision and the delete", Schedule{
		Seed: 100021429, Start: Start{Hot: 3, Tables: []string{"2", "0-all"}, Shards: 3, Leave: true}, Steps: 80,
		Items: []Item{{What: pushGrow, At: 25, A: 1}, {What: timeoutAfter, Call: 14, A: 52, B: 47}, {What: replaceCommand, At: 3766, A: 20, B: 31}},
	}},
	{"a node whose process has died joins again between the decision and the delete", Schedule{
		Seed: 100044812, Start: Start{Masters: 3, Hot: 2, Tables: []string{"0-1", "0-1", "1-all", "0"}, Shards: 3, Extend: true, Leave: true}, Steps: 61,
		Items: []Item{{What: pushRemoveGroup, At: 1941, A: 4, B: 2}, {What: crashProcess, At: 16930, A: 31, B: 5}, {What: replaceCommand, At: 24762, A: 25, B: 26}},
	}},
	{"a new node joins so while somebody holds the allocation", Schedule{
		Seed: 100059459, Start: Start{Hot: 2, Tables: []string{"0-1", "1", "0", "1"}, Shards: 2, Extend: true, Leave: true}, Steps: 55,
		Items: []Item{{What: pushGrow, At: 229, B: 1}, {What: pushRemoveGroup, At: 18194, A: 6, B: 7}, {What: setPersistent, Call: 14, A: 41, B: 29}, {What: replaceCommand, At: 23223, A: 38, B: 18}},
	}},
}
