package volume

import (
	"strings"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// Deleted names the claims that somebody has deleted while a pod uses them, and reports each
// once, whatever else is under way: nothing but the pod keeps the volume.
func Deleted(t *pass.Pass) {
	var words, told, fresh []string
	for p, c := range view.DeletedClaims(&t.View) {
		if t.Record.Replacing != nil && aim.MayReplace(&t.View) && aim.OnOtherVolume(&t.View, c) {
			continue // nobody else has deleted it, and its node was drained
		}
		words = append(words, c.Name+" of pod "+p.Name)
		if told = append(told, c.Name+"/"+c.UID); !model.InList(t.Record.DeletedClaims, told[len(told)-1]) {
			fresh = append(fresh, words[len(words)-1])
		}
	}
	t.Waits(gates.VolumeGoes(words))
	t.Record.DeletedClaims = strings.Join(told, ",")
	if reason, says := gates.VolumeGoes(fresh); says {
		t.Feedback("unknown", model.StatusFailure, "ClaimBeingDeleted", reason.Message, reason.Name)
	}
}
