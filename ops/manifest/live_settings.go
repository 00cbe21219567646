package manifest

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/ops/model"
)

// TakenLive are the cluster settings that CrateDB takes while it runs: each has "Runtime: yes" in
// the manual (Configuration, Cluster-wide settings); about half of them were also set and read
// back on 6.4.3. Settings of loggers, filters by an attribute of the nodes and what the manual
// calls "Runtime: no" need a restart. cluster.routing.allocation.enable and exclude._id are held
// by operations, and no definition may name them.
//
// No name begins with another: RESET GLOBAL takes off all that begin with the name it is given.
var TakenLive = map[string]bool{
	"bulk.request_timeout":                                         true,
	"cluster.graceful_stop.force":                                  true,
	"cluster.graceful_stop.min_availability":                       true,
	"cluster.graceful_stop.timeout":                                true,
	"cluster.info.update.interval":                                 true,
	"cluster.max_shards_per_node":                                  true,
	"cluster.routing.allocation.allow_rebalance":                   true,
	"cluster.routing.allocation.awareness.attributes":              true,
	"cluster.routing.allocation.balance.index":                     true,
	"cluster.routing.allocation.balance.shard":                     true,
	"cluster.routing.allocation.balance.threshold":                 true,
	"cluster.routing.allocation.cluster_concurrent_rebalance":      true,
	"cluster.routing.allocation.disk.threshold_enabled":            true,
	"cluster.routing.allocation.disk.watermark.flood_stage":        true,
	"cluster.routing.allocation.disk.watermark.high":               true,
	"cluster.routing.allocation.disk.watermark.low":                true,
	"cluster.routing.allocation.exclude._host":                     true,
	"cluster.routing.allocation.exclude._ip":                       true,
	"cluster.routing.allocation.exclude._name":                     true,
	"cluster.routing.allocation.include._host":                     true,
	"cluster.routing.allocation.include._id":                       true,
	"cluster.routing.allocation.include._ip":                       true,
	"cluster.routing.allocation.include._name":                     true,
	"cluster.routing.allocation.node_concurrent_recoveries":        true,
	"cluster.routing.allocation.node_initial_primaries_recoveries": true,
	"cluster.routing.allocation.require._host":                     true,
	"cluster.routing.allocation.require._id":                       true,
	"cluster.routing.allocation.require._ip":                       true,
	"cluster.routing.allocation.require._name":                     true,
	"cluster.routing.allocation.total_shards_per_node":             true,
	"cluster.routing.rebalance.enable":                             true,
	"indices.breaker.query.limit":                                  true,
	"indices.breaker.request.limit":                                true,
	"indices.breaker.total.limit":                                  true,
	"indices.recovery.max_bytes_per_sec":                           true,
	"overload_protection.dml.initial_concurrency":                  true,
	"overload_protection.dml.max_concurrency":                      true,
	"overload_protection.dml.min_concurrency":                      true,
	"overload_protection.dml.queue_size":                           true,
	"stats.enabled":                                                true,
	"stats.jobs_log_expiration":                                    true,
	"stats.jobs_log_filter":                                        true,
	"stats.jobs_log_persistent_filter":                             true,
	"stats.jobs_log_size":                                          true,
	"stats.operations_log_expiration":                              true,
	"stats.operations_log_size":                                    true,
	"stats.service.interval":                                       true,
	"stats.service.max_bytes_per_sec":                              true,
}

// NewSettingList makes a list; the argument is not changed.
func NewSettingList(settings []model.Setting) model.SettingList {
	sorted := slices.SortedFunc(slices.Values(settings), func(a, b model.Setting) int { return strings.Compare(a.Name, b.Name) })
	var b strings.Builder
	for i, s := range sorted {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(s.Name + "=" + s.Value)
	}
	return model.SettingList(b.String())
}

// AttributePrefix begins the names of a node's own attributes, which it reads when it starts.
const AttributePrefix = "node.attr."

// settingsIn are the settings among a process's arguments for which `is` holds, under the names that it gives; the last one
// of a name counts.
func settingsIn(arguments []string, is func(name, value string) (string, bool)) model.SettingList {
	found := map[string]string{}
	for _, a := range arguments {
		if name, value, ok := argument(a); ok {
			if name, its := is(name, value); its {
				found[name] = value
			}
		}
	}
	var out []model.Setting
	for name, value := range found {
		out = append(out, model.Setting{Name: name, Value: value})
	}
	return NewSettingList(out)
}

// LiveArguments are the settings among a process's arguments that CrateDB takes live.
func LiveArguments(arguments []string) model.SettingList {
	return settingsIn(arguments, func(name, _ string) (string, bool) { return name, TakenLive[name] })
}

// AttributesOf are the node.attr.* of a StatefulSet's template, without that prefix. What a shell fills in is none of them.
func AttributesOf(set *unstructured.Unstructured) model.SettingList {
	return settingsIn(commandOf(set), func(name, value string) (string, bool) {
		attribute, is := strings.CutPrefix(name, AttributePrefix)
		return attribute, is && !strings.ContainsAny(value, "$`")
	})
}

// LiveArgumentsOf are those of a StatefulSet's template.
func LiveArgumentsOf(set *unstructured.Unstructured) model.SettingList {
	return LiveArguments(commandOf(set))
}

// commonSettings are the settings taken live that every node is to have alike,
// or none at all: one that a group has otherwise cannot be set for the cluster.
func commonSettings(objects []*unstructured.Unstructured) map[string]bool {
	var lists []model.SettingList
	for _, o := range crateSets(objects) {
		lists = append(lists, LiveArgumentsOf(o))
	}
	common := maps.Clone(TakenLive)
	for i, list := range lists {
		for _, other := range slices.Concat(lists[:i], lists[i+1:]) {
			for _, s := range list.Settings() {
				if value, ok := other.Get(s.Name); !ok || value != s.Value {
					delete(common, s.Name)
				}
			}
		}
	}
	return common
}

// crateSets are the StatefulSets that have nodes of CrateDB.
func crateSets(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool {
		return o.GetKind() != kindStatefulSet || len(commandOf(o)) == 0
	})
}

// LiveSettings are the settings taken live that every node is to have alike.
func LiveSettings(objects []*unstructured.Unstructured) []model.Setting {
	common := commonSettings(objects)
	sets := crateSets(objects)
	if len(sets) == 0 {
		return nil
	}
	return slices.DeleteFunc(LiveArgumentsOf(sets[0]).Settings(), func(s model.Setting) bool { return !common[s.Name] })
}
