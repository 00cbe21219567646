package main

import (
	"os"
	"testing"
	"time"

	"stevedore.dev/stevedore/internal/attendance"
	"stevedore.dev/stevedore/render/untrusted"
)

// asCommand makes this test binary the command itself, so that tests go in by
// the same door as people do.
const asCommand = "STEVEDORE_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	// A confined child has no environment to be told by.
	if os.Getenv(asCommand) != "" || len(os.Args) > 1 && os.Args[1] == untrusted.Verb {
		os.Exit(run())
	}
	// What people are not to wait for, a machine that is busy elsewhere may take.
	attendance.Timeout, completionTimeout = 10*time.Minute, 10*time.Minute
	os.Exit(m.Run())
}
