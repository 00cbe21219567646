package gates

// WritesWaitRule is the rule writes-wait.
var WritesWaitRule = Rule{
	Name:    "writes-wait",
	Kind:    Waits,
	Informs: true,
	Says:    "Says which tables take no write while a node is away, and holds nothing back: by their write.wait_for_active_shards a write waits for more copies than are left, until the node's are back.",
	Do:      "Nothing, where writes may wait for a minute. Otherwise `ALTER TABLE … SET (\"write.wait_for_active_shards\" = 1)` before the restart.",
	Source:  "CrateDB manual, write.wait_for_active_shards",
}

// WritesWait names the tables, with what they wait for.
func WritesWait(pod string, tables []string) (Reason, bool) {
	if len(tables) == 0 {
		return Reason{}, false
	}
	return WritesWaitRule.because("while the node in pod %s is away, writes to %d table(s) or partition(s) wait, by their write.wait_for_active_shards: %s", pod, len(tables), some(tables)), true
}
