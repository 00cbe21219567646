package cluster

import "stevedore.dev/stevedore/ops/model"

// Annotate writes on a StatefulSet what is decided of it beside its template and its replicas. It says whether that
// changes anything.
func Annotate(s *model.ObservedSet, e *model.EffectiveSet) bool {
	was := *s
	s.Hold, s.Suspended, s.Annotated, s.Adopted = e.Hold, e.Suspended, e.Settings, e.Adopted
	return s.Hold != was.Hold || s.Suspended != was.Suspended || s.Annotated != was.Annotated || s.Adopted != was.Adopted
}
