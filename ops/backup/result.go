package backup

import (
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/model"
)

// Result is the record after an action on a repository or a snapshot.
func Result(record model.Record, a model.Action, result model.Result, now time.Time) model.Record {
	if r := record.Restore; r != nil && a.Repository == r.Repository && a.Kind == model.ActionSetRepository {
		if r.Step == model.RestoreNew {
			model.Own(&record.Restore).Step = model.RestoreChoose
		}
		return record
	}
	b := model.Own(&record.Backups)
	switch a.Kind {
	case model.ActionSetRepository:
		if b.Repository.Name != a.Repository {
			b.Taken, b.Listed = nil, time.Time{} // another place has others
		}
		b.Repository = model.RecordedRepository{Name: a.Repository, Settings: a.Settings, Secrets: a.SecretVersions, Nodes: mergedNodes(b.Repository, a)}
		if a.New {
			b.Foreign, b.ForeignAt = "", time.Time{}
		}
		if result.Code == model.ResultForeign {
			b.Foreign, b.ForeignAt = result.Message, now
		}
	case model.ActionCreateSnapshot:
		running := model.Own(&b.Running)
		switch result.Code {
		case model.ResultMissing:
			b.Repository.Settings, b.Repository.Nodes = "", "" // somebody has dropped it: what is in it stays
		case model.ResultWaits:
			b.Listed = time.Time{} // a reading has to show what is waited for
		case model.ResultRefused:
			running.Refused = result.Message
		default:
			running.Asked = now
		}
	case model.ActionDropSnapshot:
		b.Taken = slices.DeleteFunc(slices.Clone(b.Taken), func(k model.TakenSnapshot) bool { return k.Name == a.Snapshot })
	}
	return record
}

// mergedNodes are those that have verified the repository as it is.
func mergedNodes(before model.RecordedRepository, a model.Action) string {
	ids := model.Listed(a.NodeIDs)
	if before.Name == a.Repository && before.Settings == a.Settings && before.Secrets == a.SecretVersions {
		ids = append(ids, model.Listed(before.Nodes)...)
	}
	ids = model.Distinct(ids)
	const most = 200 // ids of nodes that left long ago
	return strings.Join(ids[:min(len(ids), most)], ",")
}
