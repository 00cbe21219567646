package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The sandbox printed a command that no shell found: the program was called as bin/stevedore.
func TestTheSandboxNamesTheProgramAsItWasCalled(t *testing.T) {
	assert.Equal(t, "bin/stevedore", programAsCalled([]string{"bin/stevedore", "sandbox"}))
	assert.Equal(t, "stevedore", programAsCalled(nil))
}
