package e2e

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/ops/plan"
)

const storageClassMissing = "storage-class-missing"

// A new cluster and a new group of a class that is not there are refused by its name, by the
// plan and by the daemon, with nothing made; once the class is there it goes on by itself.
// A reading that fails says nothing of a class: the daemon makes nothing before it has read them.
func TestAStorageClassThatIsMissingIsRefusedBeforeAnythingIsMade(t *testing.T) {
	t.Parallel()
	s := begin(t, "classes")
	s.appSecret("app-password")
	first, second := s.ns+"-first", s.ns+"-second" // nobody else has one of these names
	make := func(name string) {
		mode := storagev1.VolumeBindingWaitForFirstConsumer
		_, err := bed.Admin.StorageV1().StorageClasses().Create(s.ctx, &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner(), VolumeBindingMode: &mode}, metav1.CreateOptions{})
		require.NoError(t, err)
		t.Cleanup(func() { _ = bed.Admin.StorageV1().StorageClasses().Delete(s.ctx, name, metav1.DeleteOptions{}) })
	}
	class := with("spec.nodes.data.0.resources.disk.storageClass", first)
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", class)})
	refused := func(plans []plan.Plan, class string) {
		t.Helper()
		require.Len(t, plans, 1)
		var words []string
		for _, gate := range plans[0].Refused {
			words = append(words, gate.Name+": "+gate.Message)
		}
		require.Len(t, words, 1)
		assert.Contains(t, words[0], storageClassMissing+": ")
		assert.Contains(t, words[0], "the storage class "+class+" does not exist")
	}
	refused(s.plans(2, s.dir), first)
	var lists atomic.Int64
	slow := newFrontAPIServer(t, func(pass http.Handler, w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/storageclasses") && lists.Add(1) <= 2 {
			status(w, http.StatusGatewayTimeout, "Timeout")
			return
		}
		pass.ServeHTTP(w, r)
	}, nil)
	daemon := s.run("--look-interval", "1s", "--kubeconfig", slow.kubeconfig)
	s.refusedFor("orders", storageClassMissing)
	assert.Greater(t, lists.Load(), int64(2), "two readings failed")
	s.refusedWith("orders", storageClassMissing, first)
	_, err := bed.Admin.AppsV1().StatefulSets(s.ns).Get(s.ctx, "crate-data-hot-orders", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "a StatefulSet was made")
	_, err = bed.Admin.CoreV1().Services(s.ns).Get(s.ctx, "crate-orders", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "a Service was made")

	make(first)
	s.done("orders")

	// A new group: what runs is left as it is.
	cold := group("cold", 1)
	cold["resources"].(map[string]any)["disk"].(map[string]any)["storageClass"] = second
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", class, with("spec.nodes.data.1", cold))})
	refused(s.plans(2, s.dir), second)
	before := s.setSpecs()
	s.refusedFor("orders", storageClassMissing)
	assert.Equal(t, before, s.setSpecs())

	// A class that goes holds nothing up that has its claims.
	require.NoError(t, bed.Admin.StorageV1().StorageClasses().Delete(s.ctx, first, metav1.DeleteOptions{}))
	make(second)
	s.done("orders")
	s.noPodRestarted()
	assert.False(t, strings.Contains(daemon.Log(), "storage classes of new claims"), "the daemon may read them here")
}
