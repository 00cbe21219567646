package agent

import (
	"fmt"
	"syscall"
)

// Kill ends the CrateDB process of a pod as the kernel does when memory runs
// out: at once, without a word to the others. The container is started again
// after its pause, as a kubelet does. It fails where no such process runs.
func (a *Agent) Kill(namespace, pod string) error {
	w := a.worker(namespace, pod, "")
	if w == nil {
		return fmt.Errorf("killing CrateDB in pod %s/%s: there is no such pod here", namespace, pod)
	}
	for _, c := range w.containers {
		if run := c.runningInstance(); c.spec.Name == crateContainer && run != nil {
			run.Signal(syscall.SIGKILL)
			return nil
		}
	}
	return fmt.Errorf("killing CrateDB in pod %s/%s: it does not run", namespace, pod)
}
