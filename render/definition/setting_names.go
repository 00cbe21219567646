package definition

import (
	_ "embed"
	"path"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/spelling"
	"stevedore.dev/stevedore/render/internal/located"
)

//go:embed setting_names.txt
var settingNamesText string

// settingNames are exact names, settingPatterns those with a star.
var settingNames, settingPatterns = func() (exact, patterns []string) {
	for line := range strings.Lines(settingNamesText) {
		switch line = strings.TrimSpace(line); {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.Contains(line, "*"):
			patterns = append(patterns, line)
		default:
			exact = append(exact, line)
		}
	}
	return exact, patterns
}()

// knownSetting: some version of CrateDB has a setting of that name.
func knownSetting(name string) bool {
	if _, found := slices.BinarySearch(settingNames, name); found {
		return true
	}
	return slices.ContainsFunc(settingPatterns, func(pattern string) bool {
		matches, err := path.Match(pattern, name)
		return err == nil && matches
	})
}

// nearSetting is the name that was most likely meant; "" for none.
func nearSetting(name string) string {
	if near := spelling.Nearest(name, settingNames); near != "" {
		return near
	}
	// The end of a long name is what people remember.
	var found string
	for _, known := range settingNames {
		if strings.HasSuffix(known, "."+name) {
			if found != "" {
				return ""
			}
			found = known
		}
	}
	return found
}

// unknownSettings warns of settings that no version of CrateDB had when this was
// written. It refuses none: the next version has new ones.
func unknownSettings(n *yaml.Node, warn reporter) {
	look := func(at *yaml.Node, path []any) {
		for _, p := range located.Pairs(located.Get(at, "settings")) {
			name := p.Key.Value
			switch {
			case p.Key.Kind != yaml.ScalarNode, p.Value.Kind != yaml.ScalarNode, located.IsNull(p.Value),
				strings.HasPrefix(name, "$"), checkSettingName(name) != "", checkSettingValue(p.Value.Value) != "":
				continue // it is said to be wrong already, or a patch takes it out
			case knownSetting(name):
				continue
			}
			message := "unknown setting " + strconv.Quote(name)
			if near := nearSetting(name); near != "" {
				message += ": did you mean " + near + "?"
			} else {
				message += ": it is in no manual up to CrateDB " + knownUpTo
			}
			warn(p.Key, append(slices.Clone(path), "settings", name), message+" (a node does not start with a setting that its version does not know)")
		}
	}
	look(located.Get(n, "spec", "cluster"), []any{"spec", "cluster"})
	look(located.Get(n, "spec", "nodes", names.MasterGroup), []any{"spec", "nodes", names.MasterGroup})
	for i, group := range located.Items(located.Get(n, "spec", "nodes", "data")) {
		look(group, []any{"spec", "nodes", "data", i})
	}
}
