package deflated_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/deflated"
)

func TestATextComesBackAsItWas(t *testing.T) {
	for name, text := range map[string][]byte{
		"nothing": {}, "a word": []byte("word"), "much": bytes.Repeat([]byte(`{"name":"data-hot-0"}`), 10_000),
	} {
		t.Run(name, func(t *testing.T) {
			made := deflated.Make(text)
			assert.Less(t, len(made), len(text)/4+16)
			for range 2 {
				var back string
				require.NoError(t, deflated.Read(made, func(text []byte) error { back = string(text); return nil }))
				assert.Equal(t, string(text), back)
			}
		})
	}
	assert.Error(t, deflated.Read([]byte("no such thing"), func([]byte) error { return nil }))
}

func TestAStoredTextComesBackAsItWas(t *testing.T) {
	text := bytes.Repeat([]byte(`{"name":"data-hot-0"}`), 10_000)
	made := deflated.Zip(text)
	assert.Equal(t, made, deflated.Zip(text), "the same bytes for the same text")
	for range 2 {
		back, err := deflated.Unzip(made, len(text))
		require.NoError(t, err)
		assert.Equal(t, text, back)
		_, err = deflated.Unzip(made, len(text)-1)
		require.ErrorContains(t, err, "more than 209999 bytes")
		_, err = deflated.Unzip([]byte("no such thing"), 100)
		require.Error(t, err)
	}
}
