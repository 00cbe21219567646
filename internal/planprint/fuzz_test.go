package planprint_test

import (
	"encoding/json"
	"testing"
	"time"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/planprint"
	"stevedore.dev/stevedore/ops/plan"
	"stevedore.dev/stevedore/render/definition"
)

// fuzzBytes is more than any seed has.
const fuzzBytes = 16 << 10

// words hands out pieces of the fuzzer's input.
type words struct {
	input []byte
	at    int
}

func (w *words) byte() int {
	if len(w.input) == 0 {
		return 0
	}
	w.at++
	return int(w.input[(w.at-1)%len(w.input)])
}

func (w *words) text() string {
	if len(w.input) == 0 {
		return ""
	}
	n, from := w.byte()%40, w.byte()%len(w.input)
	return string(w.input[from:min(from+n, len(w.input))])
}

func (w *words) value(depth int) any {
	switch kind := w.byte() % 8; {
	case kind == 0:
		return nil
	case kind == 1:
		return int64(w.byte() * w.byte())
	case kind == 2:
		return w.byte()%2 == 0
	case kind == 3 && depth > 0:
		return map[string]any{w.text(): w.value(depth - 1), w.text(): w.value(depth - 1)}
	case kind == 4 && depth > 0:
		return []any{w.value(depth - 1), w.value(depth - 1)}
	case kind == 5:
		return w.text() + "\n" + w.text() + "\n" + w.text()
	}
	return w.text()
}

func (w *words) estimate() *plan.Estimate {
	if w.byte()%2 == 0 {
		return nil
	}
	return &plan.Estimate{Least: plan.Duration(time.Duration(w.byte()) * time.Minute), Most: plan.Duration(time.Duration(w.byte()) * time.Hour), Basis: w.text()}
}

func some[T any](w *words, most int, one func() T) []T {
	var list []T
	for range w.byte() % (most + 1) {
		list = append(list, one())
	}
	return list
}

func (w *words) gate() plan.Gate { return plan.Gate{Name: w.text(), Message: w.text()} }

func (w *words) plan() plan.Plan {
	p := plan.Plan{SchemaVersion: 1, Namespace: w.text(), Name: w.text(), Revision: w.text(), Restarts: w.byte()}
	p.Basis = plan.Basis{Kind: plan.Offline, Against: w.text(), New: w.byte()%2 == 0}
	if w.byte()%2 == 0 {
		p.Basis = live(time.Duration(w.byte()) * time.Hour)
	}
	p.Objects = some(w, 3, func() plan.Object {
		o := plan.Object{Key: compare.Key{Group: w.text(), Kind: w.text(), Namespace: w.text(), Name: w.text()}, Change: plan.Change(w.text()), Class: plan.Class(w.text()), From: w.text(), To: w.text(), Why: w.text()}
		o.Fields = some(w, 3, func() plan.Field {
			op := []compare.Op{compare.OpAdd, compare.OpChange, compare.OpRemove, compare.Op(w.text())}[w.byte()%4]
			return plan.Field{FieldChange: compare.FieldChange{Path: w.text(), From: w.value(3), To: w.value(3), Op: op}, Class: plan.Class(w.text()), Gate: w.text(), Why: w.text()}
		})
		return o
	})
	p.Operations = some(w, 3, func() plan.Operation {
		return plan.Operation{Kind: w.text(), Summary: w.text(), Gates: some(w, 2, w.gate), Restarts: w.byte(), Estimate: w.estimate(),
			Steps: some(w, 3, func() plan.Step { return plan.Step{Action: w.text(), Target: w.text(), Detail: w.text()} })}
	})
	p.Refused = some(w, 2, w.gate)
	p.AtRisk = some(w, 2, func() plan.Risk { return plan.Risk{Subject: w.text(), Why: w.text()} })
	p.Unknown = some(w, 2, w.text)
	p.Estimate = w.estimate()
	return p
}

// FuzzPlan prints any plan: one made of pieces of the input, and the input itself
// where it is a plan in JSON. Each format stays what its readers can read. The work is
// bounded by the input's size and by no clock: a busy machine finds nothing that an
// idle one does not.
func FuzzPlan(f *testing.F) {
	for _, plans := range examples() {
		text, err := json.Marshal(plans)
		if err != nil {
			f.Fatal(err)
		}
		if len(text) > fuzzBytes {
			f.Fatalf("a seed of %d bytes is not looked at", len(text))
		}
		f.Add(text)
	}
	for _, seed := range []string{evil, "`", "``` \n", "::error::", ":", "##[", "##vso[", "|", "\\", "www.example.com", "@a #1 1. - + * > <b>", "\u202e\u200b\x00\xff\r", "-----", "a`b``c"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) > fuzzBytes {
			return
		}
		w := &words{input: input}
		plans := some(w, 3, w.plan)
		wellFormed(t, plans)
		for _, failOn := range []planprint.FailOn{planprint.FailOnOperation, planprint.FailOnDeletion} {
			if code := planprint.ExitCode(plans, []planprint.FailOn{failOn}, false); code == planprint.ExitError {
				t.Fatal("plans are no error")
			}
		}
		var read []plan.Plan
		if json.Unmarshal(input, &read) == nil && len(read) > 0 {
			wellFormed(t, read)
		}
		found := planprint.Problems([]definition.Problem{{File: w.text(), Line: w.byte(), Column: w.byte(), Path: w.text(), Message: w.text(), Cluster: w.text()}})
		wellFormedCommands(t, made(t, github(found)), 1)
		wellFormedSARIF(t, made(t, sarifOf(found)))
		wellFormedCodeQuality(t, made(t, codeQuality(found)))
		wellFormedMarkdown(t, made(t, markdown(plans, found)), planprint.LeastLimit)
	})
}
