package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"example.com/touchstone/reference/agent"
	"example.com/touchstone/schemas"
)

// agents are the objects that runs have asked for, by name.
type agents struct {
	mu      sync.Mutex
	objects map[string]*agent.Object
}

// get gives an object, made by build where there is none yet.
func (a *agents) get(name string, build func() *agent.Object) *agent.Object {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.objects == nil {
		a.objects = map[string]*agent.Object{}
	}
	if a.objects[name] == nil {
		a.objects[name] = build()
	}
	return a.objects[name]
}

func (a *agents) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.objects = nil
}

// runAgent carries out "agent.run". Errors of the agent and exceptions around it
// are both outcomes, and none of them is an error of the protocol.
func (h *Handler) runAgent(ctx context.Context, raw json.RawMessage) (any, error) {
	params, err := decode[schemas.AgentRunParams](raw)
	if err != nil {
		return nil, err
	}
	object := h.agents.get(params.Object, func() *agent.Object { return h.object(params.Agent) })
	outcome, err := object.Invoke(ctx, agent.Request{
		Prompt: params.Prompt, Session: params.Session, OutputSchema: params.OutputSchema, Limits: agentLimits(params.Limits),
	})
	return agentOutcome(outcome, err), nil
}

// agentOutcome writes what an invocation gave.
func agentOutcome(outcome agent.Outcome, err error) schemas.AgentOutcome {
	text := func(s string) *string { return &s }
	var broken *agent.Exception
	switch {
	case errors.As(err, &broken):
		return schemas.AgentOutcome{Outcome: schemas.OutcomeException, Kind: string(broken.Kind), Message: text(broken.Err.Error())}
	case err != nil:
		return schemas.AgentOutcome{Outcome: schemas.OutcomeException, Message: text(err.Error())}
	case outcome.Error != nil:
		return schemas.AgentOutcome{Outcome: schemas.OutcomeError, Cause: string(outcome.Cause), Message: text(outcome.Error.Message)}
	}
	return schemas.AgentOutcome{Outcome: schemas.OutcomeResult, Value: outcome.Value}
}

func agentLimits(l schemas.AgentLimits) agent.Limits {
	return agent.Limits{
		MaxTurns: l.MaxTurns, OutputAttempts: l.OutputAttempts,
		Timeout: time.Duration(l.TimeoutMs) * time.Millisecond, LockTimeout: time.Duration(l.LockTimeoutMs) * time.Millisecond,
	}
}

// object builds what a definition describes.
func (h *Handler) object(d schemas.AgentDefinition) *agent.Object {
	o := &agent.Object{Policy: h.reference.Agent}
	if !d.Unavailable {
		o.Model = &agent.ChatModel{BaseURL: d.BaseURL, Name: d.Model, Stream: d.Stream, Client: &http.Client{Transport: h.transport}}
	}
	helpers := map[string]*agent.Object{}
	for name, helper := range d.SubAgents {
		helpers[name] = h.object(helper)
	}
	for _, tool := range d.Tools {
		next := inOrder(tool.Calls)
		o.Tools = append(o.Tools, agent.Tool{Name: tool.Name, Call: func(ctx context.Context, _ json.RawMessage) (any, error) {
			return h.behave(ctx, next(), helpers)
		}})
	}
	for _, calls := range d.OnInvoke {
		next := inOrder(calls)
		o.OnInvoke = append(o.OnInvoke, func(context.Context, agent.Request) *string { return next().Abort })
	}
	for _, calls := range d.SystemPrompt {
		next := inOrder(calls)
		o.SystemPrompt = append(o.SystemPrompt, func(context.Context) (string, error) {
			call := next()
			if call.Raises != nil {
				return "", errors.New(*call.Raises)
			}
			return *call.Text, nil
		})
	}
	return o
}

// inOrder gives what each call does, and from then on what the last one does.
func inOrder[T any](calls []T) func() T {
	var mu sync.Mutex
	n := 0
	return func() T {
		mu.Lock()
		defer mu.Unlock()
		call := calls[min(n, len(calls)-1)]
		n++
		return call
	}
}

// behave is the code of a tool.
func (h *Handler) behave(ctx context.Context, b schemas.ToolBehavior, helpers map[string]*agent.Object) (any, error) {
	if b.DelayMs > 0 {
		select {
		case <-time.After(time.Duration(b.DelayMs) * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	switch {
	case b.Raises != nil:
		return nil, errors.New(*b.Raises)
	case b.Invoke == nil:
		return b.Returns, nil
	}
	helper := helpers[b.Invoke.Agent]
	if helper == nil {
		return nil, fmt.Errorf("there is no sub-agent %q", b.Invoke.Agent)
	}
	outcome, err := helper.Invoke(ctx, agent.Request{
		Prompt: b.Invoke.Prompt, OutputSchema: b.Invoke.OutputSchema, Limits: agentLimits(b.Invoke.Limits),
	})
	switch {
	case err != nil && b.Invoke.OnException != nil:
		return b.Invoke.OnException, nil
	case err != nil:
		return nil, err
	case outcome.Error != nil && b.Invoke.OnError != nil:
		return b.Invoke.OnError, nil
	case outcome.Error != nil:
		return map[string]string{"error": outcome.Error.Message}, nil
	}
	return outcome.Value, nil
}

// equalErrors carries out "agent.equal".
func (h *Handler) equalErrors(_ context.Context, raw json.RawMessage) (any, error) {
	params, err := decode[schemas.AgentEqualParams](raw)
	if err != nil {
		return nil, err
	}
	equal := func(a, b agent.Outcome) bool { return *a.Error == *b.Error }
	if h.reference.ErrorsEqual != nil {
		equal = h.reference.ErrorsEqual
	}
	var values [2]agent.Outcome
	for i, e := range params.Errors {
		values[i] = agent.Outcome{Error: &agent.Error{Message: e.Message}, Cause: agent.Cause(e.Cause)}
	}
	return schemas.AgentEqualResult{Equal: equal(values[0], values[1])}, nil
}
