package ops_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
)

// FuzzDecide holds that nothing which people may write on a cluster's objects,
// annotations and the record, ends the daemon, and that what is decided then
// can be recorded.
func FuzzDecide(f *testing.F) {
	const (
		hold      = `{"cluster.routing.allocation.enable":"primaries","before":"all"}`
		exclusion = `{"cluster.routing.allocation.exclude._id":"id-1","before":"","tables":"{\"doc.t\":\"\"}"}`
		suspended = `{"replicas":3,"clusterId":"id-1"}`
		settings  = `{"stats.enabled":"true"}`
	)
	base := made(f)
	record, err := json.Marshal(base.r)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(hold, suspended, settings, "", "", bytes.ReplaceAll(record, []byte(`"replicas":3`), []byte(`"replicas":1000000000`)))
	f.Add("", `{"replicas":1000000000,"clusterId":"id-1"}`, "", "", "", []byte(`{"clusterId":"id-1","suspended":[{"name":"crate-data-hot-c","group":"hot","replicas":1000000000}],"bootstrap":{"done":true}}`))
	f.Add(hold, suspended, settings, "true", "2026-01-01T00:00:00Z", record)
	f.Add(exclusion, "{", "null", "yes", "tomorrow", []byte(`{}`))
	f.Add(`{"before":"x"}`, `{"replicas":1000000000,"clusterId":"id-1"}`, `{"a":null}`, "", "0001-01-01T00:00:00Z", []byte(`{"Operation":{}}`))
	f.Add("null", "[]", "0", "false", "9999-12-31T23:59:59Z", []byte(`{"revision":"x","seq":-1}`))
	for _, kind := range []string{"bootstrap", "scale", "restart", "upgrade", "suspend", "resume", "settings", "x"} {
		f.Add("", "", "", "", "", []byte(`{"clusterID":"id-1","operation":{"kind":"`+kind+`","step":"x","sets":[{}],"pods":[{}],"hold":{}}}`))
	}
	f.Fuzz(func(t *testing.T, hold, suspended, annotated, paused, restartedAt string, text []byte) {
		s := *base // Decide is pure: only what is changed here is copied
		s.o.Sets = slices.Clone(base.o.Sets)
		if json.Unmarshal(text, &s.r) != nil || s.r.Validate() != nil {
			s.r = model.Record{}
		}
		for i := range s.o.Sets {
			s.o.Sets[i].Hold, s.o.Sets[i].Suspended, s.o.Sets[i].Annotated = hold, suspended, annotated
		}
		s.d.RestartedAt = restartedAt
		s.o.Commands = model.Commands{Paused: paused, Abort: paused, RestartedAt: restartedAt}
		for range 3 {
			decision := ops.Decide(s.d, s.o, s.r, model.Policy{}, s.o.At)
			text, err := json.Marshal(decision.Record)
			if err != nil {
				t.Fatalf("what was decided cannot be recorded: %v", err)
			}
			s.r = model.Record{}
			if err := json.Unmarshal(text, &s.r); err != nil {
				t.Fatalf("what was recorded cannot be read: %v", err)
			}
			if err := s.r.Validate(); err != nil {
				t.Fatalf("what was decided is not sound: %v", err)
			}
			s.o.At = s.o.At.Add(time.Hour)
		}
	})
}
