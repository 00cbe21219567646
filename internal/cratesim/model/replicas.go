package model

import (
	"strconv"
	"strings"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
)

// parseReplicas reads number_of_replicas.
func parseReplicas(s string) (allocation.Replicas, *Error) {
	r, err := allocation.ParseReplicas(s)
	if err != nil {
		return r, ErrIllegalArgument("The \"number_of_replicas\" range \"%s\" isn't valid", s)
	}
	return r, nil
}

// shardLimit refuses shards beyond cluster.max_shards_per_node times the data nodes, and a
// change that adds none where there are more already (ShardLimitValidator.checkShardLimit).
func (c *Cluster) shardLimit(adds int) *Error {
	open := c.openShards(nil)
	if limit := c.settingInt("cluster.max_shards_per_node") * c.dataNodes(); limit > 0 && adds >= 0 && open+adds > limit {
		return errorOf("SQLParseException", "XX000", 400, 4000, "Validation Failed: 1: this action would add [%d] total shards, but this cluster currently has [%d]/[%d] maximum shards open;", adds, open, limit)
	}
	return nil
}

// waitsForTooMany refuses writes that would wait for more copies than there are to be. A
// range counts with the number that it comes to so far.
func (ix *Index) waitsForTooMany() *Error {
	replicas := ix.want
	if !strings.Contains(ix.Replicas, "-") {
		if r, err := parseReplicas(ix.Replicas); err == nil {
			replicas = r.Low
		}
	}
	return ix.waitsForMoreThan(1 + replicas)
}

func (ix *Index) waitsForMoreThan(copies int) *Error {
	wait, err := strconv.Atoi(ix.Settings["write.wait_for_active_shards"])
	if err != nil || wait <= copies {
		return nil
	}
	return ErrIllegalArgument("invalid index.write.wait_for_active_shards[%d]: cannot be greater than number of shard copies [%d]", wait, copies)
}

// replicaNumber is the number that a statement sets number_of_replicas to, also where a range
// stands after it. RESET sets 0 beside the range (NumberOfReplicas.DEFAULT), which then makes
// new replicas, and these have to be allocated.
func replicaNumber(changes []Assignment) (number int, given bool) {
	for _, ch := range changes {
		switch {
		case ch.Name != "number_of_replicas":
		case ch.Value == nil:
			number, given = 0, true
		case !strings.Contains(*ch.Value, "-"):
			if r, err := parseReplicas(*ch.Value); err == nil {
				number, given = r.Low, true
			}
		}
	}
	return number, given
}

// replicaLimit is the shard limit for another number of replicas. A range is not asked for it
// (MetadataUpdateSettingsService).
func (c *Cluster) replicaLimit(targets []*Index, number int) *Error {
	adds := 0
	for _, ix := range targets {
		adds += len(ix.shards) * (number - ix.want)
	}
	return c.shardLimit(adds)
}
