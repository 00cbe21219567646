// Package manifest reads and writes Kubernetes objects for a decision: it makes typed values
// of rendered ones, compares them with those before, and makes the effective ones.
package manifest
