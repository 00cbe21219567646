// Package podresize finds out whether a Kubernetes cluster gives running pods other CPU and
// memory, and whether this process may ask for it.
package podresize

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/ops/model"
)

// For how long an answer is kept: what is there stays; what is missing may be brought at once.
const (
	keptFor = 10 * time.Minute
	askedIn = 5 * time.Second
)

// Cache asks for many clusters, not more often than they need it. It is safe for concurrent use.
type Cache struct {
	Client kubernetes.Interface

	mu      sync.Mutex
	answers map[string]answer
}

type answer struct {
	model.CanResize
	at time.Time
}

// Read says what is so in a namespace. What cannot be asked is unknown, with the reason in Unread.
func (c *Cache) Read(ctx context.Context, namespace string) model.CanResize {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.answers[namespace]
	age := askedIn
	if kept.Served == model.Yes && kept.Allowed == model.Yes {
		age = keptFor
	}
	if !kept.at.IsZero() && time.Since(kept.at) < age {
		return kept.CanResize
	}
	if c.answers == nil {
		c.answers = map[string]answer{}
	}
	now := answer{c.ask(ctx, namespace), time.Now()}
	c.answers[namespace] = now
	return now.CanResize
}

func (c *Cache) ask(ctx context.Context, namespace string) (out model.CanResize) {
	served, err := c.Client.Discovery().ServerResourcesForGroupVersion("v1")
	if err != nil {
		out.Unread = fmt.Sprintf("whether Kubernetes resizes pods could not be read: %v", err)
		return out
	}
	out.Served = answerOf(slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == "pods/resize" }))
	review, err := c.Client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: "patch", Resource: "pods", Subresource: "resize",
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		out.Unread = fmt.Sprintf("whether pods/resize may be patched could not be read: %v", err)
		return out
	}
	out.Allowed = answerOf(review.Status.Allowed)
	return out
}

func answerOf(yes bool) model.Answer {
	if yes {
		return model.Yes
	}
	return model.No
}
