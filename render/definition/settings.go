package definition

import (
	"regexp"
	"strings"
)

var settingPattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// reservedSettings are those whose override would take a node's identity, its
// place in the cluster or its data's place on a volume. crate-operator writes
// the definition's own settings last, so there they silently win.
var reservedSettings = []struct{ prefix, reason string }{
	{"cluster.name", "comes from spec.cluster.name"},
	{"cluster.initial_master_nodes", "is written once, when the cluster is created: later it would found a second cluster"},
	{"node.name", "comes from the pod's name: two nodes of one name cannot join"},
	{"node.master", "comes from spec.nodes.master and the order of the groups"},
	{"node.data", "comes from the group"},
	{"path.data", "would put data outside of the volumes, where it is lost with the pod"},
	{"path.home", "is the image's"},
	{"path.conf", "is the image's"},
	{"blobs.path", "would put data outside of the volumes, where it is lost with the pod"},
	{"discovery.seed_providers", "nodes find each other through the discovery service: another way would join another cluster or none"},
	{"discovery.seed_hosts", "nodes find each other through the discovery service: another way would join another cluster or none"},
	{"discovery.type", "nodes find each other through the discovery service: another way would join another cluster or none"},
	{"discovery.srv.query", "nodes find each other through the discovery service: another way would join another cluster or none"},
	{"auth.host_based.enabled", "is always on, without it everyone is the superuser: leave it out"},
	{"auth.host_based.config.0.", "entry 0 lets the superuser in from its own node, which bootstrap needs: take another number"},
	{"auth.host_based.config.99.", "entry 99 asks everyone for a password: take a smaller number, it wins"},
	{"cluster.routing.allocation.enable", "operations hold it around a restart, and give it back"},
	{"cluster.routing.allocation.exclude._id", "operations exclude the nodes that are to leave by it: write exclude._name for nodes of your own choice"},
	{"http.port", "write spec.ports.http"},
	{"psql.port", "write spec.ports.postgres"},
	{"transport.tcp.port", "write spec.ports.transport"},
	{"transport.port", "write spec.ports.transport"},
}

// CheckSetting says what is wrong with a setting that a definition would have, to follow its name; ""
// is well.
func CheckSetting(name, value string) string {
	if why := checkSettingName(name); why != "" {
		return why
	}
	return checkSettingValue(value)
}

func checkSettingName(name string) string {
	if !settingPattern.MatchString(name) {
		return "is no name of a setting: write it with dots, as in the manual"
	}
	for _, r := range reservedSettings {
		if name == strings.TrimSuffix(r.prefix, ".") || (strings.HasSuffix(r.prefix, ".") && strings.HasPrefix(name, r.prefix)) {
			return "cannot be set here: " + r.reason
		}
	}
	return ""
}

// checkSettingValue refuses what the shell that starts CrateDB would read as
// something else than the value.
func checkSettingValue(value string) string {
	if strings.ContainsAny(value, "$`\\\"';&|<>(){}# \t\r\n") {
		return "has a character that the shell which starts CrateDB would read (a space, a quote or one of $ ` \\ ; & | < > ( ) { } #): set it with SET GLOBAL PERSISTENT instead"
	}
	for _, r := range value {
		if r < 0x20 || r == 0x7f {
			return "has a control character"
		}
	}
	return ""
}
