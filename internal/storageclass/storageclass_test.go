package storageclass

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

func class(name string, annotations map[string]string) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}, Provisioner: "disk.example.com"}
}

func volume(class string, phase corev1.PersistentVolumePhase) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v-" + class + "-" + string(phase)},
		Spec: corev1.PersistentVolumeSpec{StorageClassName: class}, Status: corev1.PersistentVolumeStatus{Phase: phase}}
}

func forbidden(client *fake.Clientset, what string) *fake.Clientset {
	client.PrependReactor("list", what, func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: what}, "", nil)
	})
	return client
}

func asks(class string) []model.ClaimClass { return []model.ClaimClass{{Set: "s", Class: class}} }

func TestWhatMayNotBeReadIsUnknownAndNeverMissing(t *testing.T) {
	for name, c := range map[string]struct {
		client *fake.Clientset
		asks   string
		known  bool
		missed bool
	}{
		"there":                                {fake.NewClientset(class("fast", nil)), "fast", true, false},
		"missing":                              {fake.NewClientset(class("fast", nil)), "quick", true, true},
		"missing, and a volume of it is free":  {fake.NewClientset(volume("quick", corev1.VolumeAvailable)), "quick", true, false},
		"missing, and a volume of it is bound": {fake.NewClientset(volume("quick", corev1.VolumeBound)), "quick", true, true},
		"the default":                          {fake.NewClientset(class("fast", map[string]string{"storageclass.kubernetes.io/is-default-class": "true"})), "", true, false},
		"the default, as it was marked once":   {fake.NewClientset(class("fast", map[string]string{"storageclass.beta.kubernetes.io/is-default-class": "true"})), "", true, false},
		"no default":                           {fake.NewClientset(class("fast", map[string]string{"storageclass.kubernetes.io/is-default-class": "false"})), "", true, true},
		"classes may not be read":              {forbidden(fake.NewClientset(), "storageclasses"), "quick", false, false},
		"volumes may not be read":              {forbidden(fake.NewClientset(), "persistentvolumes"), "quick", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := Read(t.Context(), c.client, asks(c.asks))
			assert.Equal(t, c.known, got.Known)
			assert.Equal(t, !c.known, got.Unread != "")
			if c.known {
				assert.Equal(t, c.missed, len(aim.ClassProblems(asks(c.asks), got)) > 0)
			} else {
				assert.Contains(t, got.Unread, "deploy/cluster")
			}
		})
	}
}

// A thousand clusters that are made at once, or that wait, ask for the classes no oftener.
func TestManyClustersShareOneReading(t *testing.T) {
	client := fake.NewClientset(class("fast", nil))
	lists := func(what string) (n int) {
		for _, a := range client.Actions() {
			if a.Matches("list", what) {
				n++
			}
		}
		return n
	}
	cache := &Cache{Client: client, For: time.Hour}
	for range 5 {
		assert.True(t, cache.Read(t.Context(), asks("fast")).Known)
	}
	assert.Equal(t, 1, lists("storageclasses"))
	assert.Equal(t, 0, lists("persistentvolumes"))
	for range 5 {
		assert.NotEmpty(t, aim.ClassProblems(asks("quick"), cache.Read(t.Context(), asks("quick"))))
	}
	assert.Equal(t, 2, lists("storageclasses"), "once more, with the volumes")
	assert.Equal(t, 1, lists("persistentvolumes"))

	said := 0
	denied := &Cache{Client: forbidden(fake.NewClientset(), "storageclasses"), Unread: func(string) { said++ }}
	for range 3 {
		denied.at = time.Time{}
		assert.False(t, denied.Read(t.Context(), asks("fast")).Known)
	}
	assert.Equal(t, 1, said, "it is said once")
}

func TestVolumeAttributesClassesThatMayNotBeReadAreUnknown(t *testing.T) {
	gold := &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, DriverName: "disk.example.com"}
	got := Read(t.Context(), fake.NewClientset(class("fast", nil), gold), asks("fast"))
	assert.True(t, got.AttributesKnown)
	assert.Equal(t, []gates.AttributesClass{{Name: "gold", Driver: "disk.example.com"}}, got.Attributes)
	got = Read(t.Context(), forbidden(fake.NewClientset(class("fast", nil), gold), "volumeattributesclasses"), asks("fast"))
	assert.True(t, got.Known, "the storage classes are known all the same")
	assert.False(t, got.AttributesKnown)
}

// What nobody has denied is read again before something is made; what is denied stays unknown.
func TestAReadingThatFailedIsWorthAnother(t *testing.T) {
	fails := func(err error) *fake.Clientset {
		client := fake.NewClientset()
		client.PrependReactor("list", "storageclasses", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, err })
		return client
	}
	resource := schema.GroupResource{Group: "storage.k8s.io", Resource: "storageclasses"}
	for name, c := range map[string]struct {
		client *fake.Clientset
		again  bool
	}{
		"read":                   {fake.NewClientset(class("fast", nil)), false},
		"its deadline has ended": {fails(context.DeadlineExceeded), true},
		"the server is busy":     {fails(apierrors.NewTooManyRequests("slow down", 1)), true},
		"the server has failed":  {fails(apierrors.NewInternalError(assert.AnError)), true},
		"denied":                 {fails(apierrors.NewForbidden(resource, "", nil)), false},
		"not served":             {fails(apierrors.NewNotFound(resource, "")), false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.again, Read(t.Context(), c.client, asks("fast")).Again)
		})
	}
}
