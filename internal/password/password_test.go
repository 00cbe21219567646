package password

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatCanBeNoPasswordIsKnown(t *testing.T) {
	for _, c := range []struct {
		name, value, why string
	}{
		{"plain", "secret", ""},
		{"spaces, tabs, quotes and colons", " a\t'b\":c\\ ", ""},
		{"a line break inside", "a\nb", ""},
		{"a line break at the end", "secret\n", "line break"},
		{"that of Windows", "secret\r\n", "line break"},
		{"nothing but a line break", "\n", "line break"},
		{"a carriage return", "secret\r", "line break"},
		{"a NUL", "a\x00b", "NUL"},
		{"a NUL at the end", "a\x00", "NUL"},
		{"no text", "a\xffb", "UTF-8"},
		{"127 characters", strings.Repeat("a", 127), ""},
		{"128 characters", strings.Repeat("a", 128), "127 characters"},
		{"42 of two bytes", strings.Repeat("ü", 42), ""},
		{"43 of two bytes", strings.Repeat("ü", 43), "127 characters"},
		{"25 of three bytes", strings.Repeat("€", 25), ""},
		{"26 of three bytes", strings.Repeat("€", 26), "127 characters"},
		{"21 of four bytes", strings.Repeat("😀", 21), ""},
		{"22 of four bytes", strings.Repeat("😀", 22), "127 characters"},
	} {
		t.Run(c.name, func(t *testing.T) {
			why := Unusable([]byte(c.value))
			if c.why == "" {
				assert.Empty(t, why)
				return
			}
			assert.Contains(t, why, c.why)
			assert.NotContains(t, why, c.value)
		})
	}
}
