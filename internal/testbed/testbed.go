// Package testbed is a whole world around one stevedore binary: a sandbox with
// the shipped rights applied to it, repositories to push to, receivers of
// webhooks, and the binary itself as a process that can be killed. The demo and
// the end-to-end tests stand on it.
package testbed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/sandbox"
)

// Options of Start.
type Options struct {
	// Binary is the stevedore binary; required.
	Binary string
	// Deploy is the folder with the shipped manifests; required.
	Deploy string
	// CrateDBHome makes pods run the real CrateDB; empty: the simulator.
	CrateDBHome string
	// Nodes is the number of Node objects; 0: the sandbox's own number.
	Nodes int
	// OneProcess runs simulated nodes inside this process: many more fit.
	OneProcess bool
	// Kubernetes is a cluster that runs already, in place of a sandbox; nil: Start
	// starts a sandbox. Stop ends it.
	Kubernetes Kubernetes
	// Progress gets one line a step; nil: nothing.
	Progress func(string)
	// Log gets what goes on in the sandbox; nil: nothing.
	Log *slog.Logger
}

// Kubernetes is a cluster that a testbed stands on: a sandbox, or real nodes.
type Kubernetes interface {
	RESTConfig() *rest.Config
	Kubeconfig() string
	WriteServiceAccountKubeconfig(ctx context.Context, namespace, name, path string) error
	Done() <-chan struct{}
	Err() error
	Complaints(most int) string
	Stop(ctx context.Context) error
}

// Testbed is a running cluster with stevedore's rights in it.
type Testbed struct {
	Options Options
	Dir     string
	// Kubernetes is what it stands on; Sandbox is the same where that is a sandbox,
	// else nil.
	Kubernetes Kubernetes
	Sandbox    *sandbox.Sandbox
	// Admin may do anything; the daemon may not.
	Admin   kubernetes.Interface
	Config  *rest.Config
	dynamic dynamic.Interface
	mapper  meta.RESTMapper
	// Kubeconfig is the daemon's own: its service account's token.
	Kubeconfig string
}

// Start starts what it stands on and gives the daemon's account its rights.
func Start(ctx context.Context, o Options) (_ *Testbed, err error) {
	dir, err := os.MkdirTemp("", "stevedore-testbed-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the testbed: %w", err)
	}
	bed := &Testbed{Options: o, Dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, bed.Stop())
		}
	}()
	if bed.Kubernetes = o.Kubernetes; bed.Kubernetes == nil {
		if bed.Sandbox, err = sandbox.Start(ctx, sandbox.Options{
			CrateDBHome: o.CrateDBHome, Nodes: o.Nodes, OneProcess: o.OneProcess, Progress: o.Progress, Log: o.Log,
			NodeCommand: []string{o.Binary, "sandbox", "cratedb-node"},
		}); err != nil {
			return bed, err
		}
		bed.Kubernetes = bed.Sandbox
	}
	bed.Config = rest.CopyConfig(bed.Kubernetes.RESTConfig())
	bed.Config.QPS = -1
	if bed.Admin, err = kubernetes.NewForConfig(bed.Config); err != nil {
		return bed, err
	}
	if bed.dynamic, err = dynamic.NewForConfig(bed.Config); err != nil {
		return bed, err
	}
	finder, err := discovery.NewDiscoveryClientForConfig(bed.Config)
	if err != nil {
		return bed, err
	}
	groups, err := restmapper.GetAPIGroupResources(finder)
	if err != nil {
		return bed, fmt.Errorf("asking the API server for its kinds: %w", err)
	}
	bed.mapper = restmapper.NewDiscoveryRESTMapper(groups)
	if err := bed.ApplyKustomization(ctx, filepath.Join(o.Deploy, "daemon"), "", "Deployment"); err != nil {
		return bed, err
	}
	if err := bed.ApplyKustomization(ctx, filepath.Join(o.Deploy, "cluster"), ""); err != nil {
		return bed, err
	}
	bed.Kubeconfig = filepath.Join(dir, "daemon.kubeconfig")
	err = bed.Kubernetes.WriteServiceAccountKubeconfig(ctx, names.DaemonNamespace, "stevedore", bed.Kubeconfig)
	return bed, err
}

// Stop ends what it stands on; nothing of it stays.
func (b *Testbed) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var err error
	if b.Kubernetes != nil {
		// A component that died by itself is the reason of all that failed since.
		died := b.Kubernetes.Err()
		err = errors.Join(died, b.Kubernetes.Stop(ctx))
	}
	return errors.Join(err, os.RemoveAll(b.Dir))
}

// Namespace makes a namespace that the daemon may work in, with the shipped
// Role.
func (b *Testbed) Namespace(ctx context.Context, name string) error {
	_, err := b.Admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making namespace %s: %w", name, err)
	}
	return b.ApplyKustomization(ctx, filepath.Join(b.Options.Deploy, "namespace"), name)
}

// Lease lets the daemon hold a Lease of another name than the shipped one, so
// that tests beside each other need not wait for each other.
func (b *Testbed) Lease(ctx context.Context, name string) error {
	object := metav1.ObjectMeta{Namespace: names.DaemonNamespace, Name: "lease-" + name}
	_, err := b.Admin.RbacV1().Roles(object.Namespace).Create(ctx, &rbacv1.Role{ObjectMeta: object, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{name},
		Verbs: []string{"get", "update", "patch"},
	}, {
		// What is to be posted of the source stands beside the Lease.
		APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{names.ReportsConfigMap(name)},
		Verbs: []string{"get", "update"},
	}}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("allowing Lease %s: %w", name, err)
	}
	_, err = b.Admin.RbacV1().RoleBindings(object.Namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: object, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: object.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: names.DaemonNamespace, Name: "stevedore"}},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("allowing Lease %s: %w", name, err)
	}
	return nil
}

// Secret makes a Secret, as a person would before pushing a definition.
func (b *Testbed) Secret(ctx context.Context, namespace, name string, data map[string]string) error {
	_, err := b.Admin.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data,
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("making Secret %s/%s: %w", namespace, name, err)
	}
	return nil
}

// ApplyKustomization applies what a folder of manifests makes, as `kubectl
// apply -k` does, without the kinds that are skipped.
func (b *Testbed) ApplyKustomization(ctx context.Context, dir, namespace string, skip ...string) error {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return fmt.Errorf("building %s: %w", dir, err)
	}
	for _, resource := range built.Resources() {
		fields, err := resource.Map()
		if err != nil {
			return fmt.Errorf("reading %s: %w", dir, err)
		}
		object := &unstructured.Unstructured{Object: fields}
		if contains(skip, object.GetKind()) {
			continue
		}
		kind := object.GroupVersionKind()
		mapping, err := b.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if object.GetNamespace() == "" && mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			object.SetNamespace(namespace)
		}
		var client dynamic.ResourceInterface = b.dynamic.Resource(mapping.Resource)
		if object.GetNamespace() != "" {
			client = b.dynamic.Resource(mapping.Resource).Namespace(object.GetNamespace())
		}
		if _, err := client.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: "testbed", Force: true}); err != nil {
			return fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

func contains(list []string, item string) bool {
	for _, have := range list {
		if have == item {
			return true
		}
	}
	return false
}
