package planprint_test

import (
	"fmt"
	"strings"
	"time"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/planprint"
	"stevedore.dev/stevedore/ops/plan"
)

var observed = time.Date(2026, 3, 2, 3, 4, 5, 0, time.UTC)

func live(age time.Duration) plan.Basis {
	return plan.Basis{Kind: plan.Live, Admission: true, SecretsCompared: true, Observed: observed, Age: plan.Duration(age)}
}

func key(kind, name string) compare.Key {
	group := map[string]string{"StatefulSet": "apps", "PodDisruptionBudget": "policy"}[kind]
	return compare.Key{Group: group, Kind: kind, Namespace: "prod", Name: name}
}

func changed(path string, from, to any) compare.FieldChange {
	return compare.FieldChange{Path: path, From: from, To: to, Op: compare.OpChange}
}

func minutes(least, most int, basis string) *plan.Estimate {
	return &plan.Estimate{Least: plan.Duration(time.Duration(least) * time.Minute), Most: plan.Duration(time.Duration(most) * time.Minute), Basis: basis}
}

func shrink() plan.Plan {
	return plan.Plan{
		SchemaVersion: 1, Namespace: "prod", Name: "orders", Revision: "8f14e45fceea167a", Basis: live(200 * time.Second),
		Objects: []plan.Object{
			{Key: key("StatefulSet", "crate-data-b-orders"), Change: plan.Changed, Class: plan.ByOperation, Fields: []plan.Field{
				{FieldChange: changed("spec.replicas", int64(4), int64(3)), Class: plan.ByOperation},
				{FieldChange: changed("spec.template.spec.containers[name=crate].command", []any{"/docker-entrypoint.sh", "crate", "-Cgateway.expected_data_nodes=4", "-Cprocessors=2"},
					[]any{"/docker-entrypoint.sh", "crate", "-Cgateway.expected_data_nodes=3", "-Cprocessors=2"}), Class: plan.InPlace},
			}},
			{Key: key("PodDisruptionBudget", "crate-data-orders"), Change: plan.Changed, Class: plan.InPlace, Fields: []plan.Field{
				{FieldChange: changed("spec.maxUnavailable", int64(1), int64(0)), Class: plan.InPlace},
			}},
		},
		Operations: []plan.Operation{{
			Kind: "shrink", Summary: "drain data-b-3: 1,204 shards, 310 GiB, fits: 71 % of the low watermark after",
			Gates: []plan.Gate{{Name: "shards-moving", Message: "12 shards are moving; it waits until none is"}},
			Steps: []plan.Step{
				{Action: "exclude-nodes", Target: "data-b-3", Detail: "by its node id"},
				{Action: "shrink-set", Target: "crate-data-b-orders", Detail: "4 to 3"},
				{Action: "include-nodes", Target: "data-b-3"},
			},
			Estimate: minutes(22, 64, "310 GiB at 80 to 240 MiB/s"),
		}},
		AtRisk:  []plan.Risk{{Subject: "doc.clicks", Why: "it has no replicas: 3 of its shards are on data-b-3, and cannot be read while they move"}},
		Unknown: []string{"how fast shards move: no drain was measured in this cluster yet"},
	}
}

func upgradeRefused() plan.Plan {
	return plan.Plan{
		SchemaVersion: 1, Namespace: "prod", Name: "metrics", Revision: "c9f0f895fb98ab91", Basis: plan.Basis{
			Kind: plan.Live, Observed: observed, Age: plan.Duration(9 * 24 * time.Hour), Stale: true,
		},
		Objects: []plan.Object{{Key: key("StatefulSet", "crate-data-hot-metrics"), Change: plan.Changed, Class: plan.Refused, Why: "nothing of it is applied", Fields: []plan.Field{
			{FieldChange: changed("spec.template.spec.containers[name=crate].image", "crate:6.2.7", "crate:6.4.3"), Class: plan.Refused, Gate: "version-path", Why: "a minor is left out"},
			{FieldChange: compare.FieldChange{Path: "spec.template.spec.nodeSelector", Op: compare.OpAdd, To: map[string]any{"disk": "nvme", "zone": "a"}}, Class: plan.Restart},
		}}},
		Refused: []plan.Gate{{Name: "version-path", Message: "6.2.7 runs, and 6.4.3 is wanted: CrateDB upgrades minor by minor; go to 6.3 (6.3.2 or newer), then 6.4.3"}},
		Unknown: []string{"whether any table is too old: the observation is 9 days old"},
	}
}

