package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"example.com/touchstone/fixtures"
	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/judge"
)

// agentWays are the ways of a case about agents: with plain answers of the model
// and with streamed ones.
func agentWays(k fixtures.Case) []string {
	ways := []string{schemas.FeatureAgent, schemas.FeatureAgentStreaming}
	if len(k.Via) > 0 {
		ways = slices.DeleteFunc(ways, func(way string) bool { return !slices.Contains(k.Via, way) })
	}
	return ways
}

// agentFeatures gives every feature that a case about agents needs, but for its way.
func agentFeatures(k fixtures.Case) ([]string, error) {
	in, err := k.AgentInput()
	if err != nil {
		return nil, err
	}
	features := []string{schemas.FeatureAgent}
	need := func(feature string, needed bool) {
		if needed && !slices.Contains(features, feature) {
			features = append(features, feature)
		}
	}
	need(schemas.FeatureErrorEquality, len(in.Comparisons) > 0)
	for _, object := range in.Objects {
		need(schemas.FeatureSubAgents, len(object.SubAgents) > 0)
		need(schemas.FeatureInvocationHooks, len(object.OnInvoke) > 0)
		need(schemas.FeaturePromptHooks, len(object.SystemPrompt) > 0)
	}
	for _, run := range in.Runs {
		need(schemas.FeaturePersistentSessions, run.Session != "")
	}
	slices.Sort(features)
	return features, nil
}

// together runs a case in several ways at once.
func (e *Engine) together(ctx context.Context, k fixtures.Case, ways []string) ([]schemas.RunResult, error) {
	runs, errs := make([]schemas.RunResult, len(ways)), make([]error, len(ways))
	var flight sync.WaitGroup
	for i, way := range ways {
		flight.Go(func() { runs[i], errs[i] = e.runVia(ctx, k, way) })
	}
	flight.Wait()
	return runs, errors.Join(errs...)
}

// attributeAgent places the findings of a case under the requirement that the
// first failing control is placed under: an agent gets to a case's subject only
// through what its controls are about. That a cause is left out says nothing
// about the rest.
func (e *Engine) attributeAgent(ctx context.Context, k fixtures.Case, way string, findings []schemas.Finding) error {
	counts := func(f schemas.Finding) bool { return f.Requirement != judge.NamesCause }
	if !slices.ContainsFunc(findings, counts) {
		return nil
	}
	for _, id := range k.Controls {
		found, err := e.control(ctx, id, way)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(found, counts)
		if at < 0 {
			continue
		}
		for i := range findings {
			if counts(findings[i]) {
				findings[i].Requirement, findings[i].Control = found[at].Requirement, id
			}
		}
		return nil
	}
	return nil
}

// stage is what a case about agents plays on: a scope of the mock backend for
// each of its models, and the objects under names that nobody else uses.
type stage struct {
	engine *Engine
	k      fixtures.Case
	in     schemas.AgentInput
	way    string
	key    string
	scopes map[string]*mockbackend.Scope
}

// runAgent runs a case about agents.
func (e *Engine) runAgent(ctx context.Context, k fixtures.Case, way string) (schemas.RunResult, error) {
	e.exclusive.RLock()
	defer e.exclusive.RUnlock()
	run := schemas.RunResult{Via: way}
	s := &stage{engine: e, k: k, way: way, key: newCanary(), scopes: map[string]*mockbackend.Scope{}}
	var err error
	if s.in, err = k.AgentInput(); err != nil {
		return run, err
	}
	defer s.strike()
	for name, script := range s.in.Models {
		scope := e.backend.Scope(s.key + "-" + name)
		s.scopes[name] = scope
		if err := scope.SetModel(script); err != nil {
			return run, fmt.Errorf("case %s: model %s: %w", k.ID, name, err)
		}
	}
	start := time.Now()
	x := &judge.AgentExchange{Case: k, Input: s.in, Streamed: way == schemas.FeatureAgentStreaming, Asked: map[string][]mockbackend.ChatRequest{}}
	if x.Runs, err = s.play(ctx); err != nil {
		return run, err
	}
	if x.Equal, err = s.compare(ctx); err != nil {
		return run, err
	}
	for name, scope := range s.scopes {
		x.Asked[name] = scope.ModelRequests()
	}
	run.DurationMs = float64(time.Since(start).Microseconds()) / 1000
	run.Findings, run.Answer, err = judge.Agents(x)
	return run, err
}

// strike ends what the models still hold back, and forgets them.
func (s *stage) strike() {
	for _, scope := range s.scopes {
		s.engine.backend.DropScope(scope.Key())
	}
}

