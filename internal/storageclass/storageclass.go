// Package storageclass reads what a Kubernetes cluster has to make volumes of. The right to
// is cluster-wide, and nothing needs it: without it all is unknown.
package storageclass

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// readFor bounds one reading.
const readFor = 5 * time.Second

// page is how many objects one request lists.
const page = 500

// annotations by which Kubernetes knows the default class.
var defaults = []string{"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"}

// IsDefault says that claims which name no class get this one.
func IsDefault(class *storagev1.StorageClass) bool {
	return slices.ContainsFunc(defaults, func(a string) bool { return class.Annotations[a] == "true" })
}

// List are all storage classes as Kubernetes has them.
func List(ctx context.Context, client kubernetes.Interface) ([]storagev1.StorageClass, error) {
	var all []storagev1.StorageClass
	o := metav1.ListOptions{Limit: page}
	for {
		some, err := client.StorageV1().StorageClasses().List(ctx, o)
		if err != nil {
			return nil, err
		}
		all = append(all, some.Items...)
		if o.Continue = some.Continue; o.Continue == "" {
			return all, nil
		}
	}
}

// Read reads the classes, and where one that is asked for cannot be used the volumes that
// are there for anybody. What cannot be read is unknown, with the reason in Unread.
func Read(ctx context.Context, client kubernetes.Interface, asked []model.ClaimClass) model.Storage {
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	list, err := List(ctx, client)
	if err != nil {
		return unread("storage classes", err)
	}
	out := model.Storage{Known: true}
	for i := range list {
		out.Classes = append(out.Classes, gates.StorageClass{
			Name: list[i].Name, Provisioner: list[i].Provisioner,
			Default: IsDefault(&list[i]), Expands: list[i].AllowVolumeExpansion != nil && *list[i].AllowVolumeExpansion,
		})
	}
	out.Attributes, out.AttributesKnown = attributes(ctx, client)
	if len(aim.ClassProblems(asked, out)) == 0 {
		return out
	}
	if out.Free, err = free(ctx, client); err != nil {
		return unread("volumes, which a claim takes without its class,", err)
	}
	return out
}

// attributes are the VolumeAttributesClasses; false where they may not be read, or Kubernetes has
// none, which is before 1.34.
func attributes(ctx context.Context, client kubernetes.Interface) ([]gates.AttributesClass, bool) {
	var all []gates.AttributesClass
	o := metav1.ListOptions{Limit: page}
	for {
		some, err := client.StorageV1().VolumeAttributesClasses().List(ctx, o)
		if err != nil {
			return nil, false
		}
		for i := range some.Items {
			all = append(all, gates.AttributesClass{Name: some.Items[i].Name, Driver: some.Items[i].DriverName})
		}
		if o.Continue = some.Continue; o.Continue == "" {
			return all, true
		}
	}
}

// free are the classes of the volumes that no claim has.
func free(ctx context.Context, client kubernetes.Interface) ([]string, error) {
	classes := []string{} // nil says that nobody has looked
	o := metav1.ListOptions{Limit: page}
	for {
		some, err := client.CoreV1().PersistentVolumes().List(ctx, o)
		if err != nil {
			return nil, err
		}
		for i := range some.Items {
			v := &some.Items[i]
			if v.Status.Phase == corev1.VolumeAvailable && !slices.Contains(classes, v.Spec.StorageClassName) {
				classes = append(classes, v.Spec.StorageClassName)
			}
		}
		if o.Continue = some.Continue; o.Continue == "" {
			return classes, nil
		}
	}
}

func unread(what string, err error) model.Storage {
	if apierrors.IsForbidden(err) {
		return model.Storage{Unread: what + " may not be read: they are of the whole cluster, and deploy/cluster brings the right"}
	}
	return model.Storage{Unread: fmt.Sprintf("%s could not be read: %v", what, err), Again: !apierrors.IsNotFound(err)}
}

// Cache reads for many clusters, not more often than they need it. It is safe for
// concurrent use.
type Cache struct {
	Client kubernetes.Interface
	// Unread hears why classes are not known and another reading would not help, when that changes;
	// nil: nobody.
	Unread func(why string)
	// For is how long a reading is good for; 0: a few seconds at most.
	For time.Duration

	mu   sync.Mutex
	at   time.Time
	last model.Storage
	said string
}

// Ages of a reading: of one that says that all is there, and of one that does not or
// could not be had.
const (
	goodFor = time.Second
	badFor  = 5 * time.Second
)

// Read is as the function Read, a few seconds old at most.
func (c *Cache) Read(ctx context.Context, asked []model.ClaimClass) model.Storage {
	c.mu.Lock()
	defer c.mu.Unlock()
	age := goodFor
	if !c.last.Known || len(aim.ClassProblems(asked, c.last)) > 0 {
		age = badFor
	}
	age = max(age, c.For)
	same := !c.last.Known || c.last.Free != nil || len(aim.ClassProblems(asked, c.last)) == 0
	if !c.at.IsZero() && same && time.Since(c.at) < age {
		return c.last
	}
	c.last = Read(ctx, c.Client, asked)
	c.at = time.Now()
	if c.last.Unread != c.said && c.Unread != nil && c.last.Unread != "" && !c.last.Again {
		c.Unread(c.last.Unread)
	}
	c.said = c.last.Unread
	return c.last
}
