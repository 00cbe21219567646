package view

import "slices"

// KeepsAdopted reports whether a set keeps the pod template that it was adopted with.
func KeepsAdopted(v *View, set string) bool { return slices.Contains(v.Adopted, set) }
