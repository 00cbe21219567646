package capacity

import "stevedore.dev/stevedore/ops/model"

// mostFree is the disk by which CrateDB decides whether a node takes a shard: the one with most
// bytes free, however small a part of it these are (InternalClusterInfoService
// .fillDiskUsagePerNode, DiskThresholdDecider.canAllocate; run on 6.4.3 and 6.3.7). A node
// without a known disk has none.
func mostFree(disks []model.Disk) model.Disk {
	var most model.Disk
	for i, d := range disks {
		if i == 0 || d.Size-d.Used > most.Size-most.Used {
			most = d
		}
	}
	return most
}

// RoomOf is the bytes free below a watermark on the disks of a node: in all, and for one shard,
// which is wholly on one of them. A node whose most free disk is above the watermark takes
// nothing, whatever the others have free.
func RoomOf(disks []model.Disk, watermark string) (room, widest int64, known bool) {
	free := func(d model.Disk) int64 {
		limit, ok := belowWatermark(watermark, d.Size)
		known = known && ok
		return max(0, limit-d.Used)
	}
	known = len(disks) > 0
	for _, d := range disks {
		room += free(d)
	}
	if widest = free(mostFree(disks)); widest == 0 {
		room = 0
	}
	return room, widest, known
}
