package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/internal/names"
)

// `helm uninstall crate-operator` deletes its kind, and with that every CrateDB object and what
// depends on one. An adopted cluster stays, and then has another password and another release.
func TestTheEndOfCrateOperatorsKindTakesNothingOfAnAdoptedCluster(t *testing.T) {
	o := operate(t, "adopt-kind", ofRelease("6.3.7"))
	daemon := o.expected(with("spec.cluster.version", "6.3.7"))
	o.adopt()
	o.settled(cutCluster)
	claims := o.claimsOf()

	gone := o.canary()
	o.kindDeleted()
	o.eventually("the garbage collector has taken the canary", restartPatience, gone)
	o.untouched("after the kind is gone")
	for name, was := range claims {
		now := o.claimsOf()[name]
		assert.Equal(t, was.UID, now.UID, name)
		assert.Nil(t, now.DeletionTimestamp, name)
	}
	for _, secret := range []string{"app-password", names.SystemSecret(cutCluster)} {
		_, err := bed.Admin.CoreV1().Secrets(o.ns).Get(o.ctx, secret, metav1.GetOptions{})
		assert.NoError(t, err)
	}

	o.patch("secrets", "app-password", `{"stringData":{"password":"`+nextPassword+`"}}`)
	o.eventually("the password is another", restartPatience, func() bool {
		_, err := o.query(cutCluster, "app", nextPassword, "SELECT 1")
		return err == nil && o.isSettled(cutCluster)
	})
	o.untouched("after another password")

	o.mayRestart = true
	o.push(with("spec.cluster.version", "6.4.3"))
	o.eventually("every node has the release", restartPatience, func() bool { return o.restarted() && o.isSettled(cutCluster) })
	rows, err := o.query(cutCluster, "app", nextPassword, "SELECT DISTINCT version['number'] FROM sys.nodes")
	require.NoError(t, err)
	assert.Equal(t, [][]string{{"6.4.3"}}, rows)
	assert.NotContains(t, o.set(hotSet).Annotations, names.AdoptedAnnotation)
	o.stop(daemon)
}

// ofRelease has what crate-operator made run another release.
func ofRelease(version string) func([]*unstructured.Unstructured) []*unstructured.Unstructured {
	return func(objects []*unstructured.Unstructured) (out []*unstructured.Unstructured) {
		for _, object := range objects {
			text, err := yaml.Marshal(object.Object)
			if err != nil {
				panic(err)
			}
			other := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(strings.ReplaceAll(string(text), "image: crate:6.4.3", "image: crate:"+version)), &other.Object); err != nil {
				panic(err)
			}
			out = append(out, other)
		}
		return out
	}
}

// kindDeleted deletes the kind CrateDB. crate-operator is stopped: its finalizers are taken off by
// somebody who does not know better.
func (o *operated) kindDeleted() {
	o.Helper()
	kinds := o.client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	const name = "cratedbs.cloud.crate.io"
	o.collectorKnows()
	require.NoError(o, kinds.Delete(o.ctx, name, metav1.DeleteOptions{}))
	o.unfinalized()
	o.eventually("the kind is gone", restartPatience, func() bool {
		_, err := kinds.Get(o.ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}
