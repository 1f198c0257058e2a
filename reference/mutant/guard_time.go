package mutant

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"example.com/touchstone/reference/invoke"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
)

// timeMutants keep time otherwise (GUARD-06 to GUARD-09).
func timeMutants() []Mutant {
	deadline := func(edit func(limit time.Duration) time.Duration) func() serve.Reference {
		return layering(func(p *invoke.Policy) {
			was := p.Deadline
			p.Deadline = func(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
				return was(ctx, edit(limit))
			}
		})
	}
	return slices.Concat(
		called(breaks("GUARD-06"),
			mutant("deadline-late", "It answers long after the deadline.", deadline(func(limit time.Duration) time.Duration {
				if limit > 0 && limit < time.Second {
					return limit + 800*time.Millisecond
				}
				return limit
			})),
			mutant("deadline-early", "It gives up at two thirds of the time.", deadline(func(limit time.Duration) time.Duration {
				if limit == 200*time.Millisecond {
					return limit * 2 / 3
				}
				return limit
			})),
		),
		called(breaks("GUARD-07"),
			mutant("resends-after-timeout", "It sends a POST that timed out once more.", transmitting(func(was sender, transport http.RoundTripper, request *http.Request, limit int64) (*invoke.Response, error) {
				response, err := was(transport, request, limit)
				if err != nil && request.Method == http.MethodPost && errors.Is(context.Cause(request.Context()), invoke.ErrDeadline) {
					ctx, cancel := context.WithTimeout(context.WithoutCancel(request.Context()), 100*time.Millisecond)
					defer cancel()
					_, _ = again(was, transport, request, limit, ctx)
				}
				return response, err
			})),
			mutant("resends-after-error", "It sends a request once more when the backend answers with a retryable status.", transmitting(func(was sender, transport http.RoundTripper, request *http.Request, limit int64) (*invoke.Response, error) {
				response, err := was(transport, request, limit)
				if err == nil && slices.Contains([]int{408, 429, 502, 503, 504}, response.Status) {
					return again(was, transport, request, limit, request.Context())
				}
				return response, err
			})),
			mutant("resends-after-reset", "It sends a request once more when the connection breaks.", transmitting(func(was sender, transport http.RoundTripper, request *http.Request, limit int64) (*invoke.Response, error) {
				response, err := was(transport, request, limit)
				if err != nil && request.Context().Err() == nil {
					return again(was, transport, request, limit, request.Context())
				}
				return response, err
			})),
		),
		called(breaks("GUARD-08"), mutant("deadline-zero", "It takes a timeout of 0 for none left.", deadline(func(limit time.Duration) time.Duration {
			if limit == 0 {
				return time.Millisecond
			}
			return limit
		}))),
		called(breaks("GUARD-09"), mutant("not-cancelled", "It leaves an abandoned request running.", detached(nil))),
		called(breaks("GUARD-07", "GUARD-09"), mutant("late-answer-kept", "It gives a late answer to the next call.", detached(&stash{}))),
	)
}

// stash keeps an answer that came too late.
type stash struct {
	mu   sync.Mutex
	late *invoke.Response
}

func (s *stash) put(r *invoke.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = r
}

func (s *stash) take() *invoke.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.late
	s.late = nil
	return r
}

// late is how long after its call an answer still counts for the next one.
const late = 500 * time.Millisecond

// detachedFor is how long a request lives on that nobody waits for.
const detachedFor = 8 * time.Second

// detached sends requests that do not end with their call; what comes late
// goes to the stash, if there is one.
func detached(kept *stash) func() serve.Reference {
	return transmitting(func(was sender, transport http.RoundTripper, request *http.Request, limit int64) (*invoke.Response, error) {
		type reply struct {
			response *invoke.Response
			err      error
		}
		free, cancel := context.WithTimeout(context.WithoutCancel(request.Context()), detachedFor)
		done := make(chan reply, 1)
		go func() {
			defer cancel()
			abandoned := make(chan time.Time, 1)
			stop := context.AfterFunc(request.Context(), func() { abandoned <- time.Now() })
			response, err := was(transport, request.WithContext(free), limit)
			if !stop() && err == nil && kept != nil && time.Since(<-abandoned) < late {
				kept.put(response)
			}
			done <- reply{response, err}
		}()
		select {
		case r := <-done:
			if kept != nil && r.err == nil {
				if kept := kept.take(); kept != nil {
					return kept, nil
				}
			}
			return r.response, r.err
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
	})
}

// wireFaultMutants give away faults on the wire, or mix up calls (GUARD-10, GUARD-11).
func wireFaultMutants() []Mutant {
	return slices.Concat(
		called(breaks("GUARD-10"), mutant("wire-fault-told", "It quotes the error of the operating system.", stepping("dispatch", func(run stepFunc, ctx context.Context, l *invoke.Layer, c *invoke.Call) error {
			var told error
			other, policy := *l, *l.Policy
			send := policy.Send
			policy.Send = func(transport http.RoundTripper, request *http.Request, limit int64) (*invoke.Response, error) {
				response, err := send(transport, request, limit)
				told = err
				return response, err
			}
			other.Policy = &policy
			err := run(ctx, &other, c)
			if err != nil && told != nil && invoke.Facts(err).Error == schemas.InternalError {
				return &invoke.Refusal{Facts: schemas.RefuseParams{Error: schemas.InternalError, Message: "The backend call failed: " + told.Error()}}
			}
			return err
		}))),
		called(breaks("GUARD-11"), mutant("answers-exchanged", "It exchanges answers when many calls are in flight.", exchanged())),
	)
}

// crowd is how many calls must be in flight before answers are exchanged.
const crowd = 16

func exchanged() func() serve.Reference {
	return func() serve.Reference {
		var mu sync.Mutex
		flying := 0
		var last *invoke.Response
		return transmitting(func(was sender, transport http.RoundTripper, request *http.Request, limit int64) (*invoke.Response, error) {
			mu.Lock()
			flying++
			mu.Unlock()
			response, err := was(transport, request, limit)
			mu.Lock()
			defer mu.Unlock()
			crowded := flying >= crowd
			flying--
			if err == nil && crowded {
				response, last = cmp.Or(last, response), response
			}
			return response, err
		})()
	}
}
