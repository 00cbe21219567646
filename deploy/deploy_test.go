package deploy

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/internal/testbed"
)

// folders that are applied each by itself.
var folders = []string{".", "namespace", "reader"}

// built is the YAML of what a folder makes, by kind.
func built(t *testing.T, folder string) map[string][][]byte {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	require.NoError(t, err)
	all := map[string][][]byte{}
	for _, resource := range resources.Resources() {
		text, err := resource.AsYAML()
		require.NoError(t, err)
		all[resource.GetKind()] = append(all[resource.GetKind()], text)
	}
	return all
}

func only[T any](t *testing.T, folder, kind string) T {
	t.Helper()
	texts := built(t, folder)[kind]
	require.Len(t, texts, 1, "%s of %s", kind, folder)
	var object T
	require.NoError(t, yaml.UnmarshalStrict(texts[0], &object))
	return object
}

func deployment(t *testing.T) (*appsv1.Deployment, *corev1.Container) {
	t.Helper()
	object := only[appsv1.Deployment](t, ".", "Deployment")
	require.Len(t, object.Spec.Template.Spec.Containers, 1)
	return &object, &object.Spec.Template.Spec.Containers[0]
}

// Nothing in it reaches beyond a namespace that a person chose, except the
// Namespace of its own.
func TestNothingThatIsInstalledIsClusterWide(t *testing.T) {
	namespaced := []string{"ServiceAccount", "Role", "RoleBinding", "ConfigMap", "Deployment", "NetworkPolicy"}
	for _, folder := range folders {
		for kind := range built(t, folder) {
			if kind == "Namespace" && folder == "." {
				continue
			}
			assert.Contains(t, namespaced, kind, folder)
		}
	}
}

// The one right beyond a namespace is optional, and reads a Node whose name is known.
func TestTheRightToReadNodesIsThatAndNoMore(t *testing.T) {
	role := only[rbacv1.ClusterRole](t, "nodes", "ClusterRole")
	assert.Equal(t, []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{""}, Resources: []string{"persistentvolumes"}, Verbs: []string{"get"}},
	}, role.Rules)
	binding := only[rbacv1.ClusterRoleBinding](t, "nodes", "ClusterRoleBinding")
	assert.Equal(t, role.Name, binding.RoleRef.Name)
	assert.Equal(t, only[rbacv1.RoleBinding](t, "namespace", "RoleBinding").Subjects, binding.Subjects)
	assert.Len(t, built(t, "nodes"), 2)
}

// Events are read where the daemon looks after clusters, one object at a time: no watch.
func TestEventsAreListedAndNotWatched(t *testing.T) {
	for _, rule := range only[rbacv1.Role](t, "namespace", "Role").Rules {
		if slices.Contains(rule.Resources, "events") {
			assert.ElementsMatch(t, []string{"list", "create", "patch"}, rule.Verbs)
			return
		}
	}
	t.Fatal("it may not read events")
}

// The subresource takes CPU and memory of a running pod, and nothing else of it.
func TestPodsAreResizedAndNotPatched(t *testing.T) {
	for _, rule := range only[rbacv1.Role](t, "namespace", "Role").Rules {
		if slices.Contains(rule.Resources, "pods/resize") {
			assert.Equal(t, []string{"patch"}, rule.Verbs)
			assert.Len(t, rule.Resources, 1)
			return
		}
	}
	t.Fatal("it may not resize pods")
}

func TestNoRoleGrantsAWildcardOrAnEscalation(t *testing.T) {
	for _, folder := range folders {
		role := only[rbacv1.Role](t, folder, "Role")
		for _, rule := range role.Rules {
			for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.ResourceNames} {
				assert.NotContains(t, list, "*", "%s: %v", folder, rule)
			}
			for _, verb := range []string{"escalate", "bind", "impersonate", "deletecollection"} {
				assert.NotContains(t, rule.Verbs, verb, "%s: %v", folder, rule)
			}
			for resource, never := range map[string][]string{
				"secrets": {"delete", "update"}, "persistentvolumeclaims": {"delete", "create"}, "pods": {"create", "patch", "update"},
				"roles": {"create", "patch", "update"}, "rolebindings": {"create", "patch", "update"}, "namespaces": {"delete", "create"},
			} {
				if slices.Contains(rule.Resources, resource) {
					for _, verb := range never {
						assert.NotContains(t, rule.Verbs, verb, "%s: %s", folder, resource)
					}
				}
			}
			if folder == "." && slices.Contains(rule.Resources, "secrets") {
				assert.NotEmpty(t, rule.ResourceNames, "in its own namespace it reads the Secrets that are its own, and no other")
			}
			if folder == "reader" {
				assert.NotContains(t, rule.Resources, "secrets")
				assert.Subset(t, []string{"get", "list", "watch"}, rule.Verbs, "a reader writes nothing")
			}
		}
	}
}

