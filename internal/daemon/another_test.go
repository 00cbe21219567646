package daemon

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"stevedore.dev/stevedore/internal/attendance"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

func TestARecordNamesTheLeaseOfTheDaemonThatActs(t *testing.T) {
	for _, c := range []struct {
		name  string
		lease LeaseOptions
		want  string
	}{
		{"the usual Lease is not written down", LeaseOptions{}, ""},
		{"another one is", LeaseOptions{Name: "second"}, "stevedore-system/second"},
		{"of another namespace", LeaseOptions{Namespace: "shop", Name: "stevedore"}, "shop/stevedore"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &worker{daemon: &daemon{options: Options{Lease: c.lease.withDefaults()}}}
			assert.Equal(t, c.want, w.attendsAs())
		})
	}
}

// Two daemons with different Leases followed one source, both restarted the same nodes, and one
// took the other's hold on allocation for a person's.
func TestOfTwoDaemonsWithDifferentLeasesOneLeavesTheClusterToTheOther(t *testing.T) {
	held := func(holder string, ago time.Duration, follows ...string) *coordinationv1.Lease {
		l := &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "stevedore-system", Name: "first", Annotations: map[string]string{}},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: new(int32(15)), RenewTime: &metav1.MicroTime{Time: time.Now().Add(-ago)}},
		}
		if follows != nil {
			following := attendance.Following{Holder: holder}
			for _, source := range follows {
				following.Sources = append(following.Sources, attendance.Followed{Source: source})
			}
			l.Annotations[attendance.Annotation] = following.Encode()
		}
		return l
	}
	const first, second, source = "stevedore-system/first", "stevedore-system/second", "https://git.example.com/apps"
	forbidden := apierrors.NewForbidden(coordinationv1.Resource("leases"), "first", errors.New("no"))
	for _, c := range []struct {
		name     string
		lease    *coordinationv1.Lease
		err      error
		record   model.Record
		tookOver bool
		leaves   bool
	}{
		{"the record names this daemon's Lease", held("a", 0, source), nil, model.Record{Owner: source, Shown: model.Shown{Lease: second}}, false, false},
		{"another daemon holds the Lease and follows the source", held("a", 0, source), nil, model.Record{Owner: source, Shown: model.Shown{Lease: first}}, false, true},
		{"of a cluster that has no owner yet", held("a", 0, source), nil, model.Record{Shown: model.Shown{Lease: first, Source: source}}, false, true},
		{"it does not say what it follows", held("a", 0), nil, model.Record{Owner: source, Shown: model.Shown{Lease: first}}, false, true},
		{"it follows other sources", held("a", 0, "https://git.example.com/other"), nil, model.Record{Owner: source, Shown: model.Shown{Lease: first}}, false, false},
		{"it was killed", held("a", 16*time.Second, source), nil, model.Record{Owner: source, Shown: model.Shown{Lease: first}}, false, false},
		{"it was stopped", held("", 0, source), nil, model.Record{Owner: source, Shown: model.Shown{Lease: first}}, false, false},
		{"its Lease is deleted", nil, nil, model.Record{Owner: source, Shown: model.Shown{Lease: first}}, false, false},
		{"the record names none, and nobody has the usual one", held("a", 0, source), nil, model.Record{Owner: source}, false, false},
		{"the cluster is another source's", held("a", 0, source), nil, model.Record{Owner: "https://git.example.com/other", Shown: model.Shown{Lease: first}}, false, false},
		{"it cannot be told: taken over once", nil, forbidden, model.Record{Owner: source, Shown: model.Shown{Lease: first}}, false, false},
		{"it cannot be told, and the other one took it back", nil, forbidden, model.Record{Owner: source, Shown: model.Shown{Lease: first}}, true, true},
		{"it is stopped after it took it back", held("", 0), nil, model.Record{Owner: source, Shown: model.Shown{Lease: first}}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := fake.NewClientset()
			if c.lease != nil {
				client = fake.NewClientset(c.lease)
			}
			if c.err != nil {
				client.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, c.err })
			}
			w := &worker{
				daemon: &daemon{options: Options{Lease: LeaseOptions{Name: "second"}.withDefaults()}, otherLeases: &otherLeases{client: client.CoordinationV1()}},
				key:    record.Cluster{Namespace: "prod", Name: "orders"}, log: slog.New(slog.DiscardHandler), tookOver: c.tookOver,
			}
			words := w.another(context.Background(), c.record, source)
			assert.Equal(t, c.leaves, words != "", words)
			if c.leaves {
				assert.Contains(t, words, "Lease "+first)
				assert.Contains(t, words, "stop one of the two daemons")
			}
			assert.Equal(t, c.tookOver || c.err != nil, w.tookOver)
		})
	}
}