func rolling() plan.Plan {
	p := plan.Plan{
		SchemaVersion: 1, Namespace: "prod", Name: "events", Basis: live(30 * time.Second), Restarts: 6, Estimate: minutes(4, 18, "6 pods, 40 s to 3 min each as readiness allows"),
		Objects: []plan.Object{
			{Key: key("StatefulSet", "crate-data-hot-events"), Change: plan.Changed, Class: plan.Restart, Fields: []plan.Field{
				{FieldChange: changed("spec.template.spec.containers[name=crate].resources.limits.memory", "64Gi", "96Gi"), Class: plan.Restart},
				{FieldChange: compare.FieldChange{Path: "spec.template.spec.tolerations", From: []any{map[string]any{"key": "dedicated", "operator": "Exists"}}, Op: compare.OpRemove}, Class: plan.RestartWhenDue},
			}},
			{Key: key("ConfigMap", "dashboards"), Change: plan.Changed, Class: plan.InPlace, Fields: []plan.Field{
				{FieldChange: changed("data.orders\\.sql", "SELECT 1;\nSELECT 2;\nSELECT 3;\n", "SELECT 1;\nSELECT 4;\nSELECT 3;\n"), Class: plan.InPlace},
			}},
			{Key: key("ConfigMap", "old"), Change: plan.Orphaned, Class: plan.InPlace, Why: "it is wanted no longer, and is left as it is"},
			{Key: key("ConfigMap", "gone"), Change: plan.Removed, Class: plan.InPlace},
			{Key: key("ConfigMap", "moved"), Change: plan.Moved, Class: plan.InPlace, From: "prod/a.yaml", To: "prod/b.yaml"},
			{Key: compare.Key{Group: "example.org", Kind: "Widget", Namespace: "shared", Name: "w"}, Change: plan.Added, Class: plan.InPlace, To: "prod/widget.yaml"},
		},
	}
	for i, set := range []string{"hot", "cold"} {
		o := plan.Operation{Kind: "restart", Summary: fmt.Sprintf("restart 3 pods of %s one by one for new limits", set), Restarts: 3, Estimate: minutes(2, 9, "3 pods, 40 s to 3 min each")}
		for n := range 3 {
			o.Steps = append(o.Steps, plan.Step{Action: "restart-pod", Target: fmt.Sprintf("crate-data-%s-events-%d", set, n)})
		}
		if i == 0 {
			o.Gates = []plan.Gate{{Name: "health-green", Message: "the cluster is yellow: 2 shards without a copy"}}
		}
		p.Operations = append(p.Operations, o)
	}
	return p
}

func secrets(value string) plan.Plan {
	return plan.Plan{
		SchemaVersion: 1, Namespace: "prod", Name: "secrets", Basis: live(time.Hour),
		Objects: []plan.Object{
			{Key: key("Secret", "app"), Change: plan.Changed, Class: plan.InPlace, Why: "is invalid: data[password]: Invalid value: " + value, Fields: []plan.Field{
				{FieldChange: changed("data.password", value, value+value)},
				{FieldChange: compare.FieldChange{Path: `data["tls.key"]`, To: value, Op: compare.OpAdd}},
				{FieldChange: changed(`metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`, value, "{}")},
				{FieldChange: changed("metadata.labels.team", "a", "b")},
			}},
			{Key: key("StatefulSet", "crate-data-hot-secrets"), Change: plan.Changed, Class: plan.Restart, Fields: []plan.Field{
				{FieldChange: changed("spec.template.spec.containers[name=crate].env[name=AWS_SECRET_ACCESS_KEY].value", value, "x"), Class: plan.Restart},
			}},
		},
	}
}

const evil = "`|<img src=x onerror=alert(1)> @team #1 [a](https://e.example) **b** \x1b[31mred\x1b[0m \u202Eevil ##[error]x ::error::y\n::stop-commands::z\n```\n</details>"

func hostile() plan.Plan {
	return plan.Plan{
		SchemaVersion: 1, Namespace: evil, Name: evil, Revision: evil, Basis: plan.Basis{Kind: plan.Offline, Against: evil},
		Objects: []plan.Object{{Key: compare.Key{Group: evil, Kind: "Config" + evil, Namespace: evil, Name: evil}, Change: plan.Changed, Class: plan.InPlace, From: evil, To: evil, Why: evil, Fields: []plan.Field{
			{FieldChange: changed(evil, evil, evil+"x"), Class: plan.InPlace, Gate: evil, Why: evil},
			{FieldChange: compare.FieldChange{Path: "data", To: map[string]any{evil: evil}, Op: compare.OpAdd}},
		}}},
		Operations: []plan.Operation{{Kind: evil, Summary: evil, Gates: []plan.Gate{{Name: evil, Message: evil}},
			Steps: []plan.Step{{Action: evil, Target: evil, Detail: evil}}, Estimate: minutes(1, 1, evil)}},
		Refused: []plan.Gate{{Name: evil, Message: evil}}, Waits: []plan.Gate{{Name: evil, Message: evil}}, Notes: []string{evil},
		AtRisk:  []plan.Risk{{Subject: evil, Why: evil}},
		Unknown: []string{evil},
	}
}

