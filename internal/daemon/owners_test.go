package daemon

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatIsGoneFromOneSourceMayBeInOneThatHasNotLookedYet(t *testing.T) {
	const one, two, elsewhere = "https://x/f.git//one", "https://x/f.git//two", "https://y/g.git"
	for _, c := range []struct {
		name   string
		told   map[string]string // the revision that each source was built at
		unread string
	}{
		{"it was read at the same commit", map[string]string{one: "main@sha1:2", two: "main@sha1:2", elsewhere: "main@sha1:7"}, ""},
		{"it is at another commit of the repository", map[string]string{one: "main@sha1:2", two: "main@sha1:1", elsewhere: "main@sha1:7"}, two},
		{"it was not read at all", map[string]string{one: "main@sha1:2", two: "main@sha1:2"}, elsewhere},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &daemon{fleet: newFleet(), options: Options{Sources: []Source{source(one), source(two), source(elsewhere)}}}
			for owner, revision := range c.told {
				d.fleet.take(owner, revision, build())
			}
			assert.Equal(t, c.unread, d.unread(one))
		})
	}
}
