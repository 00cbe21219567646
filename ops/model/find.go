package model

import "strings"

// Find is the first one for which `is` holds; nil for none. They may be large, so none is copied.
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