// many is a plan over n clusters, each with objects of its own.
func many(n, objects int) []plan.Plan {
	var plans []plan.Plan
	for i := range n {
		p := plan.Plan{SchemaVersion: 1, Namespace: "fleet", Name: fmt.Sprintf("c%04d", i), Basis: live(time.Minute)}
		for k := range objects {
			p.Objects = append(p.Objects, plan.Object{Key: compare.Key{Kind: "ConfigMap", Namespace: "fleet", Name: fmt.Sprintf("m%d", k)}, Change: plan.Changed, Class: plan.InPlace, Fields: []plan.Field{
				{FieldChange: changed("data.text", strings.Repeat("a", 80), strings.Repeat("b", 80)), Class: plan.InPlace},
			}})
		}
		if i%10 == 9 {
			p.Operations = []plan.Operation{{Kind: "grow", Summary: "3 to 5 nodes", Steps: []plan.Step{{Action: "apply", Target: "crate-data-hot"}}}}
		}
		if i%50 == 49 {
			p.Refused = []plan.Gate{{Name: "rename", Message: "it would be an empty database"}}
		}
		plans = append(plans, p)
	}
	return plans
}

// examples are the situations of the golden files.
func examples() map[string][]plan.Plan {
	same := plan.Plan{SchemaVersion: 1, Namespace: "prod", Name: "same", Basis: live(time.Minute)}
	return map[string][]plan.Plan{
		"nothing": {same},
		"new": {{SchemaVersion: 1, Namespace: "dev", Name: "fresh", Basis: plan.Basis{Kind: plan.Live, Admission: true, SecretsCompared: true, New: true},
			Objects:    []plan.Object{{Key: compare.Key{Group: "apps", Kind: "StatefulSet", Namespace: "dev", Name: "crate-data-hot-fresh"}, Change: plan.Added, Class: plan.ByOperation}},
			Operations: []plan.Operation{{Kind: "bootstrap", Summary: "3 nodes, 2 users", Steps: []plan.Step{{Action: "create-system-secret", Target: "user-system-fresh"}}}}}},
		"waiting": {{SchemaVersion: 1, Namespace: "dev", Name: "fresh", Basis: plan.Basis{Kind: plan.Live, Admission: true, SecretsCompared: true, New: true},
			Waits:      []plan.Gate{{Name: "secret-missing", Message: "Secret app, key password (the password of user app) does not exist; create it in the cluster's namespace"}},
			Operations: []plan.Operation{{Kind: "bootstrap", Summary: "3 nodes, 2 users", Steps: []plan.Step{{Action: "set-user", Target: "app"}}}}},
			{SchemaVersion: 1, Namespace: "dev", Name: "paused", Basis: live(time.Minute),
				Waits: []plan.Gate{{Name: "paused", Message: "paused by the annotation stevedore.dev/paused in the definition: nothing is done until it is taken off"}},
				Notes: []string{"this ends the release: the annotation stevedore.dev/released is taken off, and the cluster is paused"},
				Objects: []plan.Object{{Key: key("StatefulSet", "crate-data-hot-paused"), Change: plan.Changed, Class: plan.Waiting,
					Why: "paused by the annotation stevedore.dev/paused in the definition: nothing is done until it is taken off", Fields: []plan.Field{
						{FieldChange: changed("spec.replicas", 3, 4), Class: plan.Waiting, Gate: "paused", Why: "paused by the annotation stevedore.dev/paused in the definition: nothing is done until it is taken off"},
					}}},
				Operations: []plan.Operation{{Kind: "restart", Summary: "restart"}}}},
		"shrink":  {same, shrink()},
		"refused": {shrink(), upgradeRefused()},
		"rolling": {rolling()},
		"secrets": {secrets("hunter2hunter2")},
		"hostile": {hostile()},
	}
}

var located planprint.Locate = func(_, name string) planprint.Place {
	return planprint.Place{File: "clusters/" + name + ".yaml", Line: 3}
}
