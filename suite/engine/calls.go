package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/judge"
	"example.com/touchstone/suite/target"
)

// viaCalls is the way of a case of calls.
const viaCalls = "calls"

func callsInput(raw json.RawMessage) (schemas.CallsInput, error) {
	var in schemas.CallsInput
	if err := json.Unmarshal(raw, &in); err != nil {
		return in, fmt.Errorf("reading the calls: %w", err)
	}
	return in, nil
}

// instance is one repetition of a case: its own numbers, and its own stubs.
type instance struct {
	fill  *filler
	stubs []string
}

// filler replaces the placeholders of a case of calls.
type filler struct {
	engine *Engine
	canary string
	values map[string]string
}

// fill replaces placeholders in a JSON text. `"${order}"` becomes a number,
// `${order}` inside a longer string its digits.
func (f *filler) fill(raw json.RawMessage) json.RawMessage {
	text := strings.ReplaceAll(string(raw), "${canary}", f.canary)
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		if !found {
			out.WriteString(text)
			return json.RawMessage(out.String())
		}
		name, after, closed := strings.Cut(rest, "}")
		value, known := f.value(name)
		switch {
		case !closed || !known:
			out.WriteString(before + "${")
			text = rest
		case strings.HasSuffix(before, `"`) && strings.HasPrefix(after, `"`) && f.isNumber(name):
			out.WriteString(strings.TrimSuffix(before, `"`) + value)
			text = after[1:]
		default:
			out.WriteString(before + value)
			text = after
		}
	}
}

func (f *filler) isNumber(name string) bool { return name == "n" || strings.HasPrefix(name, "order") }

func (f *filler) value(name string) (string, bool) {
	if v, ok := f.values[name]; ok {
		return v, true
	}
	if name == "order" || strings.HasPrefix(name, "order.") {
		f.values[name] = strconv.FormatInt(f.engine.order.Add(1), 10)
		return f.values[name], true
	}
	return "", false
}

// runCalls runs a case of calls. It has the target and the backend's journal
// for itself, since it may change settings and counts every request.
func (e *Engine) runCalls(ctx context.Context, k fixtures.Case) (run schemas.RunResult, err error) {
	e.exclusive.Lock()
	defer e.exclusive.Unlock()
	in, err := callsInput(k.Input)
	if err != nil {
		return run, err
	}
	instances, err := e.instances(k, in)
	defer e.removeStubs(instances)
	if err != nil {
		return run, err
	}
	if len(in.Settings) > 0 {
		settings := map[string]json.RawMessage{}
		for name, value := range in.Settings {
			settings[name] = instances[0].fill.fill(value)
		}
		restore, err := e.configureFor(ctx, k, settings)
		if err != nil {
			return run, err
		}
		defer func() { err = errors.Join(err, restore()) }()
	}
	start := time.Now()
	findings, answer, err := e.callAll(ctx, k, in, instances)
	run = schemas.RunResult{Via: viaCalls, DurationMs: float64(time.Since(start).Microseconds()) / 1000, Findings: findings}
	if len(findings) > 0 {
		run.Answer = answer
	}
	return run, err
}

