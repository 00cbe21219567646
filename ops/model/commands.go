package model

// Commands are the annotations on the operation ConfigMap: "true", "false" or,
// for a command that was not given, "".
type Commands struct {
	Paused, Released, Abort string
	// RestartedAt is a time as kubectl writes it.
	RestartedAt string
	// ReplacePod is the NAME/UID of a pod that is to be recreated.
	ReplacePod string `json:",omitempty"`
	// BackupAt is when somebody asked for a snapshot, and of which schedule (BackupCommand).
	BackupAt string `json:",omitempty"`
	// FetchAt is a FetchCommand: somebody asked for a drill, or for tables of a snapshot.
	FetchAt string `json:",omitempty"`
}
