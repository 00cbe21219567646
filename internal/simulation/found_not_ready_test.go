package simulation

// neverReady are schedules in which the node of a pod that was never ready held up what
// its correction waited for, or was taken for one that is stuck, each reduced to what it needs.
var neverReady = []struct {
	name string
	s    Schedule
}{
	{"what a resume starts on is never ready, and is corrected", Schedule{
		Seed: 748, Start: Start{Hot: 1, Shards: 1, Leave: true}, Steps: 90,
		Items: []Item{{What: pushSuspend, At: 42238, A: 6, B: 2}, {What: failProbe, At: 10847, A: 4, B: 7}},
	}},
	{"fewer nodes and a correction are desired", Schedule{
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
	{"more nodes are desired than are being added", Schedule{
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
	{"a master of a new cluster is never ready, and another template is desired", Schedule{
		Seed: 20388, Start: Start{Masters: 3, Hot: 1, Shards: 1, Extend: true, Leave: true, Zones: true, Early: true}, Steps: 58,
		Items: []Item{{What: forbid, Call: 25, A: 32, B: 26}, {What: killBefore, Call: 24, A: 1, B: 24}, {What: failProbe, At: 15523, A: 1, B: 7}},
	}},
	{"a group more is desired while the only node is never ready on its template", Schedule{
		Seed: 11014491, Start: Start{Hot: 1, Shards: 1, Extend: true, Leave: true, Zones: true}, Steps: 62,
		Items: []Item{{What: pushAddGroup, At: 3329, A: 1}, {What: pushRelease, At: 34190, A: 5, B: 5}, {What: pushNeverReady, At: 710, B: 5}},
	}},
	{"the correction of the only pod is of another version", Schedule{
		Seed: 11075142, Start: Start{Hot: 1, Shards: 1, Extend: true, Leave: true}, Steps: 87,
		Items: []Item{{What: pushSetting, At: 1563, A: 7, B: 4}, {What: pushUpgrade, At: 38101, A: 1, B: 2}, {What: pushNeverReady, At: 1662, A: 63, B: 42}},
	}},
	{"no pod of a new cluster is ever ready, and none proves its template", Schedule{
		Seed: 11081057, Start: Start{Masters: 5, Hot: 1, Shards: 1, Extend: true, Leave: true, Early: true}, Steps: 85,
		Items: []Item{{What: pushBadTemplate, At: 3090, A: 7, B: 2}, {What: killAfter, Call: 21, A: 42, B: 8}, {What: forbid, Call: 31, A: 5, B: 35}, {What: pushNeverReady, At: 69325, A: 35, B: 17}},
	}},
	{"a group more is desired, and the record is lost", Schedule{
		Seed: 11304356, Start: Start{Hot: 1, Shards: 1, Extend: true, Leave: true}, Steps: 416,
		Items: []Item{{What: pushBadTemplate, At: 3381, A: 7, B: 1}, {What: pushAddGroup, At: 58866, A: 4, B: 7}, {What: loseRecord, At: 117714, A: 44, B: 33}, {What: pushNeverReady, At: 36144, A: 14, B: 40}},
	}},
	{"data nodes of a new cluster are recreated on what is never ready", Schedule{
		Seed: 11378170, Start: Start{Masters: 5, Hot: 1, Warm: 1, Shards: 1, Leave: true, Early: true}, Steps: 84,
		Items: []Item{{What: pushBadTemplate, At: 2342, A: 5, B: 4}, {What: timeoutAfter, Call: 32, A: 10, B: 14}, {What: killAfter, Call: 95, A: 50, B: 61}, {What: pushNeverReady, At: 154951, A: 44, B: 24}},
	}},
	{"both groups were recreated without contact on what is never ready", Schedule{
		Seed: 11577670, Start: Start{Hot: 1, Tables: []string{"0-1"}, Shards: 2, Extend: true, Leave: true, Zones: true}, Steps: 50,
		Items: []Item{{What: pushAddGroup, At: 4118, B: 3}, {What: cutDatabase, Call: 8, A: 52, B: 13}, {What: killNode, Call: 33, A: 40, B: 53}, {What: pushNeverReady, At: 116075, A: 61, B: 5}},
	}},
	{"the only master is never ready after a resume, and its gateway waits for data nodes", Schedule{
		Seed: 11289080, Start: Start{Masters: 1, Hot: 1, Shards: 1, Leave: true}, Steps: 504,
		Items: []Item{{What: pushSuspend, At: 46614, A: 4, B: 2}, {What: failProbe, At: 43944, A: 6, B: 15}},
	}},
	{"the only master is never ready while the cluster is being resumed", Schedule{
		Seed: 11537854, Start: Start{Masters: 1, Hot: 7, Warm: 2, Tables: []string{"0"}, Shards: 1, Extend: true, Leave: true}, Steps: 66,
		Items: []Item{{What: pushSuspend, At: 2337, A: 1, B: 5}, {What: failProbe, At: 21884, A: 49, B: 1}},
	}},
	{"a group is to go whose pod is not ready, and another set is being restarted", Schedule{
		Seed: 11362536, Start: Start{Hot: 1, Warm: 1, Tables: []string{"0-all"}, Shards: 1, Leave: true}, Steps: 82,
		Items: []Item{{What: pushBadTemplate, At: 24975, A: 4, B: 2}, {What: pushRemoveGroup, At: 29358, A: 4, B: 1}, {What: failProbe, At: 49527, A: 30, B: 15}},
	}},
	{"an upgrade is desired, and a group that is to go is not ready", Schedule{
		Seed: 116046, Start: Start{Hot: 3, Warm: 1, Shards: 1, Extend: true, Leave: true}, Steps: 83,
		Items: []Item{{What: pushPause, At: 176, A: 6, B: 2}, {What: pushUpgrade, At: 19890, A: 6, B: 2}, {What: pushRemoveGroup, At: 47060, A: 4, B: 4}, {What: failProbe, At: 169015, A: 55, B: 11}},
	}},
	{"the first pod is never ready and its gateway waits for another, which is stuck", Schedule{
		Seed: 13250326, Start: Start{Hot: 2, Tables: []string{"0-1", "1", "1-all"}, Shards: 2, Leave: true}, Steps: 86,
		Items: []Item{{What: pushBadTemplate, At: 1254, A: 7, B: 6}, {What: loseVolume, Call: 31, A: 33, B: 45}, {What: pushNeverReady, At: 136578, A: 56, B: 10}},
	}},
	{"the only voter is not ready in the moment in which it cannot be asked", Schedule{
		Seed: 11588206, Start: Start{Masters: 1, Hot: 1, Tables: []string{"0-1"}, Shards: 1}, Steps: 77,
		Items: []Item{{What: cutDatabase, Call: 1, A: 28, B: 1}, {What: stickTerminating, At: 121002, A: 49, B: 15}, {What: failProbe, At: 75072, A: 36, B: 43}},
	}},
	{"the same, and the call to ask it in its own pod is refused", Schedule{
		Seed: 13503106, Start: Start{Hot: 1, Shards: 1, Zones: true}, Steps: 52,
		Items: []Item{{What: cutDatabase, At: 149445, A: 26, B: 19}, {What: createTable, At: 9647, A: 29, B: 49}, {What: failProbe, At: 158609, A: 56, B: 14}},
	}},
	{"a pod is never ready, and without a master no pod is", Schedule{
		Seed: 11256250, Start: Start{Hot: 1, Warm: 1, Shards: 1, Extend: true, Leave: true}, Steps: 536,
		Items: []Item{{What: crashProcess, Call: 12, A: 36, B: 63}, {What: failProbe, At: 121688, A: 1, B: 36}},
	}},
	{"the same with a dedicated master", Schedule{
		Seed: 13108943, Start: Start{Masters: 1, Hot: 1, Shards: 1, Zones: true}, Steps: 616,
		Items: []Item{{What: killNode, Call: 10, A: 17, B: 27}, {What: failProbe, At: 30869, A: 60, B: 23}},
	}},
	{"a group that is not ready is to go, and does not fit before other nodes have come", Schedule{
		Seed: 14969770, Start: Start{Hot: 1, Warm: 1, Tables: []string{"1"}, Shards: 1, Extend: true, Leave: true}, Steps: 80,
		Items: []Item{{What: pushRelease, At: 1899, A: 5}, {What: pushRemoveGroup, At: 40208, B: 7}, {What: pushGrow, At: 94011, A: 2, B: 2}, {What: failProbe, At: 177011, A: 5, B: 25}},
	}},
	{"the only master waits after an outage for nodes that have left, and is not ready", Schedule{
		Seed: 15228108, Start: Start{Masters: 1, Hot: 2, Shards: 1, Leave: true}, Steps: 81,
		Items: []Item{{What: pushShrink, At: 1462, A: 1, B: 6}, {What: killNode, Call: 25, A: 11, B: 5}, {What: failProbe, At: 45694, A: 26, B: 53}},
	}},
	{"the first pod of an upgrade gets another template out of order, and is never ready on that", Schedule{
		Seed: 16327894, Start: Start{Hot: 2, Tables: []string{"0-1", "0-1", "1", "0"}, Shards: 1, Leave: true, Zones: true}, Steps: 584,
		Items: []Item{{What: pushUpgrade, At: 42895, A: 3, B: 2}, {What: loseVolume, Call: 37, A: 19, B: 5}, {What: killNode, Call: 56, A: 58, B: 51}, {What: pushNeverReady, At: 129301, A: 62, B: 46}},
	}},
	{"a group goes out of the definition in the middle of an upgrade, its pod never ready on the newer version", Schedule{
		Seed: 52198087, Start: Start{Hot: 3, Warm: 1, Tables: []string{"0", "0-all"}, Shards: 1, Extend: true, Leave: true}, Steps: 448,
		Items: []Item{{What: pushUpgrade, At: 1730, A: 7, B: 7}, {What: pushRemoveGroup, At: 48577, A: 6, B: 7}, {What: failProbe, At: 46608, A: 31, B: 39}},
	}},
	{"the same when all others have been upgraded", Schedule{
		Seed: 52198087, Start: Start{Hot: 3, Warm: 1, Shards: 1, Extend: true, Leave: true}, Steps: 448,
		Items: []Item{{What: pushUpgrade, At: 1730, A: 7, B: 7}, {What: pushRemoveGroup, At: 48577, A: 6, B: 7}, {What: failProbe, At: 46608, A: 31, B: 39}},
	}},
	{"a set has gone back to the version before until its turn comes, one of its pods not ready on the newer one", Schedule{
		Seed: 53691699, Start: Start{Masters: 1, Hot: 2, Tables: []string{"0-1", "0", "0"}, Shards: 1, Leave: true}, Steps: 608,
		Items: []Item{{What: pushUpgrade, At: 1978, A: 6, B: 5}, {What: drainNode, Call: 90, A: 6, B: 31}, {What: loseRecord, Call: 27, A: 7, B: 31}, {What: pushNeverReady, At: 31898, A: 49, B: 53}},
	}},
	{"people make their first tables while a drain begins", Schedule{
		Seed: 53474207, Start: Start{Masters: 3, Hot: 2, Tables: []string{"1-all", "1"}, Shards: 1, Extend: true, Leave: true, Early: true}, Steps: 67,
		Items: []Item{{What: pushShrink, At: 4989, A: 2, B: 3}, {What: pushTemplate, At: 21000, A: 3}, {What: unavailable, Call: 49, A: 49, B: 11}, {What: failProbe, At: 5732, A: 10, B: 17}},
	}},
}
