package model

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
)

// SettingType is how sys.cluster.settings shows a value.
type SettingType int

// The types of settings.
const (
	TextSetting SettingType = iota
	IntSetting
	FloatSetting
	BoolSetting
	TimeSetting
	BytesSetting
	WatermarkSetting
	// ListSetting is a comma list that SQL shows as an array.
	ListSetting
)

// Setting is a setting that SQL shows.
type Setting struct {
	Name    string
	Type    SettingType
	Default string
	Live    bool // SET GLOBAL may change it
	Values  []string
}

// Settings are what sys.cluster.settings shows, by name.
var Settings = func() []Setting {
	var out []Setting
	add := func(typ SettingType, live bool, def string, names ...string) {
		for _, n := range names {
			out = append(out, Setting{Name: n, Type: typ, Default: def, Live: live})
		}
	}
	alloc := "cluster.routing.allocation."
	for _, f := range []string{"exclude", "include", "require"} {
		for _, k := range []string{"_name", "_id", "_ip", "_host"} {
			add(TextSetting, true, "", alloc+f+"."+k)
		}
	}
	enum := func(name, def string, values ...string) {
		out = append(out, Setting{Name: name, Default: def, Live: true, Values: values})
	}
	enum(alloc+"enable", "all", "all", "none", "primaries", "new_primaries")
	enum("cluster.routing.rebalance.enable", "all", "all", "none", "primaries", "replicas")
	enum(alloc+"allow_rebalance", "indices_all_active", "always", "indices_primaries_active", "indices_all_active")
	add(FloatSetting, true, "0.45", alloc+"balance.shard")
	add(FloatSetting, true, "0.55", alloc+"balance.index")
	add(FloatSetting, true, "1.0", alloc+"balance.threshold")
	add(IntSetting, true, "2", alloc+"cluster_concurrent_rebalance", alloc+"node_concurrent_recoveries")
	add(IntSetting, true, "4", alloc+"node_initial_primaries_recoveries")
	add(IntSetting, true, "-1", alloc+"total_shards_per_node")
	add(BoolSetting, true, "true", alloc+"disk.threshold_enabled")
	add(WatermarkSetting, true, "85%", alloc+"disk.watermark.low")
	add(WatermarkSetting, true, "90%", alloc+"disk.watermark.high")
	add(WatermarkSetting, true, "95%", alloc+"disk.watermark.flood_stage")
	add(ListSetting, true, "", alloc+"awareness.attributes")
	add(IntSetting, true, "1000", "cluster.max_shards_per_node")
	add(TimeSetting, true, "30s", "cluster.info.update.interval")
	enum("cluster.graceful_stop.min_availability", "PRIMARIES", "NONE", "PRIMARIES", "FULL")
	add(TimeSetting, true, "2h", "cluster.graceful_stop.timeout")
	add(BoolSetting, true, "false", "cluster.graceful_stop.force")
	for _, b := range []struct{ n, d string }{{"query", "60%"}, {"request", "60%"}, {"total", "95%"}} {
		add(BytesSetting, true, b.d, "indices.breaker."+b.n+".limit")
	}
	add(BytesSetting, true, "40mb", "indices.recovery.max_bytes_per_sec")
	add(BoolSetting, true, "true", "stats.enabled")
	add(IntSetting, true, "10000", "stats.jobs_log_size", "stats.operations_log_size")
	add(TimeSetting, true, "0s", "stats.jobs_log_expiration", "stats.operations_log_expiration")
	add(TextSetting, true, "true", "stats.jobs_log_filter")
	add(TextSetting, true, "false", "stats.jobs_log_persistent_filter")
	add(TimeSetting, true, "24h", "stats.service.interval")
	add(BytesSetting, true, "40mb", "stats.service.max_bytes_per_sec")
	add(TimeSetting, true, "1m", "bulk.request_timeout")
	add(IntSetting, true, "8", "overload_protection.dml.initial_concurrency")
	add(IntSetting, true, "1", "overload_protection.dml.min_concurrency")
	add(IntSetting, true, "2000", "overload_protection.dml.max_concurrency")
	add(IntSetting, true, "25", "overload_protection.dml.queue_size")
	add(IntSetting, false, "-1", "gateway.expected_data_nodes", "gateway.recover_after_data_nodes", "gateway.expected_nodes", "gateway.recover_after_nodes")
	add(TimeSetting, false, "0ms", "gateway.recover_after_time")
	add(BoolSetting, false, "true", "udc.enabled")
	add(TimeSetting, false, "10m", "udc.initial_delay")
	add(TimeSetting, false, "24h", "udc.interval")
	add(TextSetting, false, "https://udc.crate.io/", "udc.url")
	slices.SortFunc(out, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) })
	return out
}()

