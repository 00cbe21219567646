package ops

import (
	"slices"
	"time"

	"stevedore.dev/stevedore/ops/access"
	"stevedore.dev/stevedore/ops/backup"
	"stevedore.dev/stevedore/ops/fetch"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/setting"
	"stevedore.dev/stevedore/ops/volume"
)

// RecordResult returns the record after an action ended with this result; the argument is not
// changed. If the process was killed before that was recorded, another look finds what was done.
func RecordResult(record model.Record, action model.Action, result model.Result, now time.Time) model.Record {
	version := result.SecretVersion
	if version == (model.SecretVersion{}) {
		version = action.SecretVersion
	}
	switch action.Kind {
	case model.ActionSetRepository, model.ActionCreateSnapshot, model.ActionDropSnapshot:
		return backup.Result(record, action, result, now)
	case model.ActionFetchTables, model.ActionDropFetched, model.ActionPrepareSwap, model.ActionSwapTables, model.ActionDropCopy, model.ActionDropKept:
		return fetch.Result(record, action, result, now)
	case model.ActionRestoreUsers, model.ActionRestoreTables, model.ActionDropRestored, model.ActionEndRestore:
		return backup.RestoreResult(record, action, result, now)
	case model.ActionGrowClaim:
		record.Growth = volume.Answered(record.Growth, action, result, now)
	case model.ActionLockAllocation, model.ActionUnlockAllocation:
		return setting.LockResult(record, action, result, now)
	case model.ActionSetSettings, model.ActionResetSettings:
		return setting.SettingsResult(record, action, result, now)
	case model.ActionExcludeNodes, model.ActionIncludeNodes, model.ActionIncludeInTable, model.ActionRetryAllocation:
		return setting.ExclusionsResult(record, action, result, now)
	case model.ActionRestartPod:
		if op := record.Operation; op != nil && op.Restart != nil && op.Restart.PodUID == action.PodUID && result.Code == model.ResultDone {
			model.Own(&model.Own(&record.Operation).Restart).Gone = true
		}
	case model.ActionSetLicense:
		record.Bootstrap.Licence = model.LicenceSet
		key := action.Secret
		record.License, record.LicenseSecret = &key, version
	case model.ActionSetSystemUser:
		record.Bootstrap.System = version
	case model.ActionSetUser:
		if slices.ContainsFunc(record.Bootstrap.Users, func(u model.RecordedUser) bool { return u.Name == action.User && u.Secret != (model.SecretVersion{}) }) {
			result.Overwrote = "" // it was ours already
		}
		record.Bootstrap.Users = access.PutUser(record.Bootstrap.Users, model.RecordedUser{Name: action.User, Secret: version, Key: action.Secret.Key, Overwrote: result.Overwrote})
	case model.ActionVerifyUser, model.ActionChangePassword:
		i := slices.IndexFunc(record.Bootstrap.Users, func(u model.RecordedUser) bool { return u.Name == action.User })
		if i < 0 {
			return record
		}
		u := record.Bootstrap.Users[i]
		if result.Code == model.ResultRefused {
			u.Refused = version
		} else {
			u.Secret, u.Pending, u.Refused = version, model.SecretVersion{}, model.SecretVersion{}
			u.Key = action.Secret.Key
		}
		record.Bootstrap.Users = access.PutUser(record.Bootstrap.Users, u)
	}
	return record
}
