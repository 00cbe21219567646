package e2e

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/testbed"
)

func TestChangesInPlaceRestartNothing(t *testing.T) {
	t.Parallel()
	s := begin(t, "in-place")
	s.appSecret("app-password")
	base := []edit{with("spec.cluster.allowedCIDRs", []string{"192.0.2.0/24"})}
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", base...)})
	receiver := testbed.NewReceiver(nil)
	t.Cleanup(receiver.Close)
	s.start(testbed.DaemonOptions{Args: s.fromDir(), Env: []string{"WEBHOOK_URL=" + receiver.URL()}})
	s.done("orders")

	changes := []struct {
		name string
		edit edit
		seen func() bool
	}{
		{"the annotations of the service", with("spec.cluster.service.annotations", map[string]any{"example.com/team": "payments"}),
			func() bool { return s.service("crate-orders").Annotations["example.com/team"] == "payments" }},
		{"the allowed CIDRs", with("spec.cluster.allowedCIDRs", []string{"192.0.2.0/24", "198.51.100.0/24"}),
			func() bool { return len(s.service("crate-orders").Spec.LoadBalancerSourceRanges) == 2 }},
		{"the labels of a group", with("spec.nodes.data.0.labels", map[string]any{"example.com/tier": "gold"}),
			func() bool {
				return s.set("crate-data-hot-orders").Spec.Template.Labels["example.com/tier"] == "gold"
			}},
		{"the annotations of a group", with("spec.nodes.data.0.annotations", map[string]any{"example.com/owner": "ada"}),
			func() bool {
				return s.set("crate-data-hot-orders").Spec.Template.Annotations["example.com/owner"] == "ada"
			}},
	}
	for _, change := range changes {
		base = append(base, change.edit)
		s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", base...)})
		s.until(change.name, change.seen)
		s.done("orders")
	}
	assert.Empty(t, s.record("orders").Shown.Reasons)
	s.noPodRestarted()
	s.until("the webhook of the CIDRs", func() bool {
		return slices.ContainsFunc(receiver.Taken(), func(d testbed.Delivery) bool {
			return d.Status == "success" && actionOf(t, d) == "allowed_cidr_update"
		})
	})
}

// actionOf is feedback_data.action of a delivery.
func actionOf(t *testing.T, d testbed.Delivery) string {
	t.Helper()
	var body struct {
		Feedback *struct{ Action string } `json:"feedback_data"`
	}
	require.NoError(t, json.Unmarshal(d.Body, &body))
	if body.Feedback == nil {
		return ""
	}
	return body.Feedback.Action
}

// A user that is added is no reason to touch a node.
func TestAUserIsAddedLater(t *testing.T) {
	t.Parallel()
	s := begin(t, "user-added")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders")})
	s.run()
	s.done("orders")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with("spec.users.1", user("report")))})
	s.until("the Secret is missed", func() bool { return slices.Contains(s.reasons("orders"), "secret-missing") })
	s.appSecret("report-password")
	s.until("the new user logs in", func() bool {
		_, err := s.query("orders", "report", appPassword, "SELECT 1")
		return err == nil
	})
	s.done("orders")
	s.noPodRestarted()
}

