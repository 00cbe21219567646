// Package readme holds the test that does what README.md and docs/getting-started.md
// say, command by command, on a clean clone.
package readme
