// Package volume makes volumes larger: the claims grow while CrateDB runs, then each
// StatefulSet is recreated around its pods, so that later ones get such claims too.
package volume
