// Package check looks, before a first push, whether a Kubernetes cluster takes what the
// definitions make: one file a check. It writes nothing, and what it may not read is unknown.
package check

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// State of a finding.
type State string

// States, from the best to the worst.
const (
	OK      State = "ok"
	Unknown State = "unknown"
	Problem State = "problem"
)

// Finding is one line.
type Finding struct {
	State State `json:"state"`
	// Check is the kind of check, Subject what was looked at.
	Check   string `json:"check"`
	Subject string `json:"subject"`
	// Message says what was found; Do what to do about it, "" for what is well.
	Message string `json:"message"`
	Do      string `json:"do,omitempty"`
}

// Cluster is a definition with the StatefulSets that it makes.
type Cluster struct {
	Namespace, Name string
	// Version of CrateDB.
	Version string
	Sets    []appsv1.StatefulSet
	// Classes are the storage classes that their claims ask for.
	Classes []model.ClaimClass
	// Volumes are their claim templates.
	Volumes []model.VolumeTemplate
	// Users are those of the definition, Brings the Secrets that the push creates.
	Users  []model.User
	Brings []string
	// BringsClaims are the claims that the push creates. Places are where the definition has a claim that pods share, as
	// FILE:LINE.
	BringsClaims []string
	Places       map[string]string
	// Repository are the keys that the repository of spec.backups needs.
	Repository []model.SecretKey
	// TLS are those of spec.cluster.ssl: a pod whose Secret is missing never starts.
	TLS []model.SecretKey
}

// NewCluster takes what is checked out of a cluster's objects.
func NewCluster(namespace, name string, users []model.User, objects []*unstructured.Unstructured) (Cluster, error) {
	c := Cluster{Namespace: namespace, Name: name, Users: users, Classes: manifest.ClaimClasses(objects)}
	for _, object := range objects {
		if object.GetKind() == "Secret" {
			c.Brings = append(c.Brings, object.GetName())
		}
		if object.GetKind() == "PersistentVolumeClaim" {
			c.BringsClaims = append(c.BringsClaims, object.GetName())
		}
		if object.GetKind() != "StatefulSet" {
			continue
		}
		var set appsv1.StatefulSet
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &set); err != nil {
			return Cluster{}, fmt.Errorf("reading StatefulSet %s of %s/%s: %w", object.GetName(), namespace, name, err)
		}
		c.Sets, c.Volumes = append(c.Sets, set), append(c.Volumes, manifest.VolumeTemplatesOf(object)...)
	}
	return c, nil
}

func (c Cluster) String() string { return c.Namespace + "/" + c.Name }

// Options of Run.
type Options struct {
	// REST and Client reach the API server.
	REST   *rest.Config
	Client kubernetes.Interface
	// Clusters are those of the definitions; Namespaces are looked at besides theirs.
	Clusters   []Cluster
	Namespaces []string
	// Receivers are where reports go.
	Receivers []reports.Address
}

// patience bounds each check.
var patience = 20 * time.Second

// Run makes each check. What cannot be found out is a finding, and no error.
func Run(ctx context.Context, o Options) []Finding {
	c := &checker{Options: o}
	for _, cluster := range o.Clusters {
		c.Namespaces = append(c.Namespaces, cluster.Namespace)
	}
	slices.Sort(c.Namespaces)
	c.Namespaces = slices.Compact(c.Namespaces)
	for _, one := range []func(context.Context){
		c.version, c.namespaces, c.rights, c.daemonsRights, c.others, c.secrets, c.claims, c.storage, c.nodes, c.quotas, c.admission, c.domain, c.receivers,
	} {
		within, cancel := context.WithTimeout(ctx, patience)
		one(within)
		cancel()
	}
	return append(c.found, Offline(o.Clusters)...)
}

// Offline makes the checks that need no cluster.
func Offline(clusters []Cluster) []Finding {
	c := &checker{Options: Options{Clusters: clusters}}
	c.names()
	c.versions()
	return c.found
}

type checker struct {
	Options
	found []Finding
	// missing are namespaces that are not there: there is no Secret and no claim in them, and nothing else can be looked at.
	missing []string
}

func (c *checker) ok(check, subject, format string, args ...any) {
	c.found = append(c.found, Finding{State: OK, Check: check, Subject: subject, Message: fmt.Sprintf(format, args...)})
}

func (c *checker) unknown(check, subject, do, format string, args ...any) {
	c.found = append(c.found, Finding{State: Unknown, Check: check, Subject: subject, Message: fmt.Sprintf(format, args...), Do: do})
}

func (c *checker) problem(check, subject, do, format string, args ...any) {
	c.found = append(c.found, Finding{State: Problem, Check: check, Subject: subject, Message: fmt.Sprintf(format, args...), Do: do})
}

// unread says why something is not known.
func (c *checker) unread(check, subject, what string, err error) {
	if apierrors.IsForbidden(err) {
		c.unknown(check, subject, "ask somebody who may", "you may not read %s", what)
		return
	}
	c.unknown(check, subject, "try again", "%s could not be read: %v", what, err)
}

// there are the namespaces that are there, or of which that is not known.
func (c *checker) there() []string {
	return slices.DeleteFunc(slices.Clone(c.Namespaces), func(ns string) bool { return slices.Contains(c.missing, ns) })
}
