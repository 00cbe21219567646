package attendance_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"stevedore.dev/stevedore/internal/attendance"
)

var now = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

const (
	apps  = "https://git.example.com/apps#prod"
	infra = "https://git.example.com/infra"
)

func lease(name, holder string, ago time.Duration, follows *attendance.Following) *coordinationv1.Lease {
	l := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "stevedore-system", Name: name},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: new(int32(15)), RenewTime: &metav1.MicroTime{Time: now.Add(-ago)},
		},
	}
	if follows != nil {
		l.Annotations = map[string]string{attendance.Annotation: follows.Encode()}
	}
	return l
}

func TestWhoLooksAfterACluster(t *testing.T) {
	follows := func(holder string, sources ...attendance.Followed) *attendance.Following {
		return &attendance.Following{Holder: holder, Sources: sources}
	}
	for _, c := range []struct {
		name   string
		lease  *coordinationv1.Lease
		named  string
		nobody string
		behind bool
		taken  string
	}{
		{"a daemon acts", lease("stevedore", "a", 0, follows("a", attendance.Followed{Source: apps, Revisions: []string{"main@sha1:0123456789"}})), "", "", false, "main@sha1:0123456789"},
		{"it has not come to this cluster yet", lease("stevedore", "a", 0, follows("a", attendance.Followed{Source: apps, Behind: []string{"prod/metrics", "prod/orders"}})), "", "", true, ""},
		{"it has come to this one, not to another", lease("stevedore", "a", 0, follows("a", attendance.Followed{Source: apps, Behind: []string{"prod/metrics"}})), "", "", false, ""},
		{"it was killed", lease("stevedore", "a", 16*time.Second, nil), "", "has renewed it no more", false, ""},
		{"it was stopped", lease("stevedore", "", 0, follows("a", attendance.Followed{Source: apps})), "", "gave Lease stevedore-system/stevedore back", false, ""},
		{"a daemon that takes long", lease("stevedore", "a", 14*time.Second, nil), "", "", false, ""},
		{"it follows other sources", lease("stevedore", "a", 0, follows("a", attendance.Followed{Source: infra})), "", "a holds Lease stevedore-system/stevedore and follows " + infra + ", and the cluster belongs to " + apps, false, ""},
		{"an older release acts, and a newer one did before", lease("stevedore", "old", 0, follows("a", attendance.Followed{Source: infra})), "", "", false, ""},
		{"there is no Lease", lease("other", "a", 0, nil), "", "there is no Lease stevedore-system/stevedore", false, ""},
		{"another Lease, which the record names", lease("second", "b", 0, follows("b", attendance.Followed{Source: apps, Revisions: []string{"r"}})), "stevedore-system/second", "", false, "r"},
		{"another Lease acts, and the record's does not", lease("stevedore", "a", 0, follows("a", attendance.Followed{Source: apps})), "stevedore-system/second", "there is no Lease stevedore-system/second", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			looker := attendance.NewLooker(fake.NewClientset(c.lease).CoordinationV1(), now)
			who, err := looker.Of(t.Context(), attendance.Cluster{Name: "prod/orders", Lease: c.named, Source: apps})
			require.NoError(t, err)
			assert.Equal(t, c.nobody != "", who.Nobody)
			assert.Contains(t, who.Why, c.nobody)
			assert.Equal(t, c.behind, who.Behind)
			assert.Equal(t, c.taken, who.Revision)
		})
	}
}

func TestALeaseThatMayNotBeReadIsAskedForOnceAndTellsNothing(t *testing.T) {
	client := fake.NewClientset()
	asked := 0
	client.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		asked++
		return true, nil, apierrors.NewForbidden(coordinationv1.Resource("leases"), "stevedore", errors.New("no"))
	})
	looker := attendance.NewLooker(client.CoordinationV1(), now)
	for range 3 {
		who, err := looker.Of(t.Context(), attendance.Cluster{Name: "prod/orders"})
		assert.Nil(t, who)
		assert.ErrorContains(t, err, "reading the Lease stevedore-system/stevedore")
	}
	assert.Equal(t, 1, asked)
}

func TestAWordForARevision(t *testing.T) {
	const revision = "main@sha1:0123456789abcdef0123456789abcdef01234567"
	for word, means := range map[string]bool{
		revision: true, "0123456": true, "0123456789abcdef0123456789abcdef01234567": true, "0123456789ABCDEF": true,
		"012345": false, "1234567": false, "main": false, "": false, "sha1:0123456": false,
	} {
		assert.Equal(t, means, attendance.Means(revision, word), word)
	}
}

func TestWhatALeaseSaysStaysShort(t *testing.T) {
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("namespace-%d/cluster", i))
	}
	following := attendance.Following{Holder: "a", Sources: []attendance.Followed{{Source: apps, Revisions: []string{"new", "old"}, Behind: many}}}
	text := following.Encode()
	assert.Less(t, len(text), 1000)
	who, err := attendance.NewLooker(fake.NewClientset(lease("stevedore", "a", 0, &following)).CoordinationV1(), now).Of(t.Context(), attendance.Cluster{Name: "not/listed", Source: apps})
	require.NoError(t, err)
	assert.True(t, who.Behind, "of more than are listed any may be one")

	following.Sources = nil
	for i := range 2000 {
		following.Sources = append(following.Sources, attendance.Followed{Source: fmt.Sprint(apps, i), Revisions: []string{strings.Repeat("x", 50)}})
	}
	assert.Empty(t, following.Encode())
	who, err = attendance.NewLooker(fake.NewClientset(lease("stevedore", "a", 0, &following)).CoordinationV1(), now).Of(t.Context(), attendance.Cluster{Name: "prod/orders", Source: infra})
	require.NoError(t, err)
	assert.False(t, who.Nobody, "what is not said is not known")
}
