package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// SetPriority sets the nice value of all threads of the process; threads that
// begin later have that of their parent. Only root may lower it again.
func (p *Process) SetPriority(nice int) error {
	// Twice: a thread may have begun another one, with the value before, while
	// the first round went.
	for range 2 {
		threads, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(p.ID()), "task"))
		if err != nil {
			return fmt.Errorf("reading the threads of process %d: %w", p.ID(), err)
		}
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			if err != nil {
				continue
			}
			// One that has ended meanwhile needs none.
			if err := syscall.Setpriority(syscall.PRIO_PROCESS, id, nice); err != nil && err != syscall.ESRCH {
				return fmt.Errorf("setting the priority of process %d: %w", p.ID(), err)
			}
		}
	}
	return nil
}
