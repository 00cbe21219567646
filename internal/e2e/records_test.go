package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/testbed"
	"stevedore.dev/stevedore/ops/model"
)

// What is recorded may be lost or damaged at any moment, while the daemon runs
// and while it does not: it is recreated from what is live, and the cluster notices nothing.
func TestARecordThatIsLostOrDamagedIsRebuilt(t *testing.T) {
	t.Parallel()
	s := begin(t, "records")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 3))})
	receiver := testbed.NewReceiver(nil)
	t.Cleanup(receiver.Close)
	start := func() *testbed.Daemon {
		return s.start(testbed.DaemonOptions{Args: s.fromDir(), Env: []string{"WEBHOOK_URL=" + receiver.URL()}})
	}
	daemon := start()
	s.done("orders")
	before := s.record("orders")
	specs := s.setSpecs()
	configs := bed.Admin.CoreV1().ConfigMaps(s.ns)

	lose := func(kind record.Kind) func() {
		return func() {
			s.Helper()
			require.NoError(s, configs.Delete(s.ctx, kind.Name("orders"), metav1.DeleteOptions{}))
		}
	}
	damage := func(kind record.Kind, text string) func() {
		return func() {
			s.Helper()
			object, err := configs.Get(s.ctx, kind.Name("orders"), metav1.GetOptions{})
			require.NoError(s, err)
			object.Data = map[string]string{names.DataKey: text}
			_, err = configs.Update(s.ctx, object, metav1.UpdateOptions{FieldManager: "somebody"})
			require.NoError(s, err)
		}
	}
	for i, fault := range []struct {
		what string
		do   func()
		// aside: the damaged text is kept in a ConfigMap beside it.
		aside string
	}{
		{"the operation is deleted", lose(record.Operation), ""},
		{"the operation is cut short", damage(record.Operation, `{"schemaVersion":1,"own`), `{"schemaVersion":1,"own`},
		{"the operation is something else", damage(record.Operation, `[]`), `[]`},
		{"the inventory is deleted", lose(record.Inventory), ""},
		{"the inventory is damaged", damage(record.Inventory, `no JSON`), ""},
		{"the reports are damaged", damage(record.Reports, `no JSON at all`), `no JSON at all`},
		{"the observation is damaged", damage(record.Observation, `{`), ""},
	} {
		for _, running := range []bool{true, false} {
			if !running && i >= 2 && i != 4 {
				continue // a new daemon reads all of them alike
			}
			when := fault.what + " while nobody looks"
			if running {
				when = fault.what + " while the daemon runs"
			} else {
				s.kill(daemon)
			}
			fault.do()
			if !running {
				daemon = start()
			}
			s.until(when+": it goes on", func() bool {
				// A change is carried out, so all that it takes is there again.
				return isDone(s.record("orders"))
			})
			mark := strings.ReplaceAll(when, " ", "-")
			s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 3),
				with("spec.cluster.service.annotations", map[string]any{"example.com/mark": mark}))})
			s.until(when+": a change is applied", func() bool { return s.mark() == mark })
			s.done("orders")
			after := s.record("orders")
			assert.Equal(t, before.ClusterID, after.ClusterID, when)
			assert.Equal(t, before.Sets, after.Sets, when)
			assert.Equal(t, before.Pins, after.Pins, when)
			assert.Equal(t, before.Owner, after.Owner, when)
			assert.Equal(t, specs, s.setSpecs(), "%s: a StatefulSet was changed", when)
			if fault.aside != "" {
				s.until(when+": the damaged text is kept aside", func() bool { return s.keptAside(fault.aside) })
			}
			s.noPodRestarted()
			if t.Failed() {
				t.Fatalf("%d: %s", i, when)
			}
		}
	}
	_, err := s.query("orders", "app", appPassword, "SELECT 1")
	assert.NoError(t, err)
}

func (s *situation) keptAside(text string) bool {
	s.Helper()
	list, err := bed.Admin.CoreV1().ConfigMaps(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	for _, object := range list.Items {
		if strings.Contains(object.Name, "-damaged-") && object.Data[names.DataKey] == text {
			return true
		}
	}
	return false
}

// A release before the present one recorded why a definition was not used, and not by
// whom: such a record goes once no source names the cluster.
func TestARecordOfAnOldReleaseForNothingGoes(t *testing.T) {
	t.Parallel()
	s := begin(t, "records-old")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders")})
	store := record.NewStore(record.OverClient(bed.Admin.CoreV1(), nil))
	leave := func(name string, rec model.Record) {
		rec.SchemaVersion = model.RecordVersion
		entry, err := store.Load(s.ctx, record.Cluster{Namespace: s.ns, Name: name}, record.Operation, &model.Record{})
		require.NoError(t, err)
		_, err = store.Save(s.ctx, entry, rec)
		require.NoError(t, err)
	}
	refused := model.Shown{Verdict: "refuse", Problems: []string{"gone.yaml:3:1: no such field"}}
	leave("gone", model.Record{Shown: refused})
	leave("made", model.Record{Shown: refused, ClusterID: "1"})
	there := func(name string) bool {
		_, err := bed.Admin.CoreV1().ConfigMaps(s.ns).Get(s.ctx, names.OperationConfigMap(name), metav1.GetOptions{})
		return err == nil
	}
	s.run("--look-interval", "1s")
	s.until("it is gone", func() bool { return !there("gone") })
	s.done("orders")
	leave("late", model.Record{Shown: refused})
	s.until("so is one that comes later", func() bool { return !there("late") })
	assert.True(t, there("made"), "of what was made the record stays")
	s.noPodRestarted()
}
