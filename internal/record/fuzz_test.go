package record_test

import (
	"encoding/json"
	"errors"
	"testing"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// Whoever may write ConfigMaps writes the record: it is read, or said to be
// damaged or another release's, and what is read can be written again.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		`{"schemaVersion":1}`, `{"schemaVersion":2,"x":1}`, `{}`, `[]`, `null`, `{"schemaVersion":1}{}`, `{"schemaVersion":1,"schemaVersion":2}`,
		`{"schemaVersion":1,"seq":1,"revision":"r","clusterID":"id","operation":{"kind":"restart"}}`,
		`{"SCHEMAVERSION":1,"operation":[]}`, `{"schemaVersion":1e0}`, "{\"schemaVersion\":1,\"revision\":\"\xff\"}",
	} {
		f.Add(text)
	}
	if text, err := record.Encode(record.Operation, model.Record{Revision: "r", ClusterID: "id", Operation: &model.Operation{}}); err == nil {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, data string) {
		for _, kind := range record.Kinds() {
			var rec model.Record
			err := record.Decode(kind, data, &rec)
			var other *record.SchemaVersionError
			if err != nil {
				if !errors.Is(err, record.ErrDamaged) && !errors.As(err, &other) {
					t.Fatalf("an error of no kind: %v", err)
				}
				continue
			}
			text, err := record.Encode(kind, rec)
			if err != nil {
				var large *record.TooLargeError
				if !errors.As(err, &large) {
					t.Fatalf("what was read cannot be written: %v", err)
				}
				continue
			}
			var again model.Record
			if err := record.Decode(kind, text, &again); err != nil {
				t.Fatalf("what was written cannot be read: %v", err)
			}
			one, _ := json.Marshal(rec)
			two, _ := json.Marshal(again)
			if string(one) != string(two) {
				t.Fatalf("read again it is another:\n%s\n%s", one, two)
			}
		}
	})
}

// Commands are annotations that people write.
func FuzzCommands(f *testing.F) {
	f.Add("true", "false@r1", "2026-01-01T00:00:00Z@r2", "r1")
	f.Add("@", "true@", "@@", "")
	f.Fuzz(func(t *testing.T, paused, aborted, restarted, revision string) {
		annotations := map[string]string{names.PausedAnnotation: paused, names.AbortAnnotation: aborted, names.RestartedAtAnnotation: restarted}
		commands := record.CommandsOf(annotations)
		if len(commands) != 3 {
			t.Fatalf("%d commands", len(commands))
		}
		for key := range record.Effective(annotations, commands, revision) {
			if _, ok := annotations[key]; !ok {
				t.Fatalf("%s came from nowhere", key)
			}
		}
	})
}
