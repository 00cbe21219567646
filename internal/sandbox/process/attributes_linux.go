package process

import "syscall"

// Supported says whether this system can run the sandbox.
const Supported = true

func attributes(as *Identity) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if as != nil {
		a.Credential = &syscall.Credential{Uid: as.User, Gid: as.Group}
	}
	return a
}
