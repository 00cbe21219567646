package agent

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// environment is a container's variables, in the order in which they were set.
type environment struct {
	names  []string
	values map[string]string
}

func (e *environment) set(name, value string) {
	if e.values == nil {
		e.values = map[string]string{}
	}
	if _, ok := e.values[name]; !ok {
		e.names = append(e.names, name)
	}
	e.values[name] = value
}

func (e *environment) lookup(name string) (string, bool) {
	value, ok := e.values[name]
	return value, ok
}

// list is the environment of a process; the container's own values come last
// and win.
func (e *environment) list(first ...string) []string {
	for _, name := range e.names {
		first = append(first, name+"="+e.values[name])
	}
	return first
}

// replace replaces $(NAME) as the Kubernetes API does: an unknown name stays as
// it is (and is a shell's business), $$ is a dollar.
func (e *environment) replace(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 >= len(text) {
			out.WriteByte(text[i])
			continue
		}
		switch text[i+1] {
		case '$':
			out.WriteByte('$')
			i++
		case '(':
			if end := strings.IndexByte(text[i:], ')'); end > 0 {
				if value, ok := e.lookup(text[i+2 : i+end]); ok {
					out.WriteString(value)
					i += end
					continue
				}
			}
			out.WriteByte('$')
		default:
			out.WriteByte('$')
		}
	}
	return out.String()
}

// environment makes the variables of a container; what is missing is a
// configError in a kubelet's words.
func (w *worker) environment(ctx context.Context, spec *corev1.Container) (environment, error) {
	var env environment
	env.set("HOSTNAME", w.name)
	for _, from := range spec.EnvFrom {
		values, err := w.envFrom(ctx, from)
		if err != nil {
			return env, err
		}
		for name, value := range values {
			env.set(from.Prefix+name, value)
		}
	}
	for _, each := range spec.Env {
		if each.ValueFrom == nil {
			env.set(each.Name, env.replace(each.Value))
			continue
		}
		value, ok, err := w.valueFrom(ctx, spec, each.ValueFrom)
		if err != nil {
			return env, err
		}
		if ok {
			env.set(each.Name, value)
		}
	}
	return env, nil
}

func (w *worker) envFrom(ctx context.Context, from corev1.EnvFromSource) (map[string]string, error) {
	switch {
	case from.SecretRef != nil:
		data, err := w.secret(ctx, from.SecretRef.Name, from.SecretRef.Optional)
		return texts(data), err
	case from.ConfigMapRef != nil:
		data, err := w.configMap(ctx, from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
		return texts(data), err
	}
	return nil, nil
}

func texts(data map[string][]byte) map[string]string {
	made := map[string]string{}
	for key, value := range data {
		made[key] = string(value)
	}
	return made
}

func (w *worker) valueFrom(ctx context.Context, spec *corev1.Container, from *corev1.EnvVarSource) (string, bool, error) {
	switch {
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		data, err := w.secret(ctx, ref.Name, ref.Optional)
		return keyOf(data, err, "Secret", w.namespace, ref.Name, ref.Key, ref.Optional)
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		data, err := w.configMap(ctx, ref.Name, ref.Optional)
		return keyOf(data, err, "ConfigMap", w.namespace, ref.Name, ref.Key, ref.Optional)
	case from.FieldRef != nil:
		value, err := w.field(from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err := resourceField(spec, from.ResourceFieldRef)
		return value, true, err
	}
	return "", false, badConfig("a variable of the container %s has a source that the sandbox does not know", spec.Name)
}

func keyOf(data map[string][]byte, err error, kind, namespace, name, key string, optional *bool) (string, bool, error) {
	if err != nil {
		return "", false, err
	}
	value, ok := data[key]
	if !ok && (optional == nil || !*optional) {
		return "", false, badConfig("couldn't find key %s in %s %s/%s", key, kind, namespace, name)
	}
	return string(value), ok, nil
}

// secret reads a Secret; one that is missing and optional is empty.
func (w *worker) secret(ctx context.Context, name string, optional *bool) (map[string][]byte, error) {
	secret, err := w.agent.o.Client.CoreV1().Secrets(w.namespace).Get(ctx, name, metav1.GetOptions{})
	if err := missing(err, "secret", name, optional); err != nil {
		return nil, err
	}
	return secret.Data, nil
}

func (w *worker) configMap(ctx context.Context, name string, optional *bool) (map[string][]byte, error) {
	object, err := w.agent.o.Client.CoreV1().ConfigMaps(w.namespace).Get(ctx, name, metav1.GetOptions{})
	if err := missing(err, "configmap", name, optional); err != nil {
		return nil, err
	}
	data := map[string][]byte{}
	for key, value := range object.BinaryData {
		data[key] = value
	}
	for key, value := range object.Data {
		data[key] = []byte(value)
	}
	return data, nil
}

func missing(err error, kind, name string, optional *bool) error {
	switch {
	case err == nil, apierrors.IsNotFound(err) && optional != nil && *optional:
		return nil
	case apierrors.IsNotFound(err):
		return badConfig("%s %q not found", kind, name)
	}
	return badConfig("reading the %s %q: %v", kind, name, err)
}

// field is the value of a downward API field.
func (w *worker) field(path string) (string, error) {
	pod := w.current()
	if key, ok := strings.CutPrefix(path, "metadata.labels['"); ok {
		return pod.Labels[strings.TrimSuffix(key, "']")], nil
	}
	if key, ok := strings.CutPrefix(path, "metadata.annotations['"); ok {
		return pod.Annotations[strings.TrimSuffix(key, "']")], nil
	}
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "metadata.labels":
		return keysAndValues(pod.Labels), nil
	case "metadata.annotations":
		return keysAndValues(pod.Annotations), nil
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.hostIP", "status.hostIPs":
		return w.node.Address.String(), nil
	case "status.podIP", "status.podIPs":
		return w.podAddress().String(), nil
	}
	return "", badConfig("the sandbox does not know the pod field %q", path)
}

func keysAndValues(values map[string]string) string {
	var out strings.Builder
	for key, value := range values {
		fmt.Fprintf(&out, "%s=%q\n", key, value)
	}
	return out.String()
}

// resourceField is a container's limit or request, in units of the divisor,
// rounded up.
func resourceField(spec *corev1.Container, from *corev1.ResourceFieldSelector) (string, error) {
	kind, name, _ := strings.Cut(from.Resource, ".")
	list := spec.Resources.Limits
	if kind == "requests" {
		list = spec.Resources.Requests
	}
	quantity, ok := list[corev1.ResourceName(name)]
	if !ok {
		return "", badConfig("the container %s has no %s", spec.Name, from.Resource)
	}
	divisor := from.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	units := (quantity.MilliValue() + divisor.MilliValue() - 1) / divisor.MilliValue()
	return fmt.Sprint(units), nil
}
