package model

import (
	"encoding/json"
	"strconv"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/render/definition"
)

// NodePrefix is what CrateDB's names of the nodes of a group begin with. annotation is that of a
// StatefulSet that has its names from somebody else, "" for one of stevedore's.
func NodePrefix(annotation, group string, dedicated bool) string {
	var n definition.Names
	if annotation != "" && json.Unmarshal([]byte(annotation), &n) == nil && n.NodePrefix != "" {
		return n.NodePrefix
	}
	return names.NodePrefix(group, dedicated)
}

// Node is CrateDB's name of the node in the pod of this ordinal.
func (s *Set) Node(ordinal int) string {
	return NodePrefix(s.Names, s.Group, s.Dedicated) + "-" + strconv.Itoa(ordinal)
}
