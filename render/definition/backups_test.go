package definition_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/render/definition"
)

func backupsOf(t *testing.T, text string) *definition.Backups {
	t.Helper()
	var object map[string]any
	whole := strings.Replace(valid, "  ports:", "  backups:\n"+text+"  ports:", 1)
	whole = strings.Replace(whole, "{stats.enabled: true}", "{path.repo: /backups}", 1)
	require.NoError(t, yaml.Unmarshal([]byte(whole), &object))
	db, problems := definition.Decode(object, nil)
	require.Empty(t, problems)
	return db.Spec.Backups
}

func TestBackupsAsCrateOperatorHasThem(t *testing.T) {
	ref := func(key string) definition.SecretKeyRef { return definition.SecretKeyRef{Name: "s", Key: key} }
	aws := backupsOf(t, `    aws:
      accessKeyId: {secretKeyRef: {name: s, key: id}}
      secretAccessKey: {secretKeyRef: {name: s, key: secret}}
      bucket: {secretKeyRef: {name: s, key: bucket}}
      region: {secretKeyRef: {name: s, key: region}}
      endpointUrl: {secretKeyRef: {name: s, key: endpoint}}
      basePath: crate/prod
      cron: "0 2 * * 6"
`)
	assert.Equal(t, &definition.Backups{
		Repository: definition.BackupRepository{Type: "s3", Base: "crate/prod", Secrets: []definition.SecretSetting{
			{Name: "access_key", Ref: ref("id")}, {Name: "secret_key", Ref: ref("secret")}, {Name: "bucket", Ref: ref("bucket")},
			{Name: "region", Ref: ref("region")}, {Name: "endpoint", Ref: ref("endpoint")}}},
		Schedules:   []definition.BackupSchedule{{Name: "cron", Cron: "0 2 * * 6"}},
		KeepAtLeast: 3, MaxDelay: time.Hour, Unreadable: "refuse",
	}, aws)
	azure := backupsOf(t, `    azure_blob:
      accountName: {secretKeyRef: {name: s, key: account}}
      accountKey: {secretKeyRef: {name: s, key: key}}
      container: {secretKeyRef: {name: s, key: container}}
      region: {secretKeyRef: {name: s, key: region}}
      cron: "0 2 * * *"
`)
	assert.Equal(t, definition.BackupRepository{Type: "azure", Secrets: []definition.SecretSetting{
		{Name: "account", Ref: ref("account")}, {Name: "key", Ref: ref("key")}, {Name: "container", Ref: ref("container")}}}, azure.Repository)
}

func TestBackupsOfOurOwn(t *testing.T) {
	got := backupsOf(t, `    fs: {location: /backups/crate}
    keepAtLeast: 5
    maxDelay: 20m
    unreadable: skip
    maxSnapshotBytesPerSecond: 100mb
    schedules:
    - {name: nightly, cron: "0 2 * * *", timeZone: Europe/Vienna, keep: 14, keepFor: 30d}
    - {name: orders, cron: "*/15 * * * mon-fri", tables: [doc.orders, doc.lines], keepFor: 36h}
`)
	assert.Equal(t, &definition.Backups{
		Repository: definition.BackupRepository{Type: "fs", Base: "/backups/crate", Settings: []definition.Setting{{Name: "max_snapshot_bytes_per_sec", Value: "100mb"}}},
		Schedules: []definition.BackupSchedule{
			{Name: "nightly", Cron: "0 2 * * *", TimeZone: "Europe/Vienna", Keep: 14, KeepFor: 720 * time.Hour},
			{Name: "orders", Cron: "*/15 * * * mon-fri", Tables: []string{"doc.orders", "doc.lines"}, KeepFor: 36 * time.Hour},
		},
		KeepAtLeast: 5, MaxDelay: 20 * time.Minute, Unreadable: "skip",
	}, got)
	s3 := backupsOf(t, `    s3: {bucket: b, endpoint: "minio:9000", protocol: http, pathStyleAccess: true, basePath: a/b, accessKey: {secretKeyRef: {name: s, key: a}}, secretKey: {secretKeyRef: {name: s, key: b}}}
`)
	assert.Equal(t, definition.BackupRepository{Type: "s3", Base: "a/b",
		Settings: []definition.Setting{{Name: "bucket", Value: "b"}, {Name: "endpoint", Value: "minio:9000"}, {Name: "protocol", Value: "http"}, {Name: "use_path_style_access", Value: "true"}},
		Secrets:  []definition.SecretSetting{{Name: "access_key", Ref: definition.SecretKeyRef{Name: "s", Key: "a"}}, {Name: "secret_key", Ref: definition.SecretKeyRef{Name: "s", Key: "b"}}},
	}, s3.Repository)
}

func TestWhatANewClusterBeginsWith(t *testing.T) {
	whole := backupsOf(t, `    fs: {location: /backups}
    restore: {from: prod/orders/8fZ3kQxyR5m2TnWbV6pLcA}
`)
	assert.Equal(t, &definition.Restore{From: "prod/orders/8fZ3kQxyR5m2TnWbV6pLcA", Users: true}, whole.Restore)
	some := backupsOf(t, `    fs: {location: /backups}
    restore: {from: prod/orders/8fZ3kQxyR5m2TnWbV6pLcA, snapshot: stevedore-nightly-20260101t030000z, tables: [doc.a], users: false}
`)
	assert.Equal(t, &definition.Restore{From: "prod/orders/8fZ3kQxyR5m2TnWbV6pLcA", Snapshot: "stevedore-nightly-20260101t030000z", Tables: []string{"doc.a"}}, some.Restore)
}

func TestWithoutBackupsByConsentThereAreNone(t *testing.T) {
	var object map[string]any
	text := strings.Replace(valid, "[leave-zone]}", "[without-backups]}\n  backups: {s3: {bucket: b}}", 1)
	require.NoError(t, yaml.Unmarshal([]byte(text), &object))
	db, problems := definition.Decode(object, nil)
	require.Empty(t, problems)
	assert.Nil(t, db.Spec.Backups)
	assert.True(t, db.Spec.BackupsLeftOut)
}
