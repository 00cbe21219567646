package manifest

import (
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// RemovedDesired says of a cluster without a definition what its record knows.
func RemovedDesired(namespace, name, owner, commit string, rec *model.Record) model.Desired {
	desired := model.Desired{
		Namespace: namespace, Name: name, Owner: owner, Commit: commit,
		Revision: rec.Revision, ClusterName: rec.ClusterName, Version: rec.Version, TLS: rec.TLS,
		License: rec.License, Pins: rec.Pins, Removed: true,
		Ports: definition.Ports{HTTP: 4200, Postgres: 5432},
	}
	for _, set := range rec.Sets {
		dedicated := set.Group == names.MasterGroup && set.Name == names.StatefulSet(name, set.Group, true)
		desired.Sets = append(desired.Sets, model.Set{
			Name: set.Name, Group: set.Group, Replicas: set.Replicas, Dedicated: dedicated, Data: !dedicated,
			MasterEligible: dedicated || set.Group == rec.Pins.MasterGroup,
		})
	}
	for _, budget := range rec.Budgets {
		desired.Budgets = append(desired.Budgets, budget.Name)
	}
	return desired
}
