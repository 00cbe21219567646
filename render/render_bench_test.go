package render

import "testing"

func BenchmarkRenderSingle(b *testing.B) { benchmarkRender(b, single()) }
func BenchmarkRenderTiers(b *testing.B)  { benchmarkRender(b, tiers()) }

func benchmarkRender(b *testing.B, c Cluster) {
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := Render(c, Config{CloudProvider: CloudAWS}, Pins{}); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}
