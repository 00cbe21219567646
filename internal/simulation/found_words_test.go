package simulation

// foundWords are schedules from seed 6,000,000,000 on, and older ones, in which a report, a snapshot or a table was missing, or one too
// many, or people have to do what the status says. Each has ended in a violation before the decision, the judge, the world
// or the people were corrected.
var foundWords = []struct {
	name string
	s    Schedule
}{
	{"spec.backups is gone, and the record is lost while tables of a drill come", Schedule{
		Seed: 6000012308, Start: Start{Hot: 2, Tables: []string{"1", "0-1", "0-all"}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Disks: 1, Backups: true, Takes: 40000, Plan: backupPlan{Every: 2, AtLeast: 2, Delay: 20}, Replaces: true, Drills: true, Comes: 2000, Drill: 1}, Steps: 552,
		Items: []Item{{What: killNode, Call: 36, A: 15, B: 17}, {What: standStill, Call: 5, A: 28, B: 50}, {What: loseRecord, Call: 79, A: 3, B: 19}, {What: pushMoreDisks, At: 3635, B: 57}, {What: pushFewerDisks, At: 87021, A: 45, B: 17}, {What: pushUpgrade, At: 11381, A: 1, B: 12}, {What: loseRecord, At: 171817, A: 59, B: 23}, {What: pushNoBackups, Drilling: 14, A: 31, B: 9}, {What: killBefore, Drilling: 14, A: 13, B: 5}, {What: fetchCommand, At: 649412, A: 49, B: 51}},
	}},
	{"the record is lost while the store holds a restore, which fails later", Schedule{
		Seed: 6000534242, Start: Start{Hot: 2, Tables: []string{"1-all"}, Shards: 1, Leave: true, Driver: quickDriver, Swaps: true, NoRight: true, Compute: true, Backups: true, Takes: 40000, Plan: backupPlan{Every: 2, AtLeast: 2, Delay: 120, Skip: true}, Replaces: true, Drills: true, Comes: 2000, Drill: 2}, Steps: 1158,
		Items: []Item{{What: pushTemplate, At: 583, A: 6}, {What: setTransient, At: 91643, B: 19}, {What: pushUpgrade, At: 22625, A: 4, B: 57}, {What: loseRecord, Drilling: 12, A: 35, B: 2}, {What: holdStore, Drilling: 7, A: 41, B: 30}, {What: beFound, At: 236710, A: 63, B: 48}},
	}},
	{"snapshots are to go to another folder, and the newest one is in the former", Schedule{
		Seed: 6000004539, Start: Start{Hot: 2, Tables: []string{"1", "0-1", "0-all"}, Shards: 1, Extend: true, Leave: true, Backups: true, Takes: 10000, Plan: backupPlan{Every: 1, Keep: 3, AtLeast: 2, Delay: 60, Newer: 180}, Replaces: true, Drills: true, Comes: 10000, Drill: 2}, Steps: 382,
		Items: []Item{{What: pushGrow, At: 187, A: 2, B: 7}, {What: unavailable, Call: 4, A: 17, B: 37}, {What: loseRecord, Call: 15, A: 17, B: 43}, {What: loseRecord, Call: 9, B: 56}, {What: evict, At: 28414, A: 1, B: 34}, {What: denySystem, Call: 13, A: 11, B: 26}, {What: pushShrink, At: 5654, A: 41, B: 25}, {What: fetchCommand, At: 69058, A: 7, B: 20}, {What: pushSchedules, Drilling: 25, A: 55, B: 63}, {What: holdStore, Drilling: 14, A: 38, B: 32}, {What: crashProcess, Drilling: 13, A: 30, B: 41}},
	}},
	{"tables of a person wait for a node, an upgrade that brings it waits for a snapshot, and that for the tables", Schedule{
		Seed: 6000032865, Start: Start{Hot: 2, Tables: []string{"1", "1", "0-1", "0-1"}, Shards: 2, Early: true, Backups: true, Takes: 120000, Plan: backupPlan{Every: 2, Keep: 3, AtLeast: 2, Delay: 80, Newer: 180, Skip: true}, Replaces: true, Drills: true, Comes: 2000, Drill: 2}, Steps: 376,
		Items: []Item{{What: pushSetting, At: 21100, A: 2, B: 3}, {What: pauseCommand, At: 62729, A: 23, B: 31}, {What: pushUpgrade, At: 2919, A: 31, B: 31}, {What: pushUpgrade, Backing: 34, A: 11, B: 48}, {What: fetchCommand, At: 70906, A: 55, B: 29}, {What: crashProcess, At: 155372, A: 45, B: 19}, {What: rotateKeys, Drilling: 25, A: 59, B: 52}, {What: pushBadTemplate, Drilling: 17, A: 42, B: 62}, {What: fetchCommand, At: 109380, A: 41, B: 27}, {What: fetchCommand, At: 516159, A: 22, B: 12}},
	}},
	{"the same with an upgrade that was taken back and pushed again", Schedule{
		Seed: 4000041396, Start: Start{Hot: 3, Tables: []string{"1-all", "0-1"}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Compute: true, Disks: 1, Backups: true, Takes: 2000, Plan: backupPlan{Every: 1, Second: 2, AtLeast: 2, Delay: 60, Newer: 180}, Replaces: true, Drills: true, Comes: 2000, Drill: 3}, Steps: 601,
		Items: []Item{{What: pushAddGroup, At: 4885, A: 4}, {What: cutDatabase, Call: 34, A: 16, B: 41}, {What: setPersistent, Call: 68, A: 60, B: 41}, {What: pushRestart, At: 17440, A: 57, B: 45}, {What: pushFewerDisks, At: 121850, A: 43, B: 57}, {What: loseRecord, At: 82971, A: 55, B: 14}, {What: pushUpgrade, At: 10816, A: 60, B: 34}, {What: pushRevert, Backing: 1, A: 35, B: 14}, {What: pushBadTemplate, Backing: 27, A: 54, B: 21}, {What: scaleUpByHand, Backing: 31, A: 50, B: 44}, {What: fetchCommand, At: 84238, B: 61}, {What: killNode, Drilling: 9, A: 38, B: 26}},
	}},
	{"further disks came with a record that was lost, and fewer are desired before a pod has them", Schedule{
		Seed: 5300041810, Start: Start{Hot: 4, Tables: []string{"2", "1-all", "0-1", "0-all"}, Shards: 3, Extend: true, Leave: true, Driver: quickDriver, Swaps: true, Compute: true, Disks: 1, Backups: true, Takes: 120000, Plan: backupPlan{Every: 2, Keep: 1, AtLeast: 1, Delay: 120, Newer: 30}, Replaces: true, Drills: true, Comes: 10000, Most: 91}, Steps: 858,
		Items: []Item{{What: pushAddGroup, At: 323, A: 2}, {What: pushConsent, At: 7261, A: 52, B: 27}, {What: pushCompute, At: 14347, A: 6, B: 2}, {What: pushRelease, At: 16608, A: 37, B: 35}, {What: loseRecord, At: 15203, A: 53, B: 57}, {What: pushMoreDisks, At: 4937, A: 4, B: 28}, {What: pushFewerDisks, At: 49567, A: 34, B: 15}, {What: fetchCommand, At: 583912, A: 25, B: 18}},
	}},
	{"a cluster is released while the store holds the restore of a table that is there, the record is lost, and the table cannot be fetched", Schedule{
		Seed: 5300111625, Start: Start{Hot: 1, Tables: []string{"1"}, Shards: 1, Extend: true, Leave: true, Driver: quickDriver, Swaps: true, NoRight: true, Compute: true, Backups: true, Takes: 40000, Plan: backupPlan{Every: 1, Keep: 2, AtLeast: 1, Delay: 20, Skip: true}, Replaces: true, Drills: true, Comes: 10000, Drill: 3}, Steps: 679,
		Items: []Item{{What: loseRecord, At: 113988, A: 12, B: 7}, {What: fetchCommand, At: 87877, A: 37, B: 33}, {What: pushRelease, Drilling: 7, A: 47, B: 12}, {What: setTransient, Drilling: 3, A: 12, B: 42}, {What: holdStore, Drilling: 4, A: 2, B: 34}},
	}},
	{"a drained node is to come onto another volume, an upgrade would bring that, and nodes for a table without room are to come first", Schedule{
		Seed: 6200217975, Start: Start{Masters: 5, Hot: 1, Shards: 1, Extend: true, Leave: true, Driver: silentDriver, Swaps: true, Compute: true, Backups: true, Takes: 120000, Plan: backupPlan{Every: 1, AtLeast: 1, Delay: 40}, Replaces: true, Drills: true, Comes: 90000, Drill: 2}, Steps: 715,
		Items: []Item{{What: pushTemplate, At: 4324, A: 3, B: 1}, {What: createTable, At: 169770, A: 56, B: 27}, {What: deleteClaimByHand, At: 19523, A: 33, B: 53}, {What: deleteClaimByHand, At: 24978, A: 23, B: 61}, {What: pushConsent, At: 6519, A: 26, B: 31}, {What: pushClass, At: 20049, A: 31, B: 44}, {What: pushCompute, At: 6864, A: 9, B: 54}, {What: pushGrow, At: 29720, A: 2, B: 55}},
	}},
	{"two passes have nothing to write and nothing to say, and between them two others fail at a write", Schedule{
		Seed: 6200121695, Start: Start{Hot: 2, Tables: []string{"0-all", "0-1", "1", "1"}, Shards: 2, Leave: true, Driver: quickDriver, Compute: true}, Steps: 100,
		Items: []Item{{What: pushBadTemplate, At: 101, A: 2}, {What: killBefore, Call: 7, A: 58, B: 33}, {What: conflict, Call: 13, A: 10, B: 20}, {What: timeoutAfter, Call: 15, A: 10, B: 20}, {What: pushCompute, At: 16536, A: 61, B: 16}, {What: pushRevert, At: 19173, A: 25, B: 5}},
	}},
	{"a live setting is set by hand while a StatefulSet has its pods again, and a watch does not show that its controller has seen it", Schedule{
		Seed: 6050000770, Start: Start{Hot: 3, Tables: []string{"0", "0-1", "1", "0-all"}, Shards: 1, Extend: true, Leave: true, Zones: true, Driver: quickDriver, Compute: true, Disks: 1}, Steps: 354,
		Items: []Item{{What: pushSetting, At: 2379, A: 2, B: 5}, {What: pushSetting, At: 104104, A: 3, B: 6}, {What: restartDaemon, Call: 1, A: 14, B: 52}, {What: stallWatch, Call: 26, A: 48, B: 12}, {What: evict, At: 117919, A: 14, B: 3}, {What: settingByHand, Call: 16, A: 13, B: 48}, {What: pushVolumes, At: 11314, A: 60, B: 50}, {What: evict, At: 41567, A: 17, B: 35}, {What: timeoutAfter, Recreating: 10, A: 2, B: 38}, {What: deleteClaimByHand, At: 8643, A: 13, B: 50}, {What: pushOffline, At: 53062, A: 24, B: 13}, {What: pushSuspend, At: 22311, A: 25, B: 48}, {What: pushTemplate, At: 5259, A: 25, B: 15}, {What: agreeByHand, At: 71777, A: 50, B: 35}, {What: cutDatabase, At: 10143, A: 16, B: 52}, {What: denySystem, At: 74841, A: 26, B: 45}, {What: pushPause, At: 161037, A: 59, B: 17}},
	}},
	{"an only copy comes back to an excluded node, somebody has deleted its claim, and somebody says that the volume may go", Schedule{
		Seed: 6200022870, Start: Start{Hot: 3, Tables: []string{"0-1", "0-all", "0-1"}, Shards: 2, Extend: true, Leave: true, Zones: true, Driver: silentDriver, Offline: true, Disks: 2, Backups: true, Takes: 2000, Plan: backupPlan{Every: 2, Second: 2, Keep: 2, AtLeast: 1, Delay: 20, Newer: 30, Skip: true}}, Steps: 495,
		Items: []Item{{What: alterReplicas, At: 52119, A: 3, B: 51}, {What: excludeByName, Call: 18, A: 34, B: 41}, {What: deleteClaimByHand, At: 32488, A: 33, B: 36}, {What: agreeByHand, At: 57154, A: 21, B: 36}, {What: pushFewerDisks, At: 8008, B: 6}, {What: pushGrow, Disking: 77, A: 32, B: 30}},
	}},
	{"a daemon is killed after CREATE SNAPSHOT, the store does not answer, and a restart begins before anybody knows that it runs", Schedule{
		Seed: 6025025975, Start: Start{Hot: 2, Tables: []string{"1-all"}, Shards: 1, Extend: true, Leave: true, Driver: offlineDriver, Offline: true, Swaps: true, NoRight: true, Disks: 2, Backups: true, Takes: 120000, Plan: backupPlan{Every: 2, Second: 3, Keep: 1, AtLeast: 2, Delay: 20}}, Steps: 732,
		Items: []Item{{What: pushRelease, At: 52503, B: 3}, {What: changePassword, At: 166212, A: 51}, {What: replaceCommand, At: 260598, A: 44, B: 17}, {What: deletePodByHand, At: 163709, A: 34, B: 40}, {What: pushTemplate, At: 17868, A: 59, B: 63}, {What: killBefore, Backing: 16, A: 40, B: 46}, {What: holdStore, Backing: 19, A: 3, B: 52}, {What: crashProcess, Backing: 35, A: 32, B: 19}},
	}},
	{"snapshots are to go to another folder while one runs, the record is lost, and the list is behind when it is read first", Schedule{
		Seed: 6000594837, Start: Start{Masters: 1, Hot: 1, Tables: []string{"0-1", "0-1", "0", "0-1"}, Shards: 1, Extend: true, Leave: true, Driver: slowDriver, Backups: true, Takes: 120000, Plan: backupPlan{Every: 1, Second: 1, Keep: 1, AtLeast: 2, Delay: 100}, Replaces: true, Drills: true, Comes: 90000, Adopted: true, Drill: 1}, Steps: 426,
		Items: []Item{{What: pushAddGroup, At: 660, A: 2, B: 6}, {What: standStill, Call: 20, A: 20, B: 52}, {What: crashProcess, Call: 19, A: 25, B: 21}, {What: pushVolumes, At: 14273, A: 30, B: 31}, {What: deleteClaimByHand, At: 29391, A: 20, B: 63}, {What: pushSchedules, Backing: 10, A: 23, B: 47}, {What: lagListing, Backing: 16, A: 61, B: 7}, {What: pushGrow, Backing: 1, A: 41, B: 18}, {What: loseRecord, Backing: 36, A: 37, B: 39}, {What: releaseCommand, Backing: 15, A: 24, B: 28}},
	}},
	{"the record is lost while an adopted StatefulSet is recreated, and somebody makes it again without saying that it was adopted", Schedule{
		Seed: 6021043769, Start: Start{Hot: 2, Tables: []string{"0-1"}, Shards: 1, Leave: true, Driver: quickDriver, Backups: true, Takes: 2000, Plan: backupPlan{Every: 2, AtLeast: 2, Delay: 120, Skip: true}, Replaces: true, Drills: true, Comes: 10000, Adopted: true, Drill: 3}, Steps: 1064,
		Items: []Item{{What: pushVolumes, At: 3478, A: 3, B: 51}, {What: makeSetByHand, Recreating: 6, A: 10, B: 37}, {What: loseRecord, Recreating: 15, A: 48, B: 47}, {What: stallController, Recreating: 3, A: 41, B: 15}, {What: pushGrow, At: 7960, A: 31, B: 12}, {What: fetchCommand, At: 604539, A: 1, B: 36}},
	}},
	{"a group comes while the cluster is made, the record is lost, and the cluster is suspended before anything of the group is made", NewSchedule(6410234295)},
	{"a snapshot goes first, and the pod of an excluded node is evicted", NewSchedule(6400014080)},
	{"exclusions are over, and the nodes could not be read", NewSchedule(6410118786)},
	{"a table that was not dropped is whole, and a shard of it is away for a restart", NewSchedule(6400091413)},
	{"somebody asks for tables, and the snapshot before is given up for an upgrade", NewSchedule(6400037962)},
	{"the record is lost with a StatefulSet, whose group comes back while a snapshot is being taken", NewSchedule(6410951111)},
	{"the only copy comes back to a drained node, and somebody has raised the replicas", NewSchedule(6410768514)},
	{"a resume brings up nodes of two versions, and the record is lost", NewSchedule(6410495979)},
	{"nobody can ask for a snapshot, and the nodes run two versions", NewSchedule(6410581679)},
	{"an undo waits for a node, and an upgrade for a newer snapshot", NewSchedule(6420404237)},
	{"each reading has the list of snapshots, which shows nothing new", NewSchedule(6420335362)},
	{"the same, while what is desired waits for a snapshot that nobody can ask for", NewSchedule(6420053012)},
	{"a pod lacks a disk, and the volume of a node that is to come has the only copies", NewSchedule(6420165973)},
	{"an upgrade is left with a pod whose disk is to come back", NewSchedule(6410948130)},
	{"`system` is denied a kept table that a person asks to drop", NewSchedule(6420290169)},
}
