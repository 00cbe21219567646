package gates

// RepositoryNotOursRule is the rule repository-not-ours.
var RepositoryNotOursRule = Rule{
	Name:   "repository-not-ours",
	Kind:   Waits,
	Says:   "The folder that this cluster's snapshots are to go to has a snapshot that stevedore did not make. Two clusters that write to one folder corrupt it, so none is written there.",
	Do:     "Write another bucket, basePath or location in spec.backups, or move away what is there: stevedore looks again every ten minutes.",
	Source: "CrateDB, BlobStoreRepository: concurrent modification of the index-N file",
}

// RepositoryNotOurs names the repository and a snapshot in it.
func RepositoryNotOurs(repository, snapshot string) Reason {
	return RepositoryNotOursRule.because("repository %s has snapshot %s, which is not stevedore's", repository, snapshot)
}
