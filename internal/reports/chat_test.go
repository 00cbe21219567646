package reports

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The address is the secret.
func TestTheAddressOfAChatIsInNoError(t *testing.T) {
	for _, chat := range chats() {
		prefix := chat.variables[0]
		for _, address := range []string{"ftp://host/s3cr3t", "http://s3cr3t:s3cr3t", "%s3cr3t"} {
			_, err := ConfigsFromEnv(func(name string) (string, bool) { return address, name == prefix+"_URL" }, os.ReadFile)
			require.ErrorContains(t, err, prefix+"_URL")
			assert.NotContains(t, err.Error(), "s3cr3t")
		}
		configs, err := ConfigsFromEnv(func(name string) (string, bool) {
			return "http://127.0.0.1:1/s3cr3t?sig=s3cr3t", name == prefix+"_URL"
		}, os.ReadFile)
		require.NoError(t, err)
		receivers, err := NewReceivers(configs, "test")
		require.NoError(t, err)
		require.Len(t, receivers, 1)
		assert.Equal(t, "http://127.0.0.1:1/…", receivers[0].String())
	}
}
