package render

import (
	"encoding/json"
	"fmt"
	"maps"

	"stevedore.dev/stevedore/internal/names"
)

// adopted gives a StatefulSet the parts that Kubernetes never changes as whoever made it has them. It
// has one claim and no debug volume: each pod that runs has the volumes that it was made with, and
// Kubernetes takes a pod without a volume of its StatefulSet's for one that it has to repair.
//
// podManagementPolicy is stevedore's: with OrderedReady the second node of a cluster that was down
// would start only once the first one is ready, which is so only with the others.
//
// The claim template has the labels of the pods: a claim that is made later is known as the cluster's
// by them, and of itself has only those of the selector.
func (m *model) adopted(ops []operation, g group) ([]operation, error) {
	spec, err := g.claimSpec()
	if err != nil {
		return nil, err
	}
	claim := map[string]any{"metadata": map[string]any{"name": g.names.Claim, "labels": m.claimLabels(g)}, "spec": spec}
	return append(ops,
		set("/spec/serviceName", g.names.ServiceName),
		set("/spec/selector/matchLabels", g.names.Selector),
		set("/spec/volumeClaimTemplates", []any{claim}),
		set(crate+"/volumeMounts", []any{map[string]any{"name": g.names.Claim, "mountPath": g.names.MountPath}}),
		remove(pod+"/initContainers/1"), // it makes the folder for heap dumps
	), nil
}

// claimLabels are those by which a claim is known as one of the cluster's.
func (m *model) claimLabels(g group) map[string]string {
	return with(m.selector(), names.NodeNameLabel, g.Name)
}

// annotations are those of a group's StatefulSet: its own, and the names that somebody else gave it.
func (g group) annotations() map[string]string {
	if g.names == nil {
		return g.Annotations
	}
	out := maps.Clone(g.Annotations)
	if out == nil {
		out = map[string]string{}
	}
	text, err := json.Marshal(g.names)
	if err != nil {
		panic(fmt.Sprintf("writing names: %v", err)) // texts always marshal
	}
	out[names.NamesAnnotation] = string(text)
	return out
}
