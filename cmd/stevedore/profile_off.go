//go:build !profile

package main

// profiled runs the program; see the build tag profile.
func profiled(run func() int) int { return run() }
