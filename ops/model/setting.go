package model

import (
	"slices"
	"strings"
	"time"
)

// ExcludeSetting is the list of node ids that get no shards.
const ExcludeSetting = "cluster.routing.allocation.exclude._id"

// Ours are the ids that were not on the list before.
func (x *Exclusions) Ours() []string {
	before := Listed(x.Before)
	return slices.DeleteFunc(Listed(x.IDs), func(id string) bool { return slices.Contains(before, id) })
}

// Setting is a cluster setting and its value, as a definition writes it.
type Setting struct{ Name, Value string }

// SettingList is settings sorted by name, a line each: "name=value".
type SettingList string

// Settings of the list.
func (l SettingList) Settings() []Setting {
	var out []Setting
	for line := range strings.SplitSeq(string(l), "\n") {
		if name, value, ok := strings.Cut(line, "="); ok {
			out = append(out, Setting{Name: name, Value: value})
		}
	}
	return out
}

// Get returns the value of a setting; ok is false where the list lacks it.
func (l SettingList) Get(name string) (value string, ok bool) {
	for line := range strings.SplitSeq(string(l), "\n") {
		if rest, found := strings.CutPrefix(line, name); found && strings.HasPrefix(rest, "=") {
			return rest[1:], true
		}
	}
	return "", false
}

// Words are the settings that have a value, for a person: "name = 'value', …".
func (l SettingList) Words() string {
	var all []string
	for _, s := range l.Settings() {
		if s.Value != "" {
			all = append(all, s.Name+" = '"+s.Value+"'")
		}
	}
	return strings.Join(all, ", ")
}

func (l SettingList) names() string {
	var all []string
	for _, s := range l.Settings() {
		all = append(all, s.Name)
	}
	return strings.Join(all, ", ")
}

// RecordedSetting is a cluster setting that we have set, or are about to set.
type RecordedSetting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Before is what CrateDB showed when it was decided.
	Before string `json:"before,omitempty"`
	// Ours is the value that we had set before this one; "" for none.
	Ours string `json:"ours,omitempty"`
	// Set is when the statement last went out; zero before that.
	Set time.Time `json:"set"`
	// Read is true once it was read back, by whoever set it or by a reading, and Done once
	// all nodes were seen to show it.
	Read bool `json:"read,omitempty"`
	Done bool `json:"done,omitempty"`
	// Changed is what somebody has made of it since; "" while it is ours.
	Changed string `json:"changed,omitempty"`
	// Reset is true once it is to be taken off, and Gone when that was done.
	Reset bool `json:"reset,omitempty"`
	Gone  bool `json:"gone,omitempty"`
}
