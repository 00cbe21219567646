package planprint_test

import (
	"bytes"
	"testing"

	"stevedore.dev/stevedore/internal/planprint"
)

func BenchmarkPrintFormats(b *testing.B) {
	plans := many(1000, 5)
	findings := planprint.Findings(plans, located)
	for name, print := range map[string]func(*bytes.Buffer) error{
		"text":     func(w *bytes.Buffer) error { return planprint.Text(w, plans, planprint.TextOptions{Width: 100}) },
		"markdown": func(w *bytes.Buffer) error { return planprint.Markdown(w, plans, planprint.MarkdownOptions{}) },
		"json":     func(w *bytes.Buffer) error { return planprint.JSON(w, plans) },
		"sarif":    func(w *bytes.Buffer) error { return planprint.SARIF(w, findings, "1") },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var out bytes.Buffer
				if err := print(&out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