func TestTheContainerHasNoPrivilegeAndBoundedResources(t *testing.T) {
	object, container := deployment(t)
	pod := object.Spec.Template.Spec
	assert.True(t, *pod.SecurityContext.RunAsNonRoot)
	assert.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
	assert.False(t, pod.HostNetwork || pod.HostPID || pod.HostIPC)
	assert.True(t, *container.SecurityContext.ReadOnlyRootFilesystem)
	assert.False(t, *container.SecurityContext.AllowPrivilegeEscalation)
	assert.Equal(t, []corev1.Capability{"ALL"}, container.SecurityContext.Capabilities.Drop)
	assert.Empty(t, container.SecurityContext.Capabilities.Add)
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		assert.Contains(t, container.Resources.Requests, name)
	}
	assert.Contains(t, container.Resources.Limits, corev1.ResourceMemory)
	assert.NotNil(t, container.LivenessProbe)
	assert.NotNil(t, container.ReadinessProbe)
	for _, volume := range pod.Volumes {
		assert.True(t, volume.EmptyDir != nil || volume.Secret != nil || volume.ConfigMap != nil, "volume %s is of the node", volume.Name)
	}
}

func TestTheNetworkPolicyLetsInAndOutWhatTheDeploymentNeeds(t *testing.T) {
	object, container := deployment(t)
	policy := only[networkingv1.NetworkPolicy](t, ".", "NetworkPolicy")
	assert.Equal(t, object.Namespace, policy.Namespace)
	for name, value := range policy.Spec.PodSelector.MatchLabels {
		assert.Equal(t, value, object.Spec.Template.Labels[name], "it selects the daemon's pods")
	}
	assert.ElementsMatch(t, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}, policy.Spec.PolicyTypes)
	let := map[string]bool{}
	for _, rule := range policy.Spec.Ingress {
		require.NotEmpty(t, rule.Ports, "a rule without ports lets everything in")
		for _, port := range rule.Ports {
			let[port.Port.String()] = true
		}
	}
	for _, port := range container.Ports {
		assert.True(t, let[port.Name], "port %s of the container", port.Name)
	}
	for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe} {
		assert.True(t, let[probe.HTTPGet.Port.String()], "a probe's port")
	}
	databases := false
	for _, rule := range policy.Spec.Egress {
		assert.True(t, len(rule.Ports) > 0 || len(rule.To) > 0, "a rule without both lets everything out")
		for _, to := range rule.To {
			databases = databases || to.PodSelector != nil && to.PodSelector.MatchLabels["app.kubernetes.io/component"] == "cratedb" && to.NamespaceSelector != nil
		}
	}
	assert.True(t, databases, "CrateDB's pods in any namespace")
}

// The image is made without a builder by the end-to-end tests, which run it; here
// it is held against the manifests and the Makefile.
func TestTheImageAgreesWithTheDeployment(t *testing.T) {
	image, err := testbed.ReadImage("Containerfile")
	require.NoError(t, err)
	object, container := deployment(t)
	security := object.Spec.Template.Spec.SecurityContext
	assert.EqualValues(t, *security.RunAsUser, image.UID)
	assert.EqualValues(t, *security.RunAsGroup, image.GID)
	assert.EqualValues(t, *security.FSGroup, image.GID)
	require.Contains(t, image.Copies, image.Entrypoint[0], "the entry point is a file of the image")
	assert.Equal(t, "bin/stevedore", image.Copies[image.Entrypoint[0]])
	assert.Empty(t, container.Command, "the image's own entry point is run")
	assert.Contains(t, image.Copies, "/etc/ssl/certs/ca-certificates.crt", "where Go looks for authorities")
	for _, mount := range container.VolumeMounts {
		for path := range image.Copies {
			assert.NotContains(t, path, mount.MountPath+"/", "a volume hides a file of the image")
		}
	}
	makefile, err := os.ReadFile("../Makefile")
	require.NoError(t, err)
	assert.Contains(t, string(makefile), "image-files: build")
	for _, from := range image.Copies {
		assert.Contains(t, []string{"bin/stevedore", "bin/ca-certificates.crt"}, from, "what `make image-files` makes")
	}
}

func TestARecipeThatNeedsABuilderIsNotTaken(t *testing.T) {
	for name, recipe := range map[string]string{
		"another base":     "FROM alpine\nENTRYPOINT [\"/a\"]\n",
		"a command":        "FROM scratch\nRUN apk add curl\nENTRYPOINT [\"/a\"]\n",
		"a user by name":   "FROM scratch\nUSER nobody\nENTRYPOINT [\"/a\"]\n",
		"root":             "FROM scratch\nUSER 0:0\nENTRYPOINT [\"/a\"]\n",
		"a shell's words":  "FROM scratch\nUSER 1:1\nENTRYPOINT /a\n",
		"nothing to start": "FROM scratch\nUSER 1:1\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir() + "/Containerfile"
			require.NoError(t, os.WriteFile(path, []byte(recipe), 0o600))
			_, err := testbed.ReadImage(path)
			assert.Error(t, err)
		})
	}
}
