//go:build !race

package untrusted

const race = false
