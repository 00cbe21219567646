package model

import (
	"encoding/json"
	"slices"
)

// VerifiedTemplate is a set, and its verified template: a pod of it has joined on that.
type VerifiedTemplate struct {
	Set      string `json:"set"`
	Template string `json:"template"`
}

// AdoptedTemplate stands for the hash of a pod template that was adopted: another tool has made it,
// and it has none. Pods of it have none either.
const AdoptedTemplate = "adopted"

// AdoptedSet is a StatefulSet that was adopted from another tool, and has or had its pod template.
type AdoptedSet struct {
	Set string `json:"set"`
	// From is the tool that made the template, "crate-operator"; "" where nobody says.
	From string `json:"from,omitempty"`
	// Desired is the hash of the template that the definition asked for when the set was first seen
	// (Set.Template); "" until then.
	Desired string `json:"desired,omitempty"`
}

// adoptedNote is the annotation of a StatefulSet.
type adoptedNote struct {
	From    string `json:"from,omitempty"`
	Desired string `json:"desired,omitempty"`
}

// Annotation says the same on the StatefulSet.
func (a *AdoptedSet) Annotation() string {
	text, err := json.Marshal(adoptedNote{From: a.From, Desired: a.Desired})
	if err != nil {
		return "{}"
	}
	return string(text)
}

// AdoptedOf reads the annotation of a StatefulSet. One that nobody can read says that it was
// adopted, and nothing else.
func AdoptedOf(set, annotation string) AdoptedSet {
	var note adoptedNote
	if json.Unmarshal([]byte(annotation), &note) != nil {
		note = adoptedNote{}
	}
	return AdoptedSet{Set: set, From: note.From, Desired: note.Desired}
}

// AdoptedSet is what is recorded of an adopted StatefulSet; nil where it was not adopted, or has
// nothing of that any more.
func (r *Record) AdoptedSet(set string) *AdoptedSet {
	if i := slices.IndexFunc(r.Adopted, func(a AdoptedSet) bool { return a.Set == set }); i >= 0 {
		return &r.Adopted[i]
	}
	return nil
}

// KeepsAdopted reports whether the definition asks of an adopted StatefulSet for the same pod
// template as when it was first seen, and for the version that runs.
func (r *Record) KeepsAdopted(d *Desired, set string) bool {
	a := r.AdoptedSet(set)
	if a == nil || r.Version != "" && r.Version != d.Version {
		return false
	}
	i := slices.IndexFunc(d.Sets, func(s Set) bool { return s.Name == set })
	return i < 0 || a.Desired == "" || d.Sets[i].Template == "" || a.Desired == d.Sets[i].Template
}

// FromSomebody is AdoptedSet.From of a StatefulSet that no tool has made that stevedore knows.
const FromSomebody = "whoever wrote its StatefulSet"
