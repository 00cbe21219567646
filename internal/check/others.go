package check

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"stevedore.dev/stevedore/internal/crateoperator"
	"stevedore.dev/stevedore/internal/names"
)

// others are CrateDB pods that are not ours, and what crate-operator has here.
func (c *checker) others(ctx context.Context) {
	const check = "others"
	for _, ns := range c.there() {
		sets, err := c.Client.AppsV1().StatefulSets(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			c.unread(check, ns, "the StatefulSets of the namespace", err)
			continue
		}
		ours := map[string]bool{}
		for i := range sets.Items {
			ours[sets.Items[i].Name] = sets.Items[i].Labels[names.ClusterLabel] != ""
		}
		pods, err := c.Client.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{LabelSelector: names.ComponentLabel + "=" + names.Component})
		if err != nil {
			c.unread(check, ns, "the pods of the namespace", err)
			continue
		}
		foreign, owners := map[string][]string{}, map[string]string{}
		for i := range pods.Items {
			pod := &pods.Items[i]
			if owner := metav1.GetControllerOf(pod); owner == nil || !ours[owner.Name] {
				name := pod.Labels[names.NameLabel]
				foreign[name] = append(foreign[name], pod.Name)
				owners[name] = pod.Labels[names.ManagedByLabel]
			}
		}
		here := func(cluster string) bool {
			return slices.ContainsFunc(c.Clusters, func(d Cluster) bool { return d.Namespace == ns && d.Name == cluster })
		}
		var beside, adoptable []string
		for cluster, list := range foreign {
			if here(cluster) {
				do := "give the definition another name or namespace"
				if owners[cluster] == names.Operator {
					do = "take the cluster over with `stevedore adopt`, or " + do
				}
				c.problem(check, ns+"/"+cluster, do, "pods of a CrateDB cluster of that name are there and are not stevedore's (%s); %s", few(list), names.TakeOver(owners[cluster], ns+"/"+cluster))
				continue
			}
			if beside = append(beside, cluster); owners[cluster] == names.Operator {
				adoptable = append(adoptable, cluster)
			}
		}
		slices.Sort(adoptable)
		if slices.Sort(beside); len(adoptable) > 0 {
			c.ok(check, ns, "CrateDB clusters that are not stevedore's are there, and are left alone: %s; `stevedore adopt` takes those of crate-operator over: %s", few(beside), few(adoptable))
		} else if len(beside) > 0 {
			c.ok(check, ns, "CrateDB clusters that are not stevedore's are there, and are left alone: %s", few(beside))
		} else if len(foreign) == 0 {
			c.ok(check, ns, "no CrateDB pods but stevedore's")
		}
	}
	c.operator(ctx)
}

var operatorResource = schema.GroupVersionResource{Group: names.OperatorGroup, Version: "v1", Resource: "cratedbs"}

// operator looks for crate-operator, and for its objects of our clusters' names: two
// controllers would undo each other's work.
func (c *checker) operator(ctx context.Context) {
	const check = "crate-operator"
	if _, err := c.Client.Discovery().ServerResourcesForGroupVersion(operatorResource.GroupVersion().String()); apierrors.IsNotFound(err) {
		c.ok(check, "cratedbs."+names.OperatorGroup, "its CRD is not installed")
		return
	} else if err != nil {
		c.unread(check, "cratedbs."+names.OperatorGroup, "whether its CRD is installed", err)
		return
	}
	if all, err := c.Client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{}); err != nil {
		c.unread(check, "Deployment", "the Deployments of all namespaces", err)
	} else {
		for i := range all.Items {
			if d := &all.Items[i]; crateoperator.Deployment(d) {
				c.ok(check, d.Namespace+"/"+d.Name, "it runs here; both may, for different clusters of CrateDB, but not while `stevedore adopt` takes one over")
			}
		}
	}
	client, err := dynamic.NewForConfig(c.REST)
	if err != nil {
		c.unread(check, "CrateDB", "its objects", err)
		return
	}
	for _, ns := range c.there() {
		list, err := client.Resource(operatorResource).Namespace(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			c.unread(check, ns, "its CrateDB objects", err)
			continue
		}
		same := false
		for i := range list.Items {
			name := list.Items[i].GetName()
			if slices.ContainsFunc(c.Clusters, func(d Cluster) bool { return d.Namespace == ns && d.Name == name }) {
				same = true
				c.problem(check, ns+"/"+name, "take the cluster over with `stevedore adopt`, or give the definition another name or namespace", "crate-operator has a CrateDB object of that name; %s", names.TakeOver(names.Operator, ns+"/"+name))
			}
		}
		if !same {
			c.ok(check, ns, "its CRD is installed, and no CrateDB object has the name of a definition")
		}
	}
}
