// Package setting holds what is set in the database and given back: cluster settings, the
// allocation lock of a restart, and the exclusions of a drain.
package setting
