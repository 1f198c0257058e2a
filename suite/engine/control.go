package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/schemas"
)

// controlled are the members whose mismatch may have another cause than the
// case's subject, and which a control can tell.
var controlled = []string{"error", "message", "fields", "body", "contentType", "location", "canary", "reference", "retryAfterSeconds", "payload", "carrier"}

type controlKey struct{ id, way string }

// controlResult is what a control case found, once.
type controlResult struct {
	once     sync.Once
	findings []schemas.Finding
	err      error
}

// attribute places findings whose control fails on the same member under what
// the control's failure is placed under. A rule can be tested only through a
// carrier: a near miss of the leak filter, say, needs a recogniser that
// forwards it. The control is the same exchange without the case's subject, so
// that a broken carrier shows as itself and not as everything it carries.
//
// What only follows from another member goes where that member went.
//
// Controls run only after a failure, once for each way of running.
func (e *Engine) attribute(ctx context.Context, k fixtures.Case, way string, findings []schemas.Finding) error {
	for i, f := range findings {
		if f.Follows != "" || !slices.Contains(controlled, f.Member) {
			continue
		}
		for _, id := range k.Controls {
			found, err := e.control(ctx, id, way)
			if err != nil {
				return err
			}
			if at := slices.IndexFunc(found, func(c schemas.Finding) bool { return c.Member == f.Member }); at >= 0 {
				findings[i].Requirement = found[at].Requirement
				findings[i].Control = id
				break
			}
		}
	}
	for i := range findings {
		root := i
		for range findings { // a chain is no longer than the list
			at := slices.IndexFunc(findings, func(f schemas.Finding) bool { return f.Member == findings[root].Follows })
			if findings[root].Follows == "" || at < 0 {
				break
			}
			root = at
		}
		findings[i].Requirement, findings[i].Control = findings[root].Requirement, findings[root].Control
	}
	return nil
}

// control gives the findings of a control case, run in the same way where it
// can be, else in the first way it can.
func (e *Engine) control(ctx context.Context, id, way string) ([]schemas.Finding, error) {
	k, ok := e.corpus.Case(id)
	if !ok {
		return nil, fmt.Errorf("control case %s is not in the corpus", id)
	}
	ways, _ := e.Applicable(k)
	if len(ways) == 0 {
		return nil, nil
	}
	if !slices.Contains(ways, way) {
		way = ways[0]
	}
	cell, _ := e.controls.LoadOrStore(controlKey{id, way}, &controlResult{})
	r := cell.(*controlResult)
	r.once.Do(func() {
		var run schemas.RunResult
		run, r.err = e.runVia(ctx, k, way)
		r.findings = run.Findings
	})
	if errors.Is(r.err, context.Canceled) {
		e.controls.Delete(controlKey{id, way}) // it was not the control's fault
	}
	return r.findings, r.err
}
