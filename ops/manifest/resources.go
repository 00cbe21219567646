package manifest

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/ops/model"
)

// Container is a container's name and its amounts of CPU and memory, as Kubernetes writes them.
type Container struct {
	Name             string
	Requests, Limits map[string]string
}

var computes = []string{"cpu", "memory"}

// ResourcesOfContainers lists the amounts. A request that is not there is the limit.
func ResourcesOfContainers(containers []Container) model.Resources {
	var lines []string
	for _, c := range containers {
		for _, name := range computes {
			limit := amount(name, c.Limits[name])
			for kind, value := range map[string]string{"requests": cmp.Or(amount(name, c.Requests[name]), limit), "limits": limit} {
				if value != "" {
					lines = append(lines, c.Name+" "+kind+"."+name+"="+value)
				}
			}
		}
	}
	slices.Sort(lines)
	return model.Resources(strings.Join(lines, "\n"))
}

// amount writes equal amounts alike; "" for one that Kubernetes does not take.
func amount(name, text string) string {
	q, err := resource.ParseQuantity(text)
	switch {
	case err != nil:
		return ""
	case name == "cpu":
		return resource.NewMilliQuantity(q.MilliValue(), resource.DecimalSI).String()
	}
	return resource.NewQuantity(q.Value(), resource.BinarySI).String()
}

// ResourcesOf are those of a StatefulSet's template.
func ResourcesOf(set *unstructured.Unstructured) model.Resources {
	return ResourcesOfContainers(containersOf(set, "containers"))
}

func containersOf(set *unstructured.Unstructured, field string) []Container {
	// No copy is made on the way: it is only read.
	value, _, _ := unstructured.NestedFieldNoCopy(set.Object, "spec", "template", "spec", field)
	list, _ := value.([]any)
	var out []Container
	for _, each := range list {
		c, _ := each.(map[string]any)
		next := Container{Name: fmt.Sprint(c["name"]), Requests: map[string]string{}, Limits: map[string]string{}}
		for kind, into := range map[string]map[string]string{"requests": next.Requests, "limits": next.Limits} {
			amounts, _, _ := unstructured.NestedFieldNoCopy(c, "resources", kind)
			of, _ := amounts.(map[string]any)
			for name, value := range of {
				into[name] = fmt.Sprint(value)
			}
		}
		out = append(out, next)
	}
	return out
}

// resizes reports whether Kubernetes can give the pods of one template the CPU and memory of the
// other in place: the QoS class stays, and no container restarts for it.
func resizes(old, wanted *unstructured.Unstructured) bool {
	restarts := false
	for _, set := range []*unstructured.Unstructured{old, wanted} {
		value, _, _ := unstructured.NestedFieldNoCopy(set.Object, "spec", "template", "spec", "containers")
		restarts = restarts || strings.Contains(fmt.Sprint(value), "restartPolicy:RestartContainer")
	}
	return !restarts && guaranteed(old) == guaranteed(wanted)
}

// guaranteed reports whether the pods of a template are of the QoS class Guaranteed, as Kubernetes computes it.
// What has amounts, and is not, is Burstable.
func guaranteed(set *unstructured.Unstructured) bool {
	all := true
	for _, c := range slices.Concat(containersOf(set, "initContainers"), containersOf(set, "containers")) {
		for _, name := range computes {
			request, limit := amount(name, c.Requests[name]), amount(name, c.Limits[name])
			all = all && limit != "" && cmp.Or(request, limit) == limit
		}
	}
	return all
}

var resourcePath = regexp.MustCompile(`^spec\.template\.spec\.containers\[[^\]]+\]\.resources\.(requests|limits)\.(cpu|memory)$`)

// resourceChange is the class of a change of CPU or memory; false for any other field. Running pods
// take other requests, and higher limits. Kubernetes adds and removes none in place, and under a
// lower limit a process may be killed that was started with more.
func resourceChange(path, old, wanted string, resizes func() bool) (class model.ChangeClass, changes, isResource bool) {
	match := resourcePath.FindStringSubmatch(path)
	if match == nil {
		return 0, false, false
	}
	from, to := amount(match[2], old), amount(match[2], wanted)
	if from == "" || to == "" {
		return model.ChangeRestart, true, true
	}
	a, b := resource.MustParse(old), resource.MustParse(wanted)
	switch {
	case from == to:
		return 0, false, true
	case (match[1] == "requests" || b.Cmp(a) > 0) && resizes():
		return model.ChangeResize, true, true
	}
	return model.ChangeRestart, true, true
}
