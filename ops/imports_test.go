package ops_test

import (
	"go/build"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Decisions and executors reach nothing by themselves.
func TestNoClientIsImported(t *testing.T) {
	for _, dir := range []string{".", "./gates", "./execute", "./plan"} {
		p, err := build.ImportDir(dir, 0)
		require.NoError(t, err)
		for _, name := range p.Imports {
			for _, refused := range []string{"net", "net/http", "os", "os/exec", "sync", "math/rand", "math/rand/v2", "crypto/rand"} {
				assert.NotEqual(t, refused, name, "%s imports %s", dir, name)
			}
		}
		out, err := exec.Command("go", "list", "-deps", dir).Output()
		require.NoError(t, err)
		for _, dependency := range strings.Fields(string(out)) {
			for _, refused := range []string{"k8s.io/client-go", "github.com/jackc/pgx", "sigs.k8s.io/kustomize/api", "github.com/go-git"} {
				assert.False(t, strings.HasPrefix(dependency, refused), "%s depends on %s", dir, dependency)
			}
		}
	}
}