// play starts each run in its time, and gives them when all have ended.
func (s *stage) play(ctx context.Context) ([]judge.AgentRun, error) {
	runs, errs := make([]judge.AgentRun, len(s.in.Runs)), make([]error, len(s.in.Runs))
	var flight sync.WaitGroup
	defer flight.Wait()
	ended := make([]chan struct{}, len(s.in.Runs))
	for i, spec := range s.in.Runs {
		if spec.Start == nil {
			flight.Wait()
		} else {
			s.await(ctx, *spec.Start, ended[:i])
		}
		params, err := s.params(spec)
		if err != nil {
			return nil, err
		}
		ended[i] = make(chan struct{})
		flight.Go(func() {
			defer close(ended[i])
			runs[i], errs[i] = s.run(ctx, spec, params)
			for _, scope := range s.scopes {
				scope.ReleaseModel(spec.Name)
			}
		})
	}
	flight.Wait()
	return runs, errors.Join(errs...)
}

// await waits until a model has had its requests. It gives up when the runs that
// could make them have ended: what they lacked is the judges' business.
func (s *stage) await(ctx context.Context, start schemas.RunStart, earlier []chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, s.engine.options.CallTimeout)
	defer cancel()
	over := make(chan struct{})
	go func() {
		defer close(over)
		for _, ended := range earlier {
			select {
			case <-ended:
			case <-ctx.Done():
				return
			}
		}
		cancel()
	}()
	filter := mockbackend.Filter{Path: mockbackend.ModelPath}
	_, _ = s.scopes[start.Model].Wait(ctx, filter, start.Requests)
	cancel()
	<-over
}

// params fills in what the definition of an object leaves to the stage.
func (s *stage) params(spec schemas.AgentRun) (schemas.AgentRunParams, error) {
	params := schemas.AgentRunParams{
		Object: s.key + "/" + spec.Object, Prompt: spec.Prompt, Session: spec.Session, OutputSchema: spec.OutputSchema,
		Limits: fixtures.DefaultAgentLimits,
	}
	if spec.Limits != nil {
		if err := json.Unmarshal(spec.Limits, &params.Limits); err != nil {
			return params, fmt.Errorf("case %s: the limits of a run: %w", s.k.ID, err)
		}
	}
	var err error
	params.Agent, err = s.definition(s.in.Objects[spec.Object])
	return params, err
}

func (s *stage) definition(d schemas.AgentDefinition) (schemas.AgentDefinition, error) {
	d.Stream = s.way == schemas.FeatureAgentStreaming
	scope, scripted := s.scopes[d.Model]
	switch {
	case d.BaseURL != "" || d.Unavailable:
	case scripted:
		d.BaseURL = scope.ModelURL()
	default:
		url, err := s.engine.backend.FaultyURL("refuse")
		if err != nil {
			return d, fmt.Errorf("case %s: making a port that refuses: %w", s.k.ID, err)
		}
		d.BaseURL = url + "/v1"
	}
	d.Model = mockbackend.ModelName
	helpers := map[string]schemas.AgentDefinition{}
	for name, helper := range d.SubAgents {
		var err error
		if helpers[name], err = s.definition(helper); err != nil {
			return d, err
		}
	}
	d.SubAgents = helpers
	return d, nil
}

// run makes one run. A failed call is a finding where the target is still to be
// judged.
func (s *stage) run(ctx context.Context, spec schemas.AgentRun, params schemas.AgentRunParams) (judge.AgentRun, error) {
	out := judge.AgentRun{Spec: spec}
	start := time.Now()
	err := s.engine.call(ctx, func(ctx context.Context) error {
		answer, err := s.engine.target.RunAgent(ctx, params)
		out.Answer = answer.Envelope
		return err
	})
	out.Elapsed = time.Since(start)
	if ctx.Err() != nil {
		return out, fmt.Errorf("case %s: %w", s.k.ID, context.Cause(ctx))
	}
	finding, err := s.engine.noAnswer(ctx, s.k, &judge.Exchange{Case: s.k, Via: s.way}, err)
	if finding != nil {
		out.NoAnswer = finding.Problem
	}
	return out, err
}

// compare has the target compare error values.
func (s *stage) compare(ctx context.Context) ([]bool, error) {
	var equal []bool
	for _, c := range s.in.Comparisons {
		var same bool
		err := s.engine.call(ctx, func(ctx context.Context) (err error) {
			same, err = s.engine.target.EqualErrors(ctx, schemas.AgentEqualParams{Errors: c.Errors})
			return err
		})
		if ctx.Err() != nil {
			return nil, fmt.Errorf("case %s: %w", s.k.ID, context.Cause(ctx))
		}
		finding, err := s.engine.noAnswer(ctx, s.k, &judge.Exchange{Case: s.k, Via: s.way}, err)
		if err != nil {
			return nil, err
		}
		if finding != nil {
			same = !c.Equal
		}
		equal = append(equal, same)
	}
	return equal, nil
}
