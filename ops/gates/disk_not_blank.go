package gates

// DiskNotBlankRule is the rule disk-not-blank.
var DiskNotBlankRule = Rule{
	Name: "disk-not-blank",
	Kind: Refuses,
	Says: "A further disk is added only where no volume claim of its name is there, or one on which CrateDB is not known to have written, or one that was a disk of this very node before. " +
		"Another node's state may be on it, and then CrateDB does not start: the id of a node is on each of its disks.",
	Do:     "Look at what is on the claim. If nobody needs it, delete the claim; it goes on by itself. Otherwise put the old number of disks back.",
	Source: "CrateDB, path.data; CrateDB, PersistedClusterStateService, \"unexpected node ID in metadata\"",
}

// DiskNotBlank names the claims of further disks that something is written on.
func DiskNotBlank(set string, claims []string) (Reason, bool) {
	if len(claims) == 0 {
		return Reason{}, false
	}
	return DiskNotBlankRule.because("%s: CrateDB has written to %s, which would become a further disk of another node: delete what nobody needs, or put the old number of disks back", set, Few(claims)), true
}
