//go:build linux

package realnodes

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"stevedore.dev/stevedore/internal/sandbox/process"
)

// service is a process that is kept running, as systemd does, by a goroutine of
// its own.
type service struct {
	name    string
	log     string
	starter *process.Starter
	command []string
	dir     string
	// again is the pause before it is started once more after an end of its own;
	// 0: its end is final, and ended is told of it.
	again time.Duration
	ended func(error)

	mu      sync.Mutex
	current *process.Process
	stop    chan struct{}
	done    chan struct{}
}

// start starts it, once; after an end of its goroutine once more.
func (s *service) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, err := s.launch()
	if err != nil {
		return err
	}
	s.current, s.stop, s.done = first, make(chan struct{}), make(chan struct{})
	go s.keep(first, s.stop, s.done)
	return nil
}

func (s *service) launch() (*process.Process, error) {
	file, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", s.name, err)
	}
	defer file.Close() // the child has its own descriptor
	command := exec.Command(s.command[0], s.command[1:]...)
	command.Stdout, command.Stderr, command.Dir = file, file, s.dir
	return s.starter.Start(command, nil)
}

func (s *service) keep(current *process.Process, stop, done chan struct{}) {
	defer close(done)
	for {
		select {
		case <-stop:
			return
		case <-current.Done():
		}
		if s.again == 0 {
			s.ended(s.failure(current))
			return
		}
		timer := time.NewTimer(s.again)
		select {
		case <-stop:
			timer.Stop()
			return
		case <-timer.C:
		}
		next, err := s.launch()
		if err != nil {
			s.ended(err)
			return
		}
		s.mu.Lock()
		s.current = next
		s.mu.Unlock()
		current = next
	}
}

// kill ends its process as kill -9 does; it is started again.
func (s *service) kill() {
	s.mu.Lock()
	current := s.current
	s.mu.Unlock()
	if current != nil {
		current.Signal(syscall.SIGKILL)
		<-current.Done()
	}
}

// end stops keeping it and kills it.
func (s *service) end(grace time.Duration) {
	s.mu.Lock()
	stop, done := s.stop, s.done
	s.stop = nil
	s.mu.Unlock()
	if stop == nil {
		return
	}
	close(stop)
	<-done
	s.mu.Lock()
	current := s.current
	s.mu.Unlock()
	if grace == 0 {
		current.Signal(syscall.SIGKILL)
		<-current.Done()
		return
	}
	current.Stop(grace)
}

func (s *service) failure(p *process.Process) error {
	return fmt.Errorf("%s ended with exit code %d; its last words:\n%s", s.name, p.ExitCode(), s.lastWords(8, func(string) bool { return true }))
}

// lastWords are the last lines of its log that are of interest.
func (s *service) lastWords(most int, of func(string) bool) string {
	content, _ := os.ReadFile(s.log)
	var lines []string
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); of(line) {
			lines = append(lines, line[:min(len(line), 500)])
		}
	}
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
