//go:build !faults

package fault

// Before marks that a write is about to leave.
func Before(string) {}

// After marks that a write was answered, whatever the answer.
func After(string) {}
