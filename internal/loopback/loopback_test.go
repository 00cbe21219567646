package loopback

import (
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNobodyGetsAnAddressOfAnother(t *testing.T) {
	if os.Getenv("LOOPBACK_CHILD") != "" {
		prefix, err := Subnet()
		require.NoError(t, err)
		_, _ = os.Stdout.WriteString("prefix " + prefix + "\n")
		_, _ = os.Stdin.Read(make([]byte, 1))
		return
	}
	seen := map[string]bool{}
	take := func(prefix string) {
		require.False(t, seen[prefix], "%s was given twice", prefix)
		seen[prefix] = true
	}
	// More than a block has: the next one is claimed.
	for range 300 {
		prefix, err := Subnet()
		require.NoError(t, err)
		take(prefix)
	}
	// Other processes, whatever their numbers are.
	for range 3 {
		child := exec.Command(os.Args[0], "-test.run", "^TestNobodyGetsAnAddressOfAnother$")
		child.Env = append(os.Environ(), "LOOPBACK_CHILD=1")
		in, err := child.StdinPipe()
		require.NoError(t, err)
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		t.Cleanup(func() { _ = in.Close(); _ = child.Wait() })
		said := make([]byte, 64)
		n, err := out.Read(said)
		require.NoError(t, err)
		_, prefix, found := strings.Cut(strings.TrimSpace(strings.SplitN(string(said[:n]), "\n", 2)[0]), "prefix ")
		require.True(t, found, "%s", said[:n])
		take(prefix)
		block := prefix[:strings.LastIndex(strings.TrimSuffix(prefix, "."), ".")+1]
		for of := range seen {
			assert.True(t, of == prefix || !strings.HasPrefix(of, block), "%s is in the block of another process, %s", prefix, of)
		}
	}
}

func TestEachClaimIsAnotherBlockAndItsAddressesCanBeListenedOn(t *testing.T) {
	one, err := Claim()
	require.NoError(t, err)
	t.Cleanup(one.Release)
	other, err := Claim()
	require.NoError(t, err)
	t.Cleanup(other.Release)
	assert.NotEqual(t, one.Second, other.Second)
	l, err := net.Listen("tcp", one.Address(1, 2).String()+":0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
}

// Two test processes listened on one address, each with its own cluster's password: both
// failed, with words that named neither the address nor the other process.
func TestAddressesOfTheLoopbackNetworkAreMadeHereOnly(t *testing.T) {
	made := regexp.MustCompile(`"@?[a-z-]*127\.%`)
	seen := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		for i, line := range strings.Split(string(text), "\n") {
			if !made.MatchString(line) {
				continue
			}
			if seen++; !strings.HasPrefix(path, "../../internal/loopback/") && !strings.Contains(line, "-hub\"") {
				t.Errorf("%s:%d makes an address that another process may have: %s: ask for loopback.Subnet", path, i+1, strings.TrimSpace(line))
			}
		}
		return err
	}))
	assert.NotZero(t, seen)
}
