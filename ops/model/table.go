package model

// Table is a table, or a partition of one, and how its shards stand.
type Table struct {
	// Name is "schema.table", for a partition with its ident.
	Name string
	// Replicas is number_of_replicas: "1", "0-1", "0-all".
	Replicas string
	// Started is the smallest number of started copies of any of its shards.
	Started int
	// Filtered is true with allocation filters of its own, which decide on how many
	// nodes a range of replicas may count.
	Filtered bool
	// Exclude, Include and Require are those filters, by "_id", "_name" and so on.
	Exclude, Include, Require map[string]string
	// TotalShardsPerNode is the table's own limit; none below 1.
	TotalShardsPerNode int
	// Created is the version of CrateDB that it was made with; "" when unknown.
	Created string
	// Enable is the table's own routing.allocation.enable, "" for the default all;
	// WaitForActiveShards its write.wait_for_active_shards, "" where it is not known.
	Enable, WaitForActiveShards string
	// Partition is the partition's ident, and Of the partitioned table's name; ""
	// for a table.
	Partition, Of string
}
