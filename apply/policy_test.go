package apply_test

import (
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// mutate has the API server change objects of a resource in the test's
// namespace at admission, as a webhook would, and waits until it does: until
// the sample, created in a dry run, comes back as changed says.
func (w *world) mutate(name string, resource schema.GroupVersionResource, patch string, sample *unstructured.Unstructured, changed func(*unstructured.Unstructured) bool) {
	w.t.Helper()
	client := w.admin.AdmissionregistrationV1()
	name = name + "." + w.namespace
	_, err := client.MutatingAdmissionPolicies().Create(w.t.Context(), &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
					Rule: admissionv1.Rule{APIGroups: []string{resource.Group}, APIVersions: []string{resource.Version},
						Resources: []string{resource.Resource}},
				}}},
			},
			Mutations: []admissionv1.Mutation{{PatchType: admissionv1.PatchTypeJSONPatch,
				JSONPatch: &admissionv1.JSONPatch{Expression: patch}}},
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
		},
	}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	_, err = client.MutatingAdmissionPolicyBindings().Create(w.t.Context(), &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name},
	}, metav1.CreateOptions{})
	require.NoError(w.t, err)

	objects, err := dynamic.NewForConfig(server.Config())
	require.NoError(w.t, err)
	require.Eventually(w.t, func() bool {
		u, err := objects.Resource(resource).Namespace(w.namespace).Create(w.t.Context(), sample,
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && changed(u)
	}, deadline, 50*time.Millisecond, "the policy %s does not act", name)
}
