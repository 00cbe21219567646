package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The scheduler ends itself when the API server, back after a while, tells of a pod
// on another node than before: a kubelet would start it again. Until then no pod of
// the sandbox had a node any more.
func TestASchedulerOrControllerManagerThatEndsIsStartedAgain(t *testing.T) {
	o := options(t)
	o.Dir = t.TempDir()
	s := start(t, o)
	began := time.Now()
	situation := situationIn(t, s)
	situation.crate(1, nil)
	situation.within("a pod is ready", situation.isReady("crate-data-hot-c-0"))
	situation.within("they are past their first seconds", func() bool { return time.Since(began) > 2*time.Second })
	for _, name := range []string{"kube-scheduler", "kube-controller-manager"} {
		before := componentOf(t, o.Dir, name)
		require.NoError(t, syscall.Kill(before, syscall.SIGKILL))
		situation.within(name+" runs again", func() bool {
			now := componentOf(t, o.Dir, name)
			return now != 0 && now != before
		})
	}
	_, err := situation.client.AppsV1().StatefulSets(situation.namespace).Patch(t.Context(), "crate-data-hot-c",
		types.MergePatchType, []byte(`{"spec":{"replicas":2}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	situation.within("a pod is made, scheduled and ready", situation.isReady("crate-data-hot-c-1"))
	select {
	case <-s.Done():
		t.Fatal(s.Err())
	default:
	}

	// What holds the objects is not: its end is the sandbox's.
	require.NoError(t, syscall.Kill(componentOf(t, o.Dir, "etcd"), syscall.SIGKILL))
	<-s.Done()
	assert.ErrorContains(t, s.Err(), "etcd ended with exit code 137")
}

// componentOf is the process of a component of the control plane; 0: there is none.
func componentOf(t *testing.T, dir, name string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(content), fmt.Sprintf("\x00%s\x00", name)) && strings.Contains(string(content), dir+"/") {
			id, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			require.NoError(t, err)
			return id
		}
	}
	return 0
}
