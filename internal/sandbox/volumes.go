package sandbox

import (
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/internal/sandbox/agent"
)

// VolumeFolder is where on this machine the volume of a claim is, or will be.
func (s *Sandbox) VolumeFolder(claim types.UID) string { return agent.VolumeFolder(s.dir, claim) }
