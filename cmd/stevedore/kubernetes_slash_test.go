package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// client-go said of it: may not contain '/'.
func TestANamespaceWithASlashIsToldHowAClusterIsWritten(t *testing.T) {
	newAPIServer(t, "shop")
	end := stevedore(t, "status", "-n", "shop/orders")
	assert.Equal(t, exitError, end.code)
	assert.Contains(t, end.err, "-n shop/orders is no namespace: a cluster is written without -n, as in `stevedore status shop/orders`")
}
