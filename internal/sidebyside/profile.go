package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"syscall"

	"stevedore.dev/stevedore/internal/testbed"
)

// profileEnv has a binary that is built for it write its profiles.
func (b *bench) profileEnv(what string, size int) []string {
	if b.profile == "" {
		return nil
	}
	return []string{"STEVEDORE_PROFILE=" + filepath.Join(b.profile, fmt.Sprintf("%s-%d", what, size))}
}

// phase ends one part of the daemon's profile and begins the next; so it does with that of
// this process, which is the nodes': who measures a fleet has to know what they take.
func (b *bench) phase(daemon *testbed.Daemon, size int) {
	if b.profile == "" {
		return
	}
	_ = daemon.Signal(syscall.SIGUSR2)
	b.endOwnProfile()
	b.beginOwnProfile(size)
}

func (b *bench) beginOwnProfile(size int) {
	if b.profile == "" {
		return
	}
	b.parts++
	file, err := os.Create(filepath.Join(b.profile, fmt.Sprintf("nodes-%d-%d.cpu", size, b.parts)))
	if err == nil {
		err = pprof.StartCPUProfile(file)
	}
	if err != nil {
		b.say("the nodes' profile cannot be written: %v", err)
		return
	}
	b.own = file
}

func (b *bench) endOwnProfile() {
	if b.own == nil {
		return
	}
	pprof.StopCPUProfile()
	_ = b.own.Close()
	b.own = nil
}

// everybody says who asked the API server for how much, where profiles are written: what
// its CPU went to.
func (b *bench) everybody(before, after counters) {
	if b.profile == "" {
		return
	}
	_, each := since(before.all, after.all)
	b.say("  requests of everybody: %s", strings.Join(each, ", "))
}
