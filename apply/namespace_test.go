package apply

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestANamespaceThatIsNotThereIsToldFromOtherErrors(t *testing.T) {
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop")
	ending := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("terminating"))
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for _, c := range []struct {
		name string
		err  error
		says string
	}{
		{"none", nil, ""},
		{"another error", errors.New("refused"), ""},
		{"an object that is not there", apierrors.NewNotFound(schema.GroupResource{Resource: "services"}, "shop"), ""},
		{"another namespace", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "other"), ""},
		{"missing", fmt.Errorf("write ConfigMap: %w", missing), "namespace shop does not exist, and stevedore makes none: kubectl create namespace shop, and for a daemon with rights of its own kubectl apply -n shop -k deploy/namespace"},
		{"ending", ending, "namespace shop is being deleted: wait until it is gone, then create it again"},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.says, NamespaceGone(c.err, "shop")) })
	}
}
