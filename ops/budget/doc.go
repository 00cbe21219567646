// Package budget holds how many pods Kubernetes may evict at once.
package budget
