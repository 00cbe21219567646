package testbed

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Environment is what a kubelet makes of a container's variables, in order.
func (b *Testbed) Environment(ctx context.Context, pod *corev1.Pod, container *corev1.Container) ([]string, error) {
	var env []string
	for _, variable := range container.Env {
		value, set := variable.Value, true
		if from := variable.ValueFrom; from != nil {
			var err error
			if value, set, err = b.valueFrom(ctx, pod, from); err != nil {
				return nil, fmt.Errorf("making the variable %s: %w", variable.Name, err)
			}
		}
		if set {
			env = append(env, variable.Name+"="+value)
		}
	}
	return env, nil
}

func (b *Testbed) valueFrom(ctx context.Context, pod *corev1.Pod, from *corev1.EnvVarSource) (string, bool, error) {
	var data map[string]string
	var key string
	var optional *bool
	var err error
	switch {
	case from.SecretKeyRef != nil:
		var secret *corev1.Secret
		secret, err = b.Admin.CoreV1().Secrets(pod.Namespace).Get(ctx, from.SecretKeyRef.Name, metav1.GetOptions{})
		key, optional, data = from.SecretKeyRef.Key, from.SecretKeyRef.Optional, map[string]string{}
		for name, value := range secret.Data {
			data[name] = string(value)
		}
	case from.ConfigMapKeyRef != nil:
		var object *corev1.ConfigMap
		object, err = b.Admin.CoreV1().ConfigMaps(pod.Namespace).Get(ctx, from.ConfigMapKeyRef.Name, metav1.GetOptions{})
		key, optional, data = from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Optional, object.Data
	case from.FieldRef != nil && from.FieldRef.FieldPath == "status.podIP":
		return pod.Status.PodIP, true, nil
	default:
		return "", false, fmt.Errorf("its source is not known here")
	}
	may := optional != nil && *optional
	if err != nil && !(may && apierrors.IsNotFound(err)) {
		return "", false, err
	}
	value, ok := data[key]
	if !ok && !may {
		return "", false, fmt.Errorf("there is no key %s", key)
	}
	return value, ok, nil
}

// Expand replaces $(NAME) in arguments as a kubelet does; an unknown name stays.
func Expand(args, env []string) []string {
	var pairs []string
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		pairs = append(pairs, "$("+name+")", value)
	}
	replacer := strings.NewReplacer(pairs...)
	expanded := make([]string, len(args))
	for i, arg := range args {
		expanded[i] = replacer.Replace(arg)
	}
	return expanded
}