func TestAGroupGrows(t *testing.T) {
	t.Parallel()
	needing(t, nodes(5))
	s := begin(t, "grow")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 3))})
	receiver := testbed.NewReceiver(nil)
	t.Cleanup(receiver.Close)
	s.start(testbed.DaemonOptions{Args: s.fromDir(), Env: []string{"WEBHOOK_URL=" + receiver.URL()}})
	s.done("orders")

	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 5))})
	s.until("the webhook of the scale", func() bool {
		return slices.ContainsFunc(receiver.Taken(), func(d testbed.Delivery) bool { return d.Event == "scale" && d.Status == "success" })
	})
	s.done("orders")
	rows, err := s.query("orders", "app", appPassword, "SELECT count(*) FROM sys.nodes")
	require.NoError(t, err)
	assert.Equal(t, [][]string{{"5"}}, rows)
	assert.Empty(t, s.rows("orders", "SELECT node_id FROM sys.node_checks WHERE id = 1 AND acknowledged = FALSE AND passed = FALSE"), "node check 1 that nobody acknowledged")
	command := s.set("crate-data-hot-orders").Spec.Template.Spec.Containers[0].Command
	assert.Contains(t, command, "-Cgateway.expected_data_nodes=5")
	assert.Contains(t, command, "-Cgateway.recover_after_data_nodes=3")
	s.noPodRestarted()

	for _, delivery := range receiver.Taken() {
		if delivery.Event != "scale" {
			continue
		}
		var body struct {
			Scale struct {
				Old []map[string]any `json:"old_data_replicas"`
				New []map[string]any `json:"new_data_replicas"`
			} `json:"scale_data"`
		}
		require.NoError(t, json.Unmarshal(delivery.Body, &body))
		assert.Equal(t, []map[string]any{{"name": "hot", "replicas": 3.0}}, body.Scale.Old)
		assert.Equal(t, []map[string]any{{"name": "hot", "replicas": 5.0}}, body.Scale.New)
	}
}

// Three dedicated masters, two tiers, TLS: the tiers example in small.
func TestAClusterWithDedicatedMastersGrows(t *testing.T) {
	t.Parallel()
	needing(t, nodes(6))
	s := begin(t, "tiers")
	s.appSecret("app-password")
	masters := map[string]any{"replicas": 3, "resources": resources()}
	base := []edit{with("spec.nodes.master", masters), with("spec.nodes.data.1", group("cold", 1))}
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", base...)})
	s.run()
	s.done("orders")
	assert.Equal(t, [][]string{{"data-cold-0"}, {"data-hot-0"}, {"master-0"}, {"master-1"}, {"master-2"}}, s.rows("orders", "SELECT name FROM sys.nodes ORDER BY name"))

	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", append(base, with("spec.nodes.data.1.replicas", 2))...)})
	s.until("the new node has joined", func() bool {
		return len(s.rows("orders", "SELECT name FROM sys.nodes")) == 6
	})
	s.done("orders")
	for name, nodes := range map[string]int{
		names.StatefulSet("orders", names.MasterGroup, true): 3,
		names.StatefulSet("orders", "hot", false):            1,
		names.StatefulSet("orders", "cold", false):           2,
	} {
		assert.EqualValues(t, nodes, *s.set(name).Spec.Replicas, name)
	}
	s.noPodRestarted()
}

// What changes in place does not wait for an operation, nor disturb it: a
// network that has to be shut out is shut out now.
func TestChangesInPlaceDoNotWaitForAnOperation(t *testing.T) {
	t.Parallel()
	waits := func(stableFor string) edit {
		return with("spec.operations", map[string]any{"stableFor": stableFor, "masterStableFor": "1s"})
	}
	v := departRestart(t, "in-place-restart", with("spec.cluster.allowedCIDRs", []string{"192.0.2.0/24"}))
	v.edits = append(v.edits, with("spec.nodes.data.0.resources.limits.memory", "2Gi"))
	v.define(waits("1h"))
	daemon := v.sail("", "")
	v.until("the restart waits", func() bool { return v.record(cutCluster).Operation != nil })

	v.edits = append(v.edits,
		with("spec.cluster.allowedCIDRs", []string{"198.51.100.0/24"}),
		with("spec.cluster.service.annotations", map[string]any{"example.com/team": "payments"}),
		with("spec.nodes.data.0.labels", map[string]any{"example.com/tier": "gold"}))
	v.define(waits("1h"))
	v.until("the changes are applied", func() bool {
		service := v.service("crate-orders")
		return slices.Equal(service.Spec.LoadBalancerSourceRanges, []string{"198.51.100.0/24"}) &&
			service.Annotations["example.com/team"] == "payments" &&
			v.set("crate-data-hot-orders").Spec.Template.Labels["example.com/tier"] == "gold"
	})
	assert.NotNil(t, v.record(cutCluster).Operation, "the restart is still under way")
	v.noPodRestarted()

	v.define()
	v.eventually("the restart has ended", restartPatience, v.restartEnded)
	v.stop(daemon)
	v.arrived()
}
