// Command cratedb-node is one simulated CrateDB process.
package main

import (
	"os"

	"stevedore.dev/stevedore/internal/cratesim"
)

func main() { os.Exit(cratesim.NodeMain(os.Args[1:])) }
