// Package compute gives running pods other CPU and memory, without a restart.
package compute
