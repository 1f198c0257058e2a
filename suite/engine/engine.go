// Package engine runs one case against one target and gives the findings. It
// keeps no globals: any number of engines work side by side in a process, and
// one engine runs cases side by side. The Ginkgo tree, the mutant gate and the
// differential tests all use it, so that they cannot disagree.
package engine

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/judge"
	"example.com/touchstone/suite/target"
)

// Defaults of [Options].
const (
	DefaultCallTimeout    = 15 * time.Second
	DefaultBackendTimeout = 10 * time.Second
	DefaultMaxResponse    = 262144
)

// Options are the settings of an engine.
type Options struct {
	// CallTimeout is the time one call of the target may take; 0 means DefaultCallTimeout.
	CallTimeout time.Duration
	// BackendTimeout is the deadline a target is told to give its own backend
	// calls; 0 means DefaultBackendTimeout.
	BackendTimeout time.Duration
	// MaxResponseBytes, MaxInlineFileBytes and MaxFileBytes are the limits of a
	// target that cannot be told them; 0 and nil mean the usual ones.
	MaxResponseBytes   int64
	MaxInlineFileBytes *int64
	MaxFileBytes       *int64
	// WithoutInvoke runs mapping cases through "map" alone, not over the wire too.
	WithoutInvoke bool
	// Judge decides what is wrong with an exchange; nil means judge.All. Another
	// one must give the same findings.
	Judge func(*judge.Exchange) ([]schemas.Finding, error)
}

// Engine runs cases of a corpus against a target.
type Engine struct {
	corpus      *fixtures.Corpus
	target      target.Target
	backend     *mockbackend.Server
	options     Options
	description schemas.DescribeResult

	settings map[string]string // of the run, as JSON
	order    atomic.Int64      // the last order id given to a case
	silence  silence
	controls sync.Map // controlKey -> *controlResult
	// exclusive is held by cases that change settings or count requests, and
	// shared by all others.
	exclusive sync.RWMutex
}

// New asks the target what it is and configures it with the backend's address.
// The caller keeps the target and the backend and closes them.
func New(ctx context.Context, corpus *fixtures.Corpus, t target.Target, backend *mockbackend.Server, options Options) (*Engine, error) {
	options = options.withDefaults()
	e := &Engine{corpus: corpus, target: t, backend: backend, options: options}
	e.order.Store(100_000)
	// A run that was interrupted says nothing about the target.
	broken := func(err error) error {
		if ctx.Err() != nil {
			return fmt.Errorf("opening the run: %w", context.Cause(ctx))
		}
		return &BrokenError{Err: err}
	}
	err := e.call(ctx, func(ctx context.Context) (err error) {
		e.description, err = t.Describe(ctx)
		return err
	})
	if err != nil {
		return nil, broken(fmt.Errorf("asking the target to describe itself: %w", err))
	}
	err = e.call(ctx, func(ctx context.Context) error {
		return t.Configure(ctx, Settings(backend, options))
	})
	if err != nil {
		return nil, broken(fmt.Errorf("configuring the target: %w", err))
	}
	if e.settings, err = members(Settings(backend, options)); err != nil {
		return nil, err
	}
	if e.claims(schemas.FeatureMCP) {
		if err := e.preflight(ctx); err != nil {
			return nil, broken(err)
		}
	}
	return e, nil
}

func (o Options) withDefaults() Options {
	if o.CallTimeout <= 0 {
		o.CallTimeout = DefaultCallTimeout
	}
	if o.BackendTimeout <= 0 {
		o.BackendTimeout = DefaultBackendTimeout
	}
	if o.MaxResponseBytes <= 0 {
		o.MaxResponseBytes = DefaultMaxResponse
	}
	if o.Judge == nil {
		o.Judge = judge.All
	}
	return o
}

// Settings are what a target is configured with: where the backend is, and the limits.
func Settings(backend *mockbackend.Server, options Options) schemas.ConfigureParams {
	options = options.withDefaults()
	return schemas.ConfigureParams{
		BackendURL:         backend.URL(),
		OpenAPIURL:         backend.URL() + "/openapi.json",
		TimeoutMs:          options.BackendTimeout.Milliseconds(),
		MaxResponseBytes:   options.MaxResponseBytes,
		MaxInlineFileBytes: options.MaxInlineFileBytes,
		MaxFileBytes:       options.MaxFileBytes,
	}
}

// Description is what the target said of itself.
func (e *Engine) Description() schemas.DescribeResult { return e.description }

// BrokenError says that a target cannot be judged any further (exit code 3).
type BrokenError struct{ Err error }

func (e *BrokenError) Error() string { return e.Err.Error() }

// Unwrap gives what happened.
func (e *BrokenError) Unwrap() error { return e.Err }

func (e *Engine) call(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, e.options.CallTimeout)
	defer cancel()
	return f(ctx)
}