// configureFor gives the target the case's settings and what takes them back.
func (e *Engine) configureFor(ctx context.Context, k fixtures.Case, settings map[string]json.RawMessage) (restore func() error, err error) {
	base := Settings(e.backend, e.options)
	merged, err := json.Marshal(base)
	if err != nil {
		return nil, err
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(merged, &members); err != nil {
		return nil, err
	}
	maps.Copy(members, settings)
	merged, err = json.Marshal(members)
	if err != nil {
		return nil, err
	}
	var params schemas.ConfigureParams
	if err := json.Unmarshal(merged, &params); err != nil {
		return nil, fmt.Errorf("case %s: its settings: %w", k.ID, err)
	}
	configure := func(ctx context.Context, p schemas.ConfigureParams) error {
		err := e.call(ctx, func(ctx context.Context) error { return e.target.Configure(ctx, p) })
		if err != nil && ctx.Err() == nil {
			return &BrokenError{Err: fmt.Errorf("case %s: configuring the target: %w", k.ID, err)}
		}
		return err
	}
	if err := configure(ctx, params); err != nil {
		return nil, err
	}
	return func() error {
		if ctx.Err() != nil {
			return nil // the run is over
		}
		return configure(ctx, base)
	}, nil
}

func (e *Engine) instances(k fixtures.Case, in schemas.CallsInput) ([]*instance, error) {
	var out []*instance
	for n := range max(in.Repeat, 1) {
		one := &instance{fill: &filler{engine: e, canary: newCanary(), values: map[string]string{"n": strconv.Itoa(n)}}}
		out = append(out, one)
		for _, raw := range in.Backend {
			var stub schemas.Stub
			if err := json.Unmarshal(one.fill.fill(raw), &stub); err != nil {
				return out, fmt.Errorf("case %s: reading a stub: %w", k.ID, err)
			}
			id, err := e.backend.Add(stub)
			if err != nil {
				return out, fmt.Errorf("case %s: programming the mock backend: %w", k.ID, err)
			}
			one.stubs = append(one.stubs, id)
		}
	}
	return out, nil
}

func (e *Engine) removeStubs(instances []*instance) {
	for _, one := range instances {
		for _, id := range one.stubs {
			e.backend.Remove(id)
		}
	}
}

// callAll makes the calls, one after the other or together, and judges them. It
// gives the first answer with the findings.
func (e *Engine) callAll(ctx context.Context, k fixtures.Case, in schemas.CallsInput, instances []*instance) ([]schemas.Finding, string, error) {
	var mu sync.Mutex
	var findings []schemas.Finding
	var failed error
	answered, first := "", ""
	note := func(i int, x *judge.Exchange, found []schemas.Finding, err error) {
		mu.Lock()
		defer mu.Unlock()
		if len(in.Calls) > 1 || in.Repeat > 1 {
			for j := range found {
				found[j].Problem = fmt.Sprintf("call %d: %s", i+1, found[j].Problem)
			}
		}
		findings = append(findings, found...)
		failed = errors.Join(failed, err)
		answer := string(x.Answer.Envelope)
		answered = cmp.Or(answered, answer)
		if len(in.Same) == 0 || err != nil || answer == "" {
			return
		}
		for _, pair := range in.Same {
			answer = strings.ReplaceAll(answer, pair[0], pair[1])
		}
		if first == "" {
			first = answer
		} else if first != answer {
			findings = append(findings, judge.Different(k, first, answer))
		}
	}
	var flight sync.WaitGroup
	for _, inst := range instances {
		for i, raw := range in.Calls {
			call, err := inst.call(k, raw)
			if err != nil {
				flight.Wait()
				return findings, answered, err
			}
			if in.Together {
				flight.Go(func() {
					x, found, err := e.oneCall(ctx, k, true, inst, call)
					note(i, x, found, err)
				})
				continue
			}
			x, found, err := e.oneCall(ctx, k, false, inst, call)
			inst.remember(call, x)
			if note(i, x, found, err); failed != nil {
				return findings, answered, failed
			}
		}
	}
	flight.Wait()
	return findings, answered, failed
}

// call fills in a call of the case.
func (inst *instance) call(k fixtures.Case, raw json.RawMessage) (schemas.Call, error) {
	var call schemas.Call
	if err := json.Unmarshal(inst.fill.fill(raw), &call); err != nil {
		return call, fmt.Errorf("case %s: reading a call: %w", k.ID, err)
	}
	return call, nil
}

// remember keeps what later calls want to know of an answer.
func (inst *instance) remember(call schemas.Call, x *judge.Exchange) {
	for name, member := range call.Remember {
		if value, ok := judge.Member(x.Answer.Envelope, member); ok {
			inst.fill.values["saved."+name] = strings.Trim(string(value), `"`)
		}
	}
}

// oneCall makes one call and judges it as a case of its own. Of a call that is
// not alone, the backend's journal does not tell which requests were its own.
func (e *Engine) oneCall(ctx context.Context, k fixtures.Case, together bool, inst *instance, call schemas.Call) (*judge.Exchange, []schemas.Finding, error) {
	x := &judge.Exchange{Case: k, Canary: inst.fill.canary, Via: viaCalls, Call: &call}
	x.Case.Expected, x.Case.ExpectedAnyOf, x.Case.Assert = call.Expected, call.ExpectedAnyOf, call.Assert
	x.Case.MaxMs = call.MaxMs
	before := e.lastSeq()
	start := time.Now()
	err := e.call(ctx, func(ctx context.Context) (err error) {
		switch {
		case call.Invoke != nil:
			x.Answer, err = e.target.Invoke(ctx, *call.Invoke)
		case call.Search != nil:
			x.Answer, err = e.target.Search(ctx, *call.Search)
		case call.Tool != nil:
			x.Answer, err = e.callTool(ctx, *call.Tool)
		default:
			x.Answer, err = e.target.Load(ctx, *call.Load)
		}
		return err
	})
	x.Elapsed = time.Since(start)
	if ctx.Err() != nil {
		return x, nil, fmt.Errorf("case %s: %w", k.ID, context.Cause(ctx))
	}
	finding, err := e.noAnswer(ctx, k, x, err)
	if err != nil || finding != nil {
		return x, deref(finding), err
	}
	if call.Cancelled {
		x.Cancelled = e.sawCancel(ctx, before)
	}
	if !together {
		x.Received = e.backend.Journal().Entries(mockbackend.Filter{After: before})
		x.Requests = len(x.Received)
	}
	findings, err := e.options.Judge(x)
	return x, findings, err
}

func deref(f *schemas.Finding) []schemas.Finding {
	if f == nil {
		return nil
	}
	return []schemas.Finding{*f}
}

// lastSeq is the number of the last request the backend has received.
func (e *Engine) lastSeq() uint64 {
	return e.backend.Journal().Last()
}

// cancelWait is how long the backend may take to notice that a client is gone.
// GUARD-09 says within a second; a loaded machine gets more.
const cancelWait = 5 * time.Second

// sawCancel waits until the backend has seen a request of this call end from
// the client's side.
func (e *Engine) sawCancel(ctx context.Context, after uint64) bool {
	ctx, cancel := context.WithTimeout(ctx, cancelWait)
	defer cancel()
	_, err := e.backend.Wait(ctx, mockbackend.Filter{After: after, ClientEnded: true}, 1)
	return err == nil
}

// runCompose runs a case of composition: template and arguments in, request or
// refusal out.
func (e *Engine) runCompose(ctx context.Context, k fixtures.Case) (schemas.RunResult, error) {
	var params schemas.ComposeParams
	if err := json.Unmarshal(k.Input, &params); err != nil {
		return schemas.RunResult{}, fmt.Errorf("case %s: reading its input: %w", k.ID, err)
	}
	run := schemas.RunResult{Via: schemas.FeatureCompose}
	var result schemas.ComposeResult
	start := time.Now()
	err := e.call(ctx, func(ctx context.Context) (err error) {
		result, err = e.target.Compose(ctx, params)
		return err
	})
	run.DurationMs = float64(time.Since(start).Microseconds()) / 1000
	if ctx.Err() != nil {
		return run, fmt.Errorf("case %s: %w", k.ID, context.Cause(ctx))
	}
	finding, err := e.noAnswer(ctx, k, &judge.Exchange{Case: k, Via: schemas.FeatureCompose, Answer: target.Answer{}}, err)
	if err != nil || finding != nil {
		run.Findings = deref(finding)
		return run, err
	}
	run.Findings, err = judge.Composed(k, result)
	if len(run.Findings) > 0 {
		run.Answer = string(slices.Concat(result.Request, result.Refusal))
	}
	return run, err
}
