package gates

// BackupUnreadableRule is the rule backup-tables-unreadable.
var BackupUnreadableRule = Rule{
	Name:    "backup-tables-unreadable",
	Kind:    Waits,
	Informs: true,
	Says: "A table is closed, blocks reads, or has a shard without a primary. CrateDB refuses a snapshot of all tables then, before it begins. " +
		"With spec.backups.unreadable: skip the other tables are taken by name, and such a snapshot has neither users nor settings.",
	Do:     "Open the table, bring its shard back, name other tables in the schedule, or write spec.backups.unreadable: skip.",
	Source: "CrateDB, CreateSnapshotPlan and SnapshotsService",
}

// BackupUnreadable names the tables.
func BackupUnreadable(tables string, skipped bool) Reason {
	if skipped {
		return BackupUnreadableRule.because("the snapshot does not have %s, nor users and settings", tables)
	}
	return BackupUnreadableRule.because("no snapshot can have %s", tables)
}
