// Command run prints the measures of package shape and fails where one is exceeded.
package main

import (
	"flag"
	"fmt"
	"os"

	"stevedore.dev/stevedore/internal/shape"
)

func main() {
	root := flag.String("root", ".", "the repository")
	list := flag.Bool("list", false, "print what each measure counts: functions, conditions, files")
	flag.Parse()
	if err := run(*root, *list); err != nil {
		fmt.Fprintln(os.Stderr, "shape: "+err.Error())
		os.Exit(1)
	}
}

func run(root string, list bool) error {
	tree, err := shape.Read(root)
	if err != nil {
		return err
	}
	results, err := shape.Check(tree, shape.Limits)
	if err != nil {
		return err
	}
	shape.Print(os.Stdout, results, list)
	if n := shape.Exceeded(results); n > 0 {
		return fmt.Errorf("%d of %d measures are worse than what is allowed: make the code simpler, or say in the commit why not", n, len(results))
	}
	return nil
}
