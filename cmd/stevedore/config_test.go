package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFlagsOfTheClaimDebugReachRenderOrSayWhatIsWrong(t *testing.T) {
	config, err := (&renderFlags{debugClass: "cheap", debugSize: "8GiB"}).config()
	require.NoError(t, err)
	assert.Equal(t, "cheap", config.DebugStorageClass)
	assert.Equal(t, "8GiB", config.DebugVolumeSize)

	_, err = (&renderFlags{debugClass: "Fast SSD"}).config()
	assert.ErrorContains(t, err, `--debug-storage-class "Fast SSD" is no name of a storage class`)
	_, err = (&renderFlags{debugSize: "8"}).config()
	assert.EqualError(t, err, `--debug-volume-size "8" has no unit: write 8GiB or 8MiB`)
}
