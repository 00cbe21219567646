package shape

import (
	"bytes"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
)

// exported reads the types of what the core imports from what the compiler has left in
// Go's cache: to read them from source would take all of Kubernetes' types each time.
func exported(root string, fset *token.FileSet) (types.Importer, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./"+core+"/...")
	list.Dir = root
	// As `make lint` has built them, also where a test runs with the race detector.
	list.Env = append(os.Environ(), "CGO_ENABLED=0")
	var said bytes.Buffer
	list.Stderr = &said
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list ./%s/...: %w\n%s", core, err, said.String())
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if name, file, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			files[name] = file
		}
	}
	return importer.ForCompiler(fset, "gc", func(name string) (io.ReadCloser, error) {
		if files[name] == "" {
			return nil, errors.New("the go command has no types of it")
		}
		return os.Open(files[name])
	}), nil
}
