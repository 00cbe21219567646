// Package rollout restarts pods, one or a zone at a time, also onto another version, and
// replaces a pod that is stuck.
package rollout
