package sandbox_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// of is what a claim shows of its VolumeAttributesClass: what it has, the status, the conditions.
func (v *volume) of() string {
	claim := v.claim()
	out := []string{"none", "-", "-"}
	if claim.Status.CurrentVolumeAttributesClassName != nil {
		out[0] = *claim.Status.CurrentVolumeAttributesClassName
	}
	if s := claim.Status.ModifyVolumeStatus; s != nil {
		out[1] = string(s.Status)
	}
	for _, c := range claim.Status.Conditions {
		out[2] = strings.TrimPrefix(out[2]+","+string(c.Type), "-,")
	}
	return strings.Join(out, " ")
}

func (v *volume) becomes(line string) {
	v.Helper()
	v.within(v.name+" becomes "+line, func() bool { return v.of() == line })
}

func (v *volume) askClass(class string) error {
	return v.patch(fmt.Sprintf(`{"spec":{"volumeAttributesClassName":%s}}`, class))
}

// What the API server of Kubernetes allows, and what the CSI external-resizer shows.
func TestAClaimGetsAnotherVolumeAttributesClassWhileItsPodRuns(t *testing.T) {
	s := situationIn(t, common(t))
	v := s.volume("modified", "fast", "1Gi")
	v.becomes("none - -")
	require.NoError(t, v.askClass(`"unfit"`))
	v.becomes("none Infeasible ModifyVolumeError")
	require.NoError(t, v.askClass(`null`), "Kubernetes takes back what never came into effect")
	v.becomes("none - -")
	require.NoError(t, v.askClass(`"foreign"`))
	v.becomes("none Pending -")
	require.NoError(t, v.askClass(`"slow-change"`))
	v.becomes("none InProgress ModifyingVolume")
	v.becomes("slow-change - -")
	require.NoError(t, v.askClass(`"gold"`))
	v.becomes("gold - -")
	for _, none := range []string{`null`, `""`} {
		err := v.askClass(none)
		assert.True(t, apierrors.IsInvalid(err), "%v", err)
		assert.ErrorContains(t, err, "when status.currentVolumeAttributesClassName is not nil")
	}
	require.NoError(t, v.askClass(`"unfit"`))
	v.becomes("gold Infeasible ModifyVolumeError")
	require.NoError(t, v.askClass(`"gold"`))
	v.becomes("gold - -")
	require.NoError(t, v.patch(`{"spec":{"volumeAttributesClassName":"silver","resources":{"requests":{"storage":"2Gi"}}}}`), "one patch carries both")
	v.becomes("silver - -")
	v.shows(atRest + "2Gi")
}

func TestANewVolumeHasTheClassOfItsClaim(t *testing.T) {
	s := situationIn(t, common(t))
	v := s.volumeOf("new", "fast", "1Gi", "gold")
	v.becomes("gold - -")
}
