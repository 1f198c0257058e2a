package suite

import (
	"context"
	"sync"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/schemas"
)

// sideBySide is how many cases about agents run at a time. Nearly all of their
// time is waiting: for a model that is silent, a lock that is held.
const sideBySide = 12

// ahead runs cases before their spec asks for them. Cases about agents do not
// touch each other, and one after the other they take a minute.
type ahead struct {
	cancel  context.CancelFunc
	workers sync.WaitGroup
	results map[string]chan outcome
}

type outcome struct {
	result schemas.CaseResult
	err    error
}

// runAhead starts the selected cases about agents, in order.
func (s *session) runAhead(ctx context.Context) *ahead {
	ctx, cancel := context.WithCancel(ctx)
	a := &ahead{cancel: cancel, results: map[string]chan outcome{}}
	queue := make(chan fixtures.Case, len(s.selected))
	for _, k := range s.selected {
		if k.Kind == schemas.KindAgent {
			a.results[k.ID] = make(chan outcome, 1)
			queue <- k
		}
	}
	close(queue)
	for range min(sideBySide, len(a.results)) {
		a.workers.Go(func() {
			for k := range queue {
				result, err := s.engine.Run(ctx, k)
				a.results[k.ID] <- outcome{result, err}
			}
		})
	}
	return a
}

// result gives what came of a case that was run ahead; ok is false for others.
func (a *ahead) result(ctx context.Context, id string) (o outcome, ok bool) {
	results, ok := a.results[id]
	if !ok {
		return o, false
	}
	select {
	case o = <-results:
		return o, true
	case <-ctx.Done():
		return outcome{err: context.Cause(ctx)}, true
	}
}

// stop ends what still runs, and waits for it.
func (a *ahead) stop() {
	a.cancel()
	a.workers.Wait()
}
