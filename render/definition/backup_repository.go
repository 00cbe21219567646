package definition

import (
	"strings"

	"gopkg.in/yaml.v3"

	"stevedore.dev/stevedore/render/internal/located"
)

// parameter is one of CrateDB's, and the field that has it.
type parameter struct{ field, name string }

// The parameters of each kind (manual, CREATE REPOSITORY). What is before `secrets` stands in the
// definition, what is in it in a Secret.
var repositoryParameters = map[string]struct {
	kind           string
	plain, secrets []parameter
}{
	"aws":        {"s3", nil, []parameter{{"accessKeyId", "access_key"}, {"secretAccessKey", "secret_key"}, {"bucket", "bucket"}, {"region", "region"}, {"endpointUrl", "endpoint"}}},
	"azure_blob": {"azure", nil, []parameter{{"accountName", "account"}, {"accountKey", "key"}, {"container", "container"}}},
	"s3": {"s3",
		[]parameter{{"bucket", "bucket"}, {"region", "region"}, {"endpoint", "endpoint"}, {"protocol", "protocol"}, {"pathStyleAccess", "use_path_style_access"},
			{"serverSideEncryption", "server_side_encryption"}, {"storageClass", "storage_class"}},
		[]parameter{{"accessKey", "access_key"}, {"secretKey", "secret_key"}}},
	"azure": {"azure",
		[]parameter{{"account", "account"}, {"container", "container"}, {"endpoint", "endpoint"}},
		[]parameter{{"key", "key"}, {"sasToken", "sas_token"}}},
	"gcs": {"gcs",
		[]parameter{{"bucket", "bucket"}, {"endpoint", "endpoint"}},
		[]parameter{{"privateKey", "private_key"}, {"privateKeyId", "private_key_id"}, {"clientId", "client_id"}, {"clientEmail", "client_email"}}},
	"fs": {"fs", nil, nil},
}

// repositoryOf reads where snapshots go.
func repositoryOf(n *yaml.Node) BackupRepository {
	var r BackupRepository
	for _, kind := range repositoryKinds {
		place := located.Get(n, kind)
		if place == nil {
			continue
		}
		known := repositoryParameters[kind]
		r.Type, r.Base = known.kind, str(place, "basePath")
		if kind == "fs" {
			r.Base = str(place, "location")
		}
		for _, p := range known.plain {
			if value := located.Get(place, p.field); value != nil {
				r.Settings = append(r.Settings, Setting{Name: p.name, Value: plain(value)})
			}
		}
		for _, p := range known.secrets {
			if ref := secret(place, p.field); ref != nil {
				r.Secrets = append(r.Secrets, SecretSetting{Name: p.name, Ref: *ref})
			}
		}
		break
	}
	for _, p := range []parameter{{"maxSnapshotBytesPerSecond", "max_snapshot_bytes_per_sec"}, {"maxRestoreBytesPerSecond", "max_restore_bytes_per_sec"}} {
		if value := str(n, p.field); value != "" {
			r.Settings = append(r.Settings, Setting{Name: p.name, Value: value})
		}
	}
	return r
}

// plain is a text or a boolean as CrateDB takes it.
func plain(n *yaml.Node) string {
	if n.Tag == "!!bool" {
		return strings.ToLower(n.Value)
	}
	return n.Value
}
