package daemon

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// commands that stand on the record and have not expired.
func commands(entry record.Entry, revision string) model.Commands {
	given := record.Effective(nil, entry.Commands(), revision)
	return model.Commands{
		Paused: given[names.PausedAnnotation], Released: given[names.ReleasedAnnotation],
		Abort: given[names.AbortAnnotation], RestartedAt: given[names.RestartedAtAnnotation],
		ReplacePod: given[names.ReplacePodAnnotation], BackupAt: given[names.BackupAtAnnotation], FetchAt: given[names.FetchAtAnnotation],
	}
}

// endedBackup: the snapshot that a command asks for has begun, or the definition has none any more: the
// command would take one whenever it has again.
func endedBackup(given []record.Command, before, next *model.Backups) bool {
	gone := before != nil && next == nil
	return slices.ContainsFunc(given, func(c record.Command) bool {
		begun := next != nil && c.Value == next.Command
		return c.Key == names.BackupAtAnnotation && (begun || gone)
	})
}

// endedFetch: what a command asks for has begun, or the definition has no backups any more.
func endedFetch(given []record.Command, before, next *model.Backups) bool {
	gone := before != nil && next == nil
	return slices.ContainsFunc(given, func(c record.Command) bool {
		begun := next != nil && c.Value == next.FetchCommand
		return c.Key == names.FetchAtAnnotation && (begun || gone)
	})
}

// spent: the pod that a command names has gone. The command was seen in an earlier pass: a
// watch that is behind may not show a new pod yet.
func spent(before model.Record, observed *model.Observed) bool {
	given := observed.Commands.ReplacePod
	if given == "" || before.Command.Commands.ReplacePod != given {
		return false
	}
	_, uid, _ := strings.Cut(given, "/")
	return !slices.ContainsFunc(observed.Pods, func(p model.Pod) bool { return p.UID == uid })
}
