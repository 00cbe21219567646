// Package model has the types that a decision goes by: what is desired, observed and
// recorded, and what is decided. It decides nothing.
package model
