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
	i := s.plane.indexOf(apiServer)
	if i < 0 {
		return errors.New("killing the API server: it does not run")
	}
	c := s.plane.components[i]
	c.taken.Store(true)
	c.process.Signal(syscall.SIGKILL)
	<-c.process.Done()
	s.plane.components = slices.Delete(s.plane.components, i, i+1)
	s.plane.killed = c.arguments
	return nil
}

// StartAPIServer starts the API server that KillAPIServer killed, at the same
// address and with all that was stored, and returns when it is ready.
func (s *Sandbox) StartAPIServer(ctx context.Context) error {
	if s.plane.killed == nil {
		return errors.New("starting the API server: it was not killed")
	}
	if err := s.plane.launch(apiServer, s.plane.killed...); err != nil {
		return err
	}
	s.plane.killed = nil
	last := len(s.plane.components) - 1
	// It is to end after those that depend on it.
	again := s.plane.components[last]
	s.plane.components = slices.Insert(s.plane.components[:last], s.plane.indexOf("etcd")+1, again)
	s.watch(again)
	client, err := kubernetes.NewForConfig(s.plane.admin)
	if err != nil {
		return err
	}
	return s.plane.waitReady(ctx, client)
}

func (c *controlPlane) indexOf(name string) int {
	return slices.IndexFunc(c.components, func(each component) bool { return each.name == name })
}
