// Package scale adds nodes, and drains and removes them.
package scale