// Run runs a case in every way the target allows. The error is a
// [*BrokenError], the context's, or a defect of the suite.
func (e *Engine) Run(ctx context.Context, k fixtures.Case) (schemas.CaseResult, error) {
	result := schemas.CaseResult{ID: k.ID, Runs: []schemas.RunResult{}}
	ways, reason := e.Applicable(k)
	if len(ways) == 0 {
		result.Status, result.Reason = schemas.NotApplicable, reason
		return result, nil
	}
	runAll := e.oneByOne
	if k.Kind == schemas.KindAgent {
		runAll = e.together // they mostly wait
	}
	runs, err := runAll(ctx, k, ways)
	if err != nil {
		result.Status, result.Reason = schemas.NotRun, err.Error()
		return result, err
	}
	result.Runs = runs
	result.Status = e.statusOf(result.Runs)
	return result, nil
}

func (e *Engine) oneByOne(ctx context.Context, k fixtures.Case, ways []string) ([]schemas.RunResult, error) {
	runs := make([]schemas.RunResult, len(ways))
	for i, way := range ways {
		var err error
		if runs[i], err = e.runVia(ctx, k, way); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// statusOf is the worst of a case's findings: a MUST fails, a SHOULD warns.
func (e *Engine) statusOf(runs []schemas.RunResult) schemas.Status {
	status := schemas.Pass
	for _, run := range runs {
		if run.Observation != "" && status == schemas.Pass {
			status = schemas.Informed
		}
		for _, f := range run.Findings {
			r, ok := e.corpus.Requirement(f.Requirement)
			switch {
			case !ok || r.Level == schemas.Must:
				return schemas.Fail
			case r.Level == schemas.Should:
				status = schemas.Warn
			}
		}
	}
	return status
}

func (e *Engine) runVia(ctx context.Context, k fixtures.Case, way string) (schemas.RunResult, error) {
	run, err := e.runConfirmed(ctx, k, way)
	if err != nil {
		return run, err
	}
	bound(&run) // all judging of what was answered is done
	if k.Kind == schemas.KindAgent {
		return run, e.attributeAgent(ctx, k, way, run.Findings)
	}
	return run, e.attribute(ctx, k, way, run.Findings)
}

func (e *Engine) runOnce(ctx context.Context, k fixtures.Case, way string) (schemas.RunResult, error) {
	switch way {
	case viaCalls:
		return e.runCalls(ctx, k)
	case schemas.FeatureCompose:
		return e.runCompose(ctx, k)
	case schemas.FeatureAgent, schemas.FeatureAgentStreaming:
		return e.runAgent(ctx, k, way)
	}
	return e.runMapping(ctx, k, way)
}

// runMapping runs a case about one answer of the backend.
func (e *Engine) runMapping(ctx context.Context, k fixtures.Case, way string) (schemas.RunResult, error) {
	e.exclusive.RLock()
	defer e.exclusive.RUnlock()
	x, finding, err := e.exchange(ctx, k, way)
	if err != nil {
		return schemas.RunResult{}, err
	}
	run := schemas.RunResult{Via: way, DurationMs: float64(x.Elapsed.Microseconds()) / 1000}
	if finding != nil {
		run.Findings = []schemas.Finding{*finding}
		return run, nil
	}
	run.Findings, err = e.options.Judge(x)
	if err != nil {
		return run, err
	}
	if k.Observe {
		run.Observation = judge.Observe(x)
	}
	if len(run.Findings) > 0 {
		run.Answer = string(x.Answer.Envelope)
	}
	return run, nil
}

// exchange makes one call. A finding instead of an exchange says that the
// target gave no answer, within the protocol or within its time.
func (e *Engine) exchange(ctx context.Context, k fixtures.Case, way string) (*judge.Exchange, *schemas.Finding, error) {
	x := &judge.Exchange{Case: k, Via: way}
	if k.WantsCanary() {
		x.Canary = newCanary()
		x.Case = k.WithCanary(x.Canary)
	}
	in, err := x.Case.Facts()
	if err != nil {
		return nil, nil, err
	}
	start := time.Now()
	err = e.call(ctx, func(ctx context.Context) error {
		switch way {
		case schemas.FeatureMap:
			x.Answer, err = e.target.Map(ctx, mapParams(in))
		case schemas.FeatureRefuse:
			x.Answer, err = e.target.Refuse(ctx, refuseParams(in))
		case schemas.FeatureInvoke:
			err = e.overTheWire(ctx, in, x)
		default:
			err = fmt.Errorf("case %s: no such way to run a case: %q", k.ID, way)
		}
		return err
	})
	x.Elapsed = time.Since(start)
	if ctx.Err() != nil {
		return nil, nil, fmt.Errorf("case %s: %w", k.ID, context.Cause(ctx))
	}
	finding, err := e.noAnswer(ctx, k, x, err)
	return x, finding, err
}

// newCanary draws a token of lower-case letters and digits that no text holds
// by chance.
func newCanary() string {
	var bits [15]byte
	_, _ = rand.Read(bits[:]) // never fails, says crypto/rand
	return "ca" + strings.ToLower(base32.StdEncoding.EncodeToString(bits[:]))
}
