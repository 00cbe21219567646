package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

// sited is a group whose nodes are in a site, an attribute that keeps copies apart.
func sited(name string, replicas int, site string) map[string]any {
	g := group(name, replicas)
	g["settings"] = map[string]any{"node.attr.site": site}
	return g
}

const awareness = "cluster.routing.allocation.awareness."

// A table with a copy in each of three sites is written to while the last node of one site leaves. As long as that site is
// forced the node stays.
func TestTheLastNodeOfAZoneLeavesByConsent(t *testing.T) {
	t.Parallel()
	needing(t, nodes(5))
	settings := func(more ...string) edit {
		all := map[string]any{awareness + "attributes": "site"}
		for _, sites := range more {
			all[awareness+"force.site.values"] = sites
		}
		return with("spec.cluster.settings", all)
	}
	v := departShrink(t, "shrink-zone", with("spec.nodes.data", []any{sited("hot", 3, "a"), sited("warm", 1, "b"), sited("cold", 1, "c")}), settings("a,b,c"))
	gone := with("spec.nodes.data.2.replicas", 0)
	daemon := v.sail("", "")
	v.settled(cutCluster)

	v.define(gone)
	v.refusedFor(cutCluster, "last-node-of-zone")
	v.refusedWith(cutCluster, "last-node-of-zone", "1 table(s) or partition(s) would stay yellow, also with the consent leave-zone: doc.two")
	v.define(gone, scaling("leave-zone"))
	v.throughout("nobody is excluded", 3*time.Second, func() bool { return v.record(cutCluster).Exclusions == nil })
	v.refusedFor(cutCluster, "last-node-of-zone")

	v.define(settings())
	v.eventually("the nodes have restarted without forced sites", restartPatience, func() bool {
		forced := func(p corev1.Pod) bool {
			return slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool {
				return strings.Contains(strings.Join(append(c.Command, c.Args...), " "), awareness+"force")
			})
		}
		return v.isSettled(cutCluster) && !slices.ContainsFunc(v.clusterPods(cutCluster), forced)
	})
	v.define(settings(), gone)
	v.refusedWith(cutCluster, "last-node-of-zone", "add leave-zone to spec.operations.consent")
	v.define(settings(), gone, scaling("leave-zone"))
	v.eventually("the node has left", restartPatience, func() bool { return v.scaled("crate-data-cold-orders", 0) })
	v.eventually("its copies are recreated in the other sites", restartPatience, func() bool {
		return len(v.rows(cutCluster, "SELECT table_name FROM sys.health WHERE health <> 'GREEN'")) == 0
	})
	v.shrunk(4)
	assert.Equal(t, [][]string{{"6"}}, v.rows(cutCluster, "SELECT count(*) FROM sys.shards WHERE table_name = 'two' AND routing_state = 'STARTED'"))
	v.untilEvent(cutCluster, "ShrinkSucceeded")
	for _, event := range v.events(cutCluster) {
		if event.Reason == "ShrinkSucceeded" {
			assert.Contains(t, event.Message, "the nodes left with copies of doc.two, each of which is started on a node that stays too")
		}
	}
	v.stop(daemon)
}
