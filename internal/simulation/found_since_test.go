package simulation

// foundSince are schedules of the runs after the first ones with volumes that grow. Each has ended in
// a violation before the decision, or the judge, was corrected.
var foundSince = []struct {
	name string
	s    Schedule
}{
	{"somebody sets the filter that a drain has written down and not set yet", Schedule{
		Seed: 1300197999, Start: Start{Masters: 3, Hot: 2, Tables: []string{"0-1"}, Shards: 1, Extend: true, Driver: quickDriver, Offline: true}, Steps: 136,
		Items: []Item{{What: killBefore, Call: 3, A: 6, B: 43}, {What: pinTable, At: 7249, A: 37, B: 15}, {What: pinTable, At: 22705, A: 58, B: 47}, {What: pushVolumes, At: 18495, A: 24, B: 6}},
	}},
	{"somebody puts a table's filter back, and the drain sets its list again after fewer nodes were pushed", Schedule{
		Seed: 1300228485, Start: Start{Masters: 3, Hot: 2, Tables: []string{"1", "0-1", "0-all", "1"}, Shards: 1, Extend: true, Leave: true, Zones: true}, Steps: 616,
		Items: []Item{{What: pushAddGroup, At: 25126, A: 7, B: 7}, {What: pushRevert, At: 38176, A: 7}, {What: killBefore, Call: 8, A: 24, B: 2}, {What: pinTable, At: 50736, A: 35, B: 56}, {What: pinTable, At: 50736, A: 38, B: 5}, {What: pushShrink, At: 61059, A: 4, B: 4}, {What: pinTable, At: 103914, A: 30, B: 1}},
	}},
	{"the record is lost while a StatefulSet is deleted, and a release ends right after it opened the budget", Schedule{
		Seed: 1300244608, Start: Start{Hot: 3, Tables: []string{"1-all", "0"}, Shards: 2, Extend: true, Leave: true, Zones: true, Driver: limitedDriver, Offline: true}, Steps: 118,
		Items: []Item{{What: pushPause, At: 3577, A: 1, B: 4}, {What: pushGrow, At: 18075, A: 3, B: 4}, {What: forbid, Call: 17, A: 59, B: 49}, {What: loseAnswer, At: 121277, A: 21, B: 4}, {What: excludeByID, Call: 38, A: 21, B: 57}, {What: replaceCommand, At: 271616, A: 49, B: 40}, {What: replaceCommand, At: 192084, A: 50, B: 52}, {What: pushVolumes, At: 3770, A: 31, B: 28}, {What: forbid, Recreating: 9, A: 7, B: 57}, {What: stallCollector, Recreating: 3, A: 4, B: 15}, {What: loseRecord, Recreating: 11, A: 47, B: 57}, {What: pushRelease, Recreating: 10, A: 33, B: 42}},
	}},
	{"the record is lost while the only StatefulSet is gone, and with it that a setting was set live", Schedule{
		Seed: 1300189090, Start: Start{Hot: 1, Tables: []string{"0"}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Offline: true}, Steps: 580,
		Items: []Item{{What: pushSetting, At: 176, B: 7}, {What: pushSetting, At: 43354, A: 5}, {What: loseRecord, Call: 8, A: 24, B: 59}, {What: pushVolumes, At: 12346, A: 31, B: 32}},
	}},
}
