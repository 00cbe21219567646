// Package record keeps what must survive the process: a cluster's four
// ConfigMaps, which stand beside it and need no CRD. It knows their shape,
// bounds and names; what their content means is the business of who writes it.
package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
)

// Kind is one of a cluster's four ConfigMaps.
type Kind string

const (
	// Operation: what is in progress, the stage, ids and holds. Events regard
	// it and commands are annotations on it.
	Operation Kind = "operation"
	// Inventory: what was applied for the cluster; apply writes its content.
	Inventory Kind = "inventory"
	// Reports: the queue of reports that no receiver has taken yet.
	Reports Kind = "reports"
	// Observation: the last published look at the database, for a plan made
	// without access to it.
	Observation Kind = "observation"
)

// Kinds are all four, in the order in which they are listed to people.
func Kinds() []Kind { return []Kind{Operation, Inventory, Reports, Observation} }

// Name of the kind's ConfigMap for the cluster with this metadata.name.
func (k Kind) Name(cluster string) string {
	switch k {
	case Inventory:
		return names.InventoryConfigMap(cluster)
	case Reports:
		return names.ReportsConfigMap(cluster)
	case Observation:
		return names.ObservationConfigMap(cluster)
	default:
		return names.OperationConfigMap(cluster)
	}
}

// Limit is the largest data.json of the kind, in bytes. The API server refuses
// a ConfigMap above 1 MiB (its manual, "ConfigMaps", Motivation), and etcd a
// request above 1.5 MiB; the bounds leave room for labels and for what a
// cluster of a thousand tables needs.
func (k Kind) Limit() int {
	switch k {
	case Operation:
		return 200 << 10
	case Reports:
		return 256 << 10
	default:
		return 512 << 10
	}
}

// ErrDamaged: what is stored cannot be read. It has been kept aside, so the
// caller rebuilds from what is live and saves.
var ErrDamaged = errors.New("damaged")

// SchemaVersionError: the record was written by another release, which knows
// more about it than this one does. It is never overwritten.
type SchemaVersionError struct {
	Name    string
	Version int
}

func (e *SchemaVersionError) Error() string {
	return fmt.Sprintf("read ConfigMap %s: schemaVersion %d is not known to this release, which knows %d: it is left as it is; run the release that wrote it",
		e.Name, e.Version, names.SchemaVersion)
}

// TooLargeError: the content does not fit the kind's bound.
type TooLargeError struct {
	Kind        Kind
	Size, Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("encode the %s record: %d bytes, more than the %d that it may have", e.Kind, e.Size, e.Limit)
}

// Encode gives data.json: the value's own JSON object with schemaVersion as
// its first field. The same value gives the same bytes. The value's JSON must
// be an object; a schemaVersion of its own must be the current one.
func Encode(kind Kind, value any) (string, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	// Revisions and messages are read by people in kubectl's output.
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", fmt.Errorf("encode the %s record: %w", kind, err)
	}
	body := bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
	if len(body) == 0 || body[0] != '{' {
		return "", fmt.Errorf("encode the %s record: its value must be a JSON object, not %.20s", kind, body)
	}
	var head struct {
		SchemaVersion *int `json:"schemaVersion"`
	}
	if err := json.Unmarshal(body, &head); err != nil {
		return "", fmt.Errorf("encode the %s record: read its schemaVersion: %w", kind, err)
	}
	var data string
	switch {
	case head.SchemaVersion != nil && *head.SchemaVersion != names.SchemaVersion:
		return "", fmt.Errorf("encode the %s record: its schemaVersion is %d, not %d", kind, *head.SchemaVersion, names.SchemaVersion)
	case head.SchemaVersion != nil:
		data = string(body)
	case len(body) == 2:
		data = fmt.Sprintf(`{"schemaVersion":%d}`, names.SchemaVersion)
	default:
		data = fmt.Sprintf(`{"schemaVersion":%d,`, names.SchemaVersion) + string(body[1:])
	}
	if len(data) > kind.Limit() {
		return "", &TooLargeError{Kind: kind, Size: len(data), Limit: kind.Limit()}
	}
	return data, nil
}

// validated is what says of itself whether it contradicts itself.
type validated interface{ Validate() error }

var _ validated = (*model.Record)(nil)

// Decode reads data.json into the value, which is to be the zero value before.
// Errors: ErrDamaged (wrapped) where it is no JSON object of our shape, is cut
// short, above its bound, or says of itself that it is not valid (Validate);
// *SchemaVersionError where another release wrote it.
// Fields that are not known are skipped: a field whose loss matters raises
// schemaVersion.
func Decode(kind Kind, data string, into any) error {
	damaged := func(what string, err error) error {
		return fmt.Errorf("decode the %s record: %s: %w: %w", kind, what, err, ErrDamaged)
	}
	var head struct {
		SchemaVersion *int `json:"schemaVersion"`
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(data)))
	if err := decoder.Decode(&head); err != nil {
		return damaged("no JSON object", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return damaged("no JSON object", errors.New("there is more after its end"))
	}
	if head.SchemaVersion == nil {
		return damaged("no schemaVersion", errors.New("every record has one"))
	}
	// The version goes before the bound: another release may allow itself more.
	if *head.SchemaVersion != names.SchemaVersion {
		return &SchemaVersionError{Name: "(" + string(kind) + ")", Version: *head.SchemaVersion}
	}
	if len(data) > kind.Limit() {
		return damaged("too large", fmt.Errorf("%d bytes, more than the %d that it may have", len(data), kind.Limit()))
	}
	if err := json.Unmarshal([]byte(data), into); err != nil {
		return damaged("a field of another type", err)
	}
	if record, ok := into.(validated); ok {
		if err := record.Validate(); err != nil {
			return damaged("it contradicts itself", err)
		}
	}
	return nil
}
