package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/deploy"
)

// What is needed comes from the manifests of deploy/, and from nowhere else.

// question is one right.
type question = authorizationv1.ResourceAttributes

func words(q question) string {
	resource := q.Resource
	if q.Subresource != "" {
		resource += "/" + q.Subresource
	}
	if q.Name != "" {
		resource += " " + q.Name
	}
	return q.Verb + " " + resource
}

// needed are the rights of a folder's role, in a namespace.
func needed(folder, namespace string) ([]question, error) {
	rules, err := deploy.Rules(folder)
	if err != nil {
		return nil, err
	}
	var out []question
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				resource, sub, _ := strings.Cut(resource, "/")
				for _, verb := range rule.Verbs {
					for _, name := range namesOf(rule) {
						out = append(out, question{Namespace: namespace, Group: group, Resource: resource, Subresource: sub, Verb: verb, Name: name})
					}
				}
			}
		}
	}
	return out, nil
}

func namesOf(rule rbacv1.PolicyRule) []string {
	if len(rule.ResourceNames) == 0 {
		return []string{""}
	}
	return rule.ResourceNames
}

// refused asks for each right, and gives those that are not granted.
func refused(ctx context.Context, client kubernetes.Interface, questions []question) ([]string, error) {
	answers := make([]bool, len(questions))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, q := range questions {
		group.Go(func() error {
			review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &q},
			}, metav1.CreateOptions{})
			if err == nil {
				answers[i] = review.Status.Allowed
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var out []string
	for i, q := range questions {
		if text := words(q); !answers[i] && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out, nil
}

// few names the first of a list.
func few(list []string) string {
	const most = 6
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

// rights are those of the person: to apply the manifests. Whoever makes a Role has to have
// the rights in it too.
func (c *checker) rights(ctx context.Context) {
	const check = "your-rights"
	account, err := deploy.Account()
	if err != nil {
		c.unread(check, "deploy", "the manifests", err)
		return
	}
	ask := func(folder, namespace, command string) {
		objects, err := deploy.Objects(folder)
		if err != nil {
			c.unread(check, command, "the manifests", err)
			return
		}
		var questions []question
		for _, object := range objects {
			plural, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
			in := namespace
			if object.GetKind() == "Namespace" {
				in = ""
			}
			for _, verb := range []string{"get", "create", "patch"} {
				q := question{Namespace: in, Group: plural.Group, Resource: plural.Resource, Verb: verb}
				if !slices.Contains(questions, q) {
					questions = append(questions, q)
				}
			}
		}
		granted, err := needed(folder, namespace)
		if err == nil {
			var no []string
			if no, err = refused(ctx, c.Client, append(questions, granted...)); err == nil {
				if len(no) > 0 {
					c.problem(check, command, "have somebody apply it who may", "you may not: %s", few(no))
				} else {
					c.ok(check, command, "you may")
				}
				return
			}
		}
		c.unread(check, command, "what you may", err)
	}
	ask(deploy.Daemon, account.Namespace, "kubectl apply -k deploy")
	for _, ns := range c.there() {
		ask(deploy.Namespace, ns, "kubectl apply -n "+ns+" -k deploy/namespace")
	}
}

// daemonsRights are asked as the daemon, where impersonation is allowed.
func (c *checker) daemonsRights(ctx context.Context) {
	const check = "daemon-rights"
	account, err := deploy.Account()
	if err != nil {
		c.unread(check, "deploy", "the manifests", err)
		return
	}
	subject := "ServiceAccount " + account.Namespace + "/" + account.Name
	if _, err := c.Client.CoreV1().ServiceAccounts(account.Namespace).Get(ctx, account.Name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		c.unknown(check, subject, "kubectl apply -k deploy, and in each namespace kubectl apply -n NAMESPACE -k deploy/namespace; or run the daemon as yourself", "the daemon is not installed here")
		return
	}
	cfg := rest.CopyConfig(c.REST)
	cfg.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + account.Namespace + ":" + account.Name,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + account.Namespace, "system:authenticated"},
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		c.unread(check, subject, "what the daemon may", err)
		return
	}
	ask := func(folder, namespace, command string, optional bool) bool {
		where := "in namespace " + namespace
		if namespace == "" {
			where = "in the whole cluster"
		}
		questions, err := needed(folder, namespace)
		var no []string
		if err == nil {
			no, err = refused(ctx, client, questions)
		}
		switch {
		case apierrors.IsForbidden(err):
			c.unknown(check, subject, "run this with the right to impersonate it", "you may not ask as the daemon")
			return false
		case err != nil:
			c.unread(check, subject, "what the daemon may", err)
			return false
		case len(no) == 0:
			c.ok(check, subject, "it has the rights of deploy/%s %s", folder, where)
		case optional:
			c.unknown(check, subject, command+", if it is to refuse storage classes that are not there", "%s it may not: %s; that is optional", where, few(no))
		default:
			c.problem(check, subject, command, "%s it may not: %s", where, few(no))
		}
		return true
	}
	if !ask(deploy.Daemon, account.Namespace, "kubectl apply -k deploy", false) {
		return
	}
	for _, ns := range c.there() {
		ask(deploy.Namespace, ns, "kubectl apply -n "+ns+" -k deploy/namespace", false)
	}
	ask(deploy.Cluster, "", "kubectl apply -k deploy/cluster", true)
}
