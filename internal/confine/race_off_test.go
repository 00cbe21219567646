//go:build !race

package confine_test

const race = false
