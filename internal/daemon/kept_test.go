package daemon

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/render"
)

func TestWhatIsKeptOfARenderIsTheSame(t *testing.T) {
	for _, example := range []string{"single", "tiers"} {
		t.Run(example, func(t *testing.T) {
			built := render.BuildFolder(t.Context(), os.DirFS("../../examples"), example, render.Config{})
			require.NotEmpty(t, built.Clusters)
			for _, cluster := range built.Clusters {
				rendered, problems := render.Render(cluster, render.Config{}, render.Pins{})
				require.Empty(t, problems)
				objects := rendered.Objects
				hashes := func(r *render.Rendered) (all []string) {
					for _, object := range r.Objects {
						all = append(all, compare.Hash(object))
					}
					return all
				}
				want, k := hashes(rendered), keep(rendered)
				rendered = nil
				for k.made.Value() != nil {
					runtime.GC()
				}
				got := k.rendered()
				assert.Equal(t, objects, got.Objects)
				assert.Equal(t, want, hashes(got))
				assert.Equal(t, k.revision, got.Revision)
				assert.Same(t, got, k.rendered())
				size := func() (bytes int) {
					for _, text := range k.objects {
						bytes += len(text)
					}
					return bytes
				}
				loose := size()
				k.tighten()
				k.tighten() // a second time changes nothing
				assert.Less(t, size(), loose/2)
				got = nil
				for k.made.Value() != nil {
					runtime.GC()
				}
				assert.Equal(t, objects, k.rendered().Objects)
			}
		})
	}
	var nothing *keptRender
	assert.Nil(t, nothing.rendered())
	nothing.tighten()
}
