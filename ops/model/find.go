package model

import (
	"iter"
	"slices"
	"strings"
)

// Each gives each of them in their order. They may be large, so none is copied.
func Each[T any](all []T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range all {
			if !yield(&all[i]) {
				return
			}
		}
	}
}

// Where are those for which `is` holds.
func Where[T any](all []T, is func(*T) bool) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range all {
			if is(&all[i]) && !yield(&all[i]) {
				return
			}
		}
	}
}

// Count is for how many of them `is` holds.
func Count[T any](all []T, is func(*T) bool) int {
	n := 0
	for i := range all {
		if is(&all[i]) {
			n++
		}
	}
	return n
}

// Find is the first one for which `is` holds; nil for none. It walks by index, as Where does: both are asked often, and over Each
// the question would be made on the heap.
func Find[T any](all []T, is func(*T) bool) *T {
	for i := range all {
		if is(&all[i]) {
			return &all[i]
		}
	}
	return nil
}

// Any reports whether `is` holds for one of them.
func Any[T any](all []T, is func(*T) bool) bool { return Find(all, is) != nil }

// Texts are what is said of each of them, but for those of which nothing is.
func Texts[T any](all []T, of func(*T) string) []string {
	var out []string
	for i := range all {
		if text := of(&all[i]); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// ClaimNames are the names of the claims for which `is` holds.
func ClaimNames(claims []Claim, is func(*Claim) bool) []string {
	return Texts(claims, func(c *Claim) string {
		if is(c) {
			return c.Name
		}
		return ""
	})
}

// PodNames are the names of the pods for which `is` holds.
func PodNames(pods []Pod, is func(*Pod) bool) []string {
	return Texts(pods, func(p *Pod) string {
		if is(p) {
			return p.Name
		}
		return ""
	})
}

// fewTexts are looked through faster than a map of them is made.
const fewTexts = 16

// Once is a list with each of these that it has not yet. It copies the list: of many texts a loop collects all, and asks once.
func Once(list []string, more ...string) []string {
	list = slices.Clip(list)
	if len(list)+len(more) > fewTexts {
		return onceOfMany(list, more)
	}
	for _, one := range more {
		if !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list
}

func onceOfMany(list, more []string) []string {
	seen := make(map[string]bool, len(list)+len(more))
	for _, one := range list {
		seen[one] = true
	}
	for _, one := range more {
		if !seen[one] {
			list, seen[one] = append(list, one), true
		}
	}
	return list
}

// Distinct sorts a list, and leaves out what it has twice.
func Distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// Own puts a copy in the place of what a record points to, and gives it to be changed: the record that was read stays as it is.
func Own[T any](of **T) *T {
	its := **of
	*of = &its
	return &its
}

// InList reports whether a comma list has an entry, as Listed reads it.
func InList(list, entry string) bool {
	for list != "" {
		var each string
		if each, list, _ = strings.Cut(list, ","); entry != "" && strings.TrimSpace(each) == entry {
			return true
		}
	}
	return false
}
