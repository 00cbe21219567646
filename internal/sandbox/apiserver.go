package sandbox

import (
	"context"
	"errors"
	"slices"
	"syscall"

	"k8s.io/client-go/kubernetes"
)

const apiServer = "kube-apiserver"

// KillAPIServer kills the API server as a power cut does, and returns when it has
// ended. Its clients get no answer until StartAPIServer; pods run on. It must not be
// called beside itself, StartAPIServer or Stop.
func (s *Sandbox) KillAPIServer() error {
	all := s.plane.running()
	i := indexOf(all, apiServer)
	if i < 0 {
		return errors.New("killing the API server: it does not run")
	}
	c := all[i]
	c.taken.Store(true)
	c.process.Signal(syscall.SIGKILL)
	<-c.process.Done()
	s.plane.mu.Lock()
	s.plane.components = slices.DeleteFunc(s.plane.components, func(each component) bool { return each.name == apiServer })
	s.plane.mu.Unlock()
	s.plane.killed = c.arguments
	return nil
}

// StartAPIServer starts the API server that KillAPIServer killed, at the same
// address and with all that was stored, and returns when it is ready.
func (s *Sandbox) StartAPIServer(ctx context.Context) error {
	if s.plane.killed == nil {
		return errors.New("starting the API server: it was not killed")
	}
	again, err := s.plane.begin(apiServer, s.plane.killed)
	if err != nil {
		return err
	}
	s.plane.killed = nil
	// It is to end after those that depend on it.
	s.plane.mu.Lock()
	s.plane.components = slices.Insert(s.plane.components, indexOf(s.plane.components, "etcd")+1, again)
	s.plane.mu.Unlock()
	s.watch(again)
	client, err := kubernetes.NewForConfig(s.plane.admin)
	if err != nil {
		return err
	}
	return s.plane.waitReady(ctx, client, true)
}

func indexOf(components []component, name string) int {
	return slices.IndexFunc(components, func(each component) bool { return each.name == name })
}
