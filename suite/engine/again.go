package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/judge"
	"example.com/touchstone/suite/target"
)

// confirmations is how often a finding about time must come again. A machine
// that is busy elsewhere makes any target late once; one that is slow is slow
// each time.
const confirmations = 2

// runConfirmed runs a case again while it has findings that a busy machine may
// have made. What else was found once stays found.
func (e *Engine) runConfirmed(ctx context.Context, k fixtures.Case, way string) (schemas.RunResult, error) {
	run, err := e.runOnce(ctx, k, way)
	late, certain := sortOut(k, run.Findings)
	found := run
	for attempts := 2; attempts <= 1+confirmations && err == nil && len(late) > 0; attempts++ {
		if run, err = e.runOnce(ctx, k, way); err != nil {
			break
		}
		var now []schemas.Finding
		if late, now = sortOut(k, run.Findings); len(now) > 0 {
			found, certain = run, now
		} else if len(certain) > 0 {
			run = found
			run.Findings = slices.Concat(certain, late)
		}
		run.Attempts = attempts
	}
	return run, err
}

// sortOut parts the findings that a busy machine alone can have made, those about
// time and, in a case that sets the target a deadline, those that show the wrong
// side of it, from the others: a wrong body, or a request too many, no machine
// explains, and what is wrong now and then is wrong.
func sortOut(k fixtures.Case, findings []schemas.Finding) (late, certain []schemas.Finding) {
	deadline := hasDeadline(k)
	for _, f := range findings {
		switch {
		case f.Member == "time":
			late = append(late, f)
		case !deadline, f.Member == "requests" && !fewer(f):
			certain = append(certain, f)
		case f.Member == "requests", f.Member == "error", f.Member == "status", f.Follows == "error", f.Follows == "status":
			late = append(late, f)
		default:
			certain = append(certain, f)
		}
	}
	if k.Kind == schemas.KindAgent && len(late) > 0 {
		return findings, nil // of an agent that is late, the others follow
	}
	return late, certain
}

func hasDeadline(k fixtures.Case) bool {
	if k.Kind != schemas.KindCalls {
		return false
	}
	in, err := callsInput(k.Input)
	return err == nil && in.Settings["timeoutMs"] != nil
}

// fewer says that a finding counted less than it wants.
func fewer(f schemas.Finding) bool {
	var want, got int
	return json.Unmarshal(f.Expected, &want) == nil && json.Unmarshal(f.Actual, &got) == nil && got < want
}

// maxSilent is how many cases in a row may run into the deadline of a call
// before the target is asked whether it is still there.
const maxSilent = 3

// silence are the cases in a row that got no answer.
type silence struct {
	mu    sync.Mutex
	cases []string
}

// broken notes that a case got an answer.
func (s *silence) broken() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cases = s.cases[:0]
}

// goesOn notes that a case got no answer, and gives the number of those before.
func (s *silence) goesOn(id string) (before int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.cases, id) {
		s.cases = append(s.cases, id)
	}
	return len(s.cases) - 1
}

// noAnswer sorts out a failed call: what the target may still be judged for,
// and what ends the run.
func (e *Engine) noAnswer(ctx context.Context, k fixtures.Case, x *judge.Exchange, err error) (*schemas.Finding, error) {
	if err == nil {
		e.silence.broken()
		return nil, nil
	}
	f := schemas.Finding{Requirement: judge.Subject(k), Problem: err.Error()}
	var rpc *target.RPCError
	var broken *target.ProtocolError
	switch {
	case errors.As(err, &rpc):
		e.silence.broken()
		return &f, nil
	case errors.As(err, &broken):
		return nil, &BrokenError{Err: fmt.Errorf("case %s via %s: %w", k.ID, x.Via, err)}
	case errors.Is(err, context.DeadlineExceeded):
		f.Problem = fmt.Sprintf("no answer within %s", e.options.CallTimeout)
		before := e.silence.goesOn(k.ID)
		if before+1 < maxSilent {
			return &f, nil
		}
		switch there := e.describesItself(ctx); {
		case there:
			e.silence.broken()
			return &f, nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("case %s: %w", k.ID, context.Cause(ctx))
		}
		return nil, &BrokenError{Err: fmt.Errorf("case %s via %s: %s, like the %d cases before it: the target does not answer", k.ID, x.Via, f.Problem, before)}
	}
	return nil, fmt.Errorf("case %s via %s: %w", k.ID, x.Via, err)
}

// describesItself tells a target that answers nothing from one that does not
// answer what it is asked. An MCP server says nothing of itself after the start.
func (e *Engine) describesItself(ctx context.Context) bool {
	if e.claims(schemas.FeatureMCP) {
		return false
	}
	err := e.call(ctx, func(ctx context.Context) error {
		_, err := e.target.Describe(ctx)
		return err
	})
	return err == nil
}