var settingIndex = func() map[string]*Setting {
	m := make(map[string]*Setting, len(Settings))
	for i := range Settings {
		m[Settings[i].Name] = &Settings[i]
	}
	return m
}()

// awarenessForce begins the settings of forced awareness: a group, which SQL shows as the node was started.
const awarenessForce = allocationPrefix + "awareness.force."

// nodeOnly are settings of crate.yml that no SQL shows or sets. A name that ends in a dot
// is a family.
var nodeOnly = []string{
	"auth.", "blobs.path", "bootstrap.", "cluster.initial_master_nodes", "cluster.name", awarenessForce,
	"cluster.routing.allocation.same_shard.host", "cluster.election.", "cluster.fault_detection.", "cluster.join.timeout", "cluster.publish.timeout", "cluster.blocks.read_only",
	"cluster.auto_shrink_voting_configuration", "cluster.service.", "cluster.indices.", "cluster.persistent_tasks.", "cluster.follower_lag.", "cluster.no_master_block", "cluster.nodes.reconnect_interval",
	"discovery.", "gateway.", "http.", "indices.", "lang.", "license.", "logger.", "memory.", "monitor.", "network.", "node.name", "node.master",
	"node.data", "node.attr.", "node.sql.", "node.store.", "node.max_local_storage_nodes", "path.", "pidfile", "processors", "psql.", "repositories.",
	"replication.", "ssl.", "stats.", "thread_pool.", "transport.", "udc.", "bulk.", "overload_protection.", "es.", "s3.", "cache.", "foreign_data_wrapper.", "fdw.", "action.", "crate.", "statement_timeout", "sessions.", "write.", "routing.", "mvcc.", "legacy.", "node.processors",
}

