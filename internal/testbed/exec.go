package testbed

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
)

// Exec runs a command in CrateDB's container of a pod, as `kubectl exec` does, and
// returns what it printed. An exit code other than 0 is an error.
func (b *Testbed) Exec(ctx context.Context, namespace, pod string, command ...string) (string, error) {
	request := b.Admin.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: "crate", Command: command, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	executor, err := remotecommand.NewSPDYExecutor(b.Config, http.MethodPost, request.URL())
	if err != nil {
		return "", fmt.Errorf("exec in pod %s/%s: %w", namespace, pod, err)
	}
	var out, failed strings.Builder // each has a goroutine of its own
	if err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: &failed}); err != nil {
		said := out.String() + failed.String()
		return said, fmt.Errorf("exec in pod %s/%s: %w: %s", namespace, pod, err, said)
	}
	return out.String() + failed.String(), nil
}
