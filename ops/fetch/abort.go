package fetch

import (
	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
)

// aborted is how what a person aborts has ended.
const aborted = "it was aborted"

// abort ends what a person aborts: no further table comes, and the step says what becomes of those that come now. It goes
// on once the abort is taken back: it has ended then.
func abort(t *pass.Pass, f *model.Fetch) {
	if !f.Aborted && !aim.Aborted(&t.View) {
		return
	}
	f.Aborted, f.Rest, f.Yields = true, nil, ""
	switch {
	case f.Step == model.FetchReady, f.Step == model.FetchSwap && !f.Sent:
		givesBack(f)
	case !f.There(), f.Step == model.FetchAsk && !f.Sent:
		f.Batch, f.Step = nil, model.FetchNext
	case f.Drill:
		f.Step = model.FetchDrop
	}
	// A person's of which CrateDB has not answered yet may be there or not: it is asked for until that is known, and may be
	// all done by then.
	if !f.Drill && (f.Done == 0 || f.Done < f.Of) {
		fails(f, aborted)
	}
}