// CheckStartSettings refuses what CrateDB would refuse at its start, in its words.
func CheckStartSettings(settings map[string]string) error {
	for _, name := range sortedKeys(settings) {
		known := settingIndex[name] != nil
		for _, p := range nodeOnly {
			known = known || p == name || strings.HasSuffix(p, ".") && strings.HasPrefix(name, p)
		}
		if !known {
			return fmt.Errorf("java.lang.IllegalArgumentException: unknown setting [%s] please check that any required plugins are installed, or check the breaking changes documentation for removed settings", name)
		}
		if s := settingIndex[name]; s != nil {
			if err := s.check(settings[name]); err != nil {
				return fmt.Errorf("java.lang.IllegalArgumentException: %s", err.Message)
			}
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func settingBool(s string) bool { return s == "true" }

var durationText = regexp.MustCompile(`^(\d+(?:\.\d+)?)(nanos|micros|ms|s|m|h|d)$`)

// ParseDuration reads CrateDB's time values: 500ms, 1m, 2h, 0; ok is false for "".
func ParseDuration(s string) (time.Duration, bool) {
	if s == "0" || s == "-1" {
		return 0, true
	}
	m := durationText.FindStringSubmatch(s)
	if m == nil {
		if ms, err := strconv.ParseInt(s, 10, 64); err == nil {
			return time.Duration(ms) * time.Millisecond, true
		}
		return 0, false
	}
	f, _ := strconv.ParseFloat(m[1], 64)
	unit := map[string]time.Duration{"nanos": 1, "micros": time.Microsecond, "ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}[m[2]]
	return time.Duration(f * float64(unit)), true
}

func (s *Setting) check(v string) *Error {
	bad := func(kind string) *Error {
		return ErrIllegalArgument("Failed to parse value [%s] for setting [%s]%s", v, s.Name, kind)
	}
	switch s.Type {
	case IntSetting:
		if _, err := strconv.Atoi(v); err != nil {
			return bad("")
		}
	case FloatSetting:
		if _, err := strconv.ParseFloat(v, 64); err != nil {
			return bad("")
		}
	case BoolSetting:
		if v != "true" && v != "false" {
			return bad(" as only [true] or [false] are allowed.")
		}
	case TimeSetting:
		if _, ok := ParseDuration(v); !ok {
			return ErrIllegalArgument("failed to parse setting [%s] with value [%s] as a time value: unit is missing or unrecognized", s.Name, v)
		}
	case BytesSetting:
		_, isBytes := allocation.ParseBytes(v)
		if _, isPercent := allocation.ParsePercent(v); !isBytes && !isPercent {
			return ErrIllegalArgument("failed to parse setting [%s] with value [%s] as a size in bytes: unit is missing or unrecognized", s.Name, v)
		}
	case WatermarkSetting:
		_, isBytes := allocation.ParseBytes(v)
		if _, isPercent := allocation.ParsePercent(v); !isBytes && !isPercent {
			return ErrIllegalArgument("failed to parse setting [%s] with value [%s] as a size in bytes: unit is missing or unrecognized", s.Name, v)
		}
	}
	if len(s.Values) > 0 && !slices.ContainsFunc(s.Values, func(w string) bool { return strings.EqualFold(v, w) }) {
		return ErrIllegalArgument("Illegal %s value [%s]", s.Name[strings.LastIndex(s.Name, ".")+1:], v)
	}
	return nil
}

// Assignment is one "name = value" of SET GLOBAL.
type Assignment struct {
	Name  string
	Value *string // nil is NULL
}

// settingsBelow are the settings that a name stands for: itself, or all that begin with
// it, letter by letter, as CrateDB matches them.
func settingsBelow(name string) []*Setting {
	var out []*Setting
	for i := range Settings {
		if strings.HasPrefix(Settings[i].Name, name) {
			out = append(out, &Settings[i])
		}
	}
	return out
}

func lookUpSetting(name string, reset bool) ([]*Setting, *Error) {
	if s := settingIndex[name]; s != nil {
		if !s.Live {
			return nil, errNotLive(name)
		}
		if !reset {
			return []*Setting{s}, nil
		}
	}
	// A path that ends inside the tree of settings; without the dot a RESET of a prefix
	// such as "cluster.routing.allocation.excl" is no setting.
	if !slices.ContainsFunc(Settings, func(s Setting) bool { return s.Name == name || strings.HasPrefix(s.Name, name+".") }) {
		return nil, ErrIllegalArgument("Setting '%s' is not supported", name)
	}
	var out []*Setting
	for _, s := range settingsBelow(name) {
		if !s.Live {
			return nil, errNotLive(s.Name)
		}
		out = append(out, s)
	}
	return out, nil
}

// SetGlobal is SET GLOBAL: all assignments or none. Without a level CrateDB means
// transient (5.10.0 to 5.10.2 persisted it by mistake).
func (n *Node) SetGlobal(persistent bool, assignments []Assignment) *Error {
	for _, a := range assignments {
		if strings.HasPrefix(a.Name, "logger.") {
			continue
		}
		found, err := lookUpSetting(a.Name, false)
		if err != nil {
			return err
		}
		if a.Value == nil {
			return ErrIllegalArgument("Cannot set \"%s\" to `null`. Use `RESET [GLOBAL] \"%s\"` to reset a setting to its default value", a.Name, a.Name)
		}
		if len(found) != 1 || found[0].Name != a.Name {
			return ErrIllegalArgument("Setting '%s' is not supported", a.Name)
		}
		if err := found[0].check(*a.Value); err != nil {
			return err
		}
	}
	if err := n.ChangeGate(); err != nil {
		return err
	}
	c := n.cluster
	scope := c.transient
	if persistent {
		scope = c.persistent
	}
	// Watermarks are checked together: percentages and sizes do not mix.
	next := map[string]string{}
	for _, a := range assignments {
		next[a.Name] = *a.Value
	}
	if err := c.checkWatermarks(next); err != nil {
		return err
	}
	for _, a := range assignments {
		scope[a.Name] = *a.Value
	}
	return c.settingsChanged()
}

func (c *Cluster) checkWatermarks(next map[string]string) *Error {
	var percents, sizes int
	for _, k := range []string{"low", "high", "flood_stage"} {
		name := "cluster.routing.allocation.disk.watermark." + k
		v, ok := next[name]
		if !ok {
			v = c.Setting(name)
		}
		if _, isPercent := allocation.ParsePercent(v); isPercent {
			percents++
		} else {
			sizes++
		}
	}
	if percents > 0 && sizes > 0 {
		return ErrIllegalArgument("unable to consistently parse [cluster.routing.allocation.disk.watermark.low=%s], [cluster.routing.allocation.disk.watermark.high=%s], and [cluster.routing.allocation.disk.watermark.flood_stage=%s] as percentage or bytes",
			c.Setting("cluster.routing.allocation.disk.watermark.low"), c.Setting("cluster.routing.allocation.disk.watermark.high"), c.Setting("cluster.routing.allocation.disk.watermark.flood_stage"))
	}
	return nil
}

// ResetGlobal is RESET GLOBAL: it clears both scopes and everything that begins with the
// name. Loggers are reset by their exact name only.
func (n *Node) ResetGlobal(names []string) *Error {
	var all []string
	for _, name := range names {
		if strings.HasPrefix(name, "logger.") {
			all = append(all, name)
			continue
		}
		found, err := lookUpSetting(name, true)
		if err != nil {
			return err
		}
		for _, s := range found {
			all = append(all, s.Name)
		}
	}
	if err := n.ChangeGate(); err != nil {
		return err
	}
	c := n.cluster
	next := map[string]string{}
	for _, name := range all {
		if value, ok := n.Settings[name]; ok {
			next[name] = value
		} else if s := settingIndex[name]; s != nil {
			next[name] = s.Default
		}
	}
	if err := c.checkWatermarks(next); err != nil {
		low := allocationPrefix + "disk.watermark.low"
		to, ok := next[low]
		if !ok {
			to = c.Setting(low)
		}
		return ErrIllegalArgument("illegal value can't update [%s] from [%s] to [%s]", low, c.Setting(low), to)
	}
	for _, name := range all {
		delete(c.transient, name)
		delete(c.persistent, name)
	}
	return c.settingsChanged()
}

// settingsChanged follows a change of the cluster's settings or of a table's. They are stored
// also where the reroute after them fails (TransportClusterUpdateSettings).
func (c *Cluster) settingsChanged() *Error {
	c.expandReplicas()
	c.shardEvent = true
	c.m.touch()
	c.m.settle()
	if c.frozen != nil {
		return errorOf("ElasticsearchException", "XX000", 500, 5000, "reroute after update settings failed")
	}
	return nil
}

// Setting is the value in effect for allocation: transient, persistent, the master's
// crate.yml, the default.
func (c *Cluster) Setting(name string) string { return c.settingOn(c.master, name) }

func (c *Cluster) settingOn(n *Node, name string) string {
	if v, ok := c.given(n, name); ok {
		return v
	}
	if s := settingIndex[name]; s != nil {
		return s.Default
	}
	return ""
}

// given is the value that somebody has set, an empty one included.
func (c *Cluster) given(n *Node, name string) (value string, ok bool) {
	if v, ok := c.transient[name]; ok {
		return v, true
	}
	if c.recovered {
		if v, ok := c.persistent[name]; ok {
			return v, true
		}
	}
	if n != nil {
		if v, ok := n.Settings[name]; ok {
			return v, true
		}
	}
	return "", false
}

func (c *Cluster) settingInt(name string) int {
	v, _ := strconv.Atoi(c.Setting(name))
	return v
}

// Forced are the values of cluster.routing.allocation.awareness.force.ATTRIBUTE.values that the node was started with.
func (n *Node) Forced(attribute string) []string {
	if n == nil {
		return nil
	}
	return splitList(n.Settings[awarenessForce+attribute+".values"])
}

// ForcedAttributes are those of which it was started with such values, as text.
func (n *Node) ForcedAttributes() map[string]string {
	out := map[string]string{}
	for name, value := range n.Settings {
		if attribute, ok := strings.CutPrefix(name, awarenessForce); ok {
			out[strings.TrimSuffix(attribute, ".values")] = value
		}
	}
	return out
}

// EffectiveSetting is what the node shows in sys.cluster.settings.
func (n *Node) EffectiveSetting(name string) string {
	if n.cluster == nil {
		if v, ok := n.Settings[name]; ok {
			return v
		}
		if s := settingIndex[name]; s != nil {
			return s.Default
		}
		return ""
	}
	return n.cluster.settingOn(n, name)
}
