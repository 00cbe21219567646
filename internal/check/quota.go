package check

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/placement"
)

// quotas adds up what the clusters of a namespace that are not there yet would take.
func (c *checker) quotas(ctx context.Context) {
	const check = "quota"
	for _, ns := range c.there() {
		list, err := c.Client.CoreV1().ResourceQuotas(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			c.unread(check, ns, "the ResourceQuotas of the namespace", err)
			continue
		}
		need, err := c.needs(ctx, ns)
		if err != nil {
			c.unread(check, ns, "the StatefulSets of the namespace", err)
			continue
		}
		good := true
		for i := range list.Items {
			quota := &list.Items[i]
			for name, hard := range quota.Status.Hard {
				wants, counted := need[name]
				if !counted {
					continue
				}
				free := hard.DeepCopy()
				free.Sub(quota.Status.Used[name])
				if wants.Cmp(free) > 0 {
					good = false
					c.problem(check, ns+" "+quota.Name, "raise the quota, or ask for less", "%s: %s more are needed, and %s are free of %s", name, wants.String(), free.String(), hard.String())
				}
			}
		}
		if good {
			c.ok(check, ns, "%d ResourceQuota(s) leave room", len(list.Items))
		}
		c.limits(ctx, ns)
	}
}

// needs are what sets that are not there yet would use of a quota.
func (c *checker) needs(ctx context.Context, ns string) (map[corev1.ResourceName]resource.Quantity, error) {
	live, err := c.Client.AppsV1().StatefulSets(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for i := range live.Items {
		there[live.Items[i].Name] = true
	}
	need := map[corev1.ResourceName]resource.Quantity{}
	add := func(q resource.Quantity, times int, as ...corev1.ResourceName) {
		for _, name := range as {
			sum := need[name]
			for range times {
				sum.Add(q)
			}
			need[name] = sum
		}
	}
	for _, cluster := range c.Clusters {
		for i := range cluster.Sets {
			set := &cluster.Sets[i]
			if cluster.Namespace != ns || there[set.Name] {
				continue
			}
			pods := 1
			if set.Spec.Replicas != nil {
				pods = int(*set.Spec.Replicas)
			}
			spec := &set.Spec.Template.Spec
			requests := placement.Requests(spec)
			add(requests[corev1.ResourceCPU], pods, corev1.ResourceCPU, corev1.ResourceRequestsCPU)
			add(requests[corev1.ResourceMemory], pods, corev1.ResourceMemory, corev1.ResourceRequestsMemory)
			for j := range spec.Containers {
				add(spec.Containers[j].Resources.Limits[corev1.ResourceCPU], pods, corev1.ResourceLimitsCPU)
				add(spec.Containers[j].Resources.Limits[corev1.ResourceMemory], pods, corev1.ResourceLimitsMemory)
			}
			add(resource.MustParse("1"), pods, corev1.ResourcePods)
			for j := range set.Spec.VolumeClaimTemplates {
				claim := &set.Spec.VolumeClaimTemplates[j].Spec
				names := []corev1.ResourceName{corev1.ResourcePersistentVolumeClaims}
				storage := []corev1.ResourceName{corev1.ResourceRequestsStorage}
				if claim.StorageClassName != nil {
					of := corev1.ResourceName(*claim.StorageClassName + ".storageclass.storage.k8s.io/")
					names = append(names, of+corev1.ResourcePersistentVolumeClaims)
					storage = append(storage, of+corev1.ResourceRequestsStorage)
				}
				add(resource.MustParse("1"), pods, names...)
				add(claim.Resources.Requests[corev1.ResourceStorage], pods, storage...)
			}
		}
	}
	return need, nil
}

// limits of a LimitRange refuse a pod or a claim that is outside of them.
func (c *checker) limits(ctx context.Context, ns string) {
	const check = "limit-range"
	ranges, err := c.Client.CoreV1().LimitRanges(ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		c.unread(check, ns, "the LimitRanges of the namespace", err)
		return
	}
	before := len(c.found)
	for i := range ranges.Items {
		for _, item := range ranges.Items[i].Spec.Limits {
			for _, cluster := range c.Clusters {
				if cluster.Namespace != ns {
					continue
				}
				for j := range cluster.Sets {
					set := &cluster.Sets[j]
					outside := func(what string, name corev1.ResourceName, wants resource.Quantity) {
						most, hasMost := item.Max[name]
						least, hasLeast := item.Min[name]
						if hasMost && wants.Cmp(most) > 0 || hasLeast && !wants.IsZero() && wants.Cmp(least) < 0 {
							c.problem(check, cluster.String()+" "+set.Name, "change the LimitRange, or ask for what it allows", "%s: %s of %s is outside of what the LimitRange %s allows", what, wants.String(), name, ranges.Items[i].Name)
						}
					}
					switch item.Type {
					case corev1.LimitTypeContainer:
						for k := range set.Spec.Template.Spec.Containers {
							for name, wants := range set.Spec.Template.Spec.Containers[k].Resources.Limits {
								outside("container "+set.Spec.Template.Spec.Containers[k].Name, name, wants)
							}
						}
					case corev1.LimitTypePersistentVolumeClaim:
						for k := range set.Spec.VolumeClaimTemplates {
							outside("claim "+set.Spec.VolumeClaimTemplates[k].Name, corev1.ResourceStorage, set.Spec.VolumeClaimTemplates[k].Spec.Resources.Requests[corev1.ResourceStorage])
						}
					}
				}
			}
		}
	}
	if !slices.ContainsFunc(c.found[before:], func(f Finding) bool { return f.State == Problem }) {
		c.ok(check, ns, "%d LimitRange(s) allow it", len(ranges.Items))
	}
}
