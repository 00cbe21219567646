package process

import "syscall"

// Supported says whether this system can run the sandbox.
const Supported = true

// attributes of a process; of those that the caller has set, its namespaces stay.
func attributes(as *Identity, set *syscall.SysProcAttr) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if set != nil {
		a.Cloneflags = set.Cloneflags
	}
	if as != nil {
		a.Credential = &syscall.Credential{Uid: as.User, Gid: as.Group}
	}
	return a
}
