package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

// callTool calls a meta-tool with arguments as they are.
func (e *Engine) callTool(ctx context.Context, call schemas.ToolCall) (target.Answer, error) {
	caller, ok := e.target.(target.ToolCaller)
	if !ok {
		return target.Answer{}, fmt.Errorf("the target claims %q, but has no way to call a meta-tool", schemas.FeatureMCP)
	}
	return caller.CallTool(ctx, call)
}

// members gives settings by name, each as JSON.
func members(settings schemas.ConfigureParams) (map[string]string, error) {
	text, err := json.Marshal(settings)
	if err != nil {
		return nil, fmt.Errorf("writing the settings: %w", err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("reading the settings: %w", err)
	}
	out := make(map[string]string, len(raw))
	for name, value := range raw {
		out[name] = string(value)
	}
	return out, nil
}

// preflightTimeout is how long the first call may take to reach the backend.
const preflightTimeout = 15 * time.Second

// preflight shows that a tool call of an MCP server reaches this run's backend.
// Without that, every case would fail for a reason that is no case's own.
func (e *Engine) preflight(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, preflightTimeout)
	defer cancel()
	if e.description.Operations != nil && !slices.Contains(e.description.Operations, "get_order") {
		return fmt.Errorf("the server has no operation get_order: let it expose the sample API, described at %s/openapi.json, or say what it calls it, as in --operation get_order=orders_getOrder", e.backend.URL())
	}
	id := e.order.Add(1)
	stub, err := e.backend.Add(schemas.Stub{
		Match:   schemas.StubMatch{Method: "GET", Path: fmt.Sprintf("/orders/%d", id)},
		Respond: &schemas.StubResponse{Status: 200, JSON: json.RawMessage(fmt.Sprintf(`{"id":%d}`, id))},
	})
	if err != nil {
		return fmt.Errorf("programming the mock backend: %w", err)
	}
	defer e.backend.Remove(stub)
	before := e.lastSeq()
	answer, err := e.target.Invoke(ctx, schemas.InvokeParams{Name: "get_order", Arguments: json.RawMessage(fmt.Sprintf(`{"id":%d}`, id))})
	if err != nil {
		return fmt.Errorf("a first call of get_order: %w", err)
	}
	if len(e.backend.Journal().Entries(mockbackend.Filter{Stub: stub})) > 0 {
		return nil
	}
	seen := "the mock backend received no request"
	if received := e.backend.Journal().Entries(mockbackend.Filter{After: before}); len(received) > 0 {
		seen = fmt.Sprintf("the mock backend received %s %s instead", received[0].Method, received[0].Target)
	}
	return fmt.Errorf("a call of get_order with id %d does not reach the mock backend: %s.\n"+
		"The server must send GET /orders/%d to %s. Check that it was started with that backend URL\n"+
		"(TOUCHSTONE_BACKEND_URL, or {backend} in the command; --mock-addr fixes the address for a server that runs already)\n"+
		"and that get_order is the operation GET /orders/{id}; --operation get_order=NAME maps another name.\n"+
		"The server answered: %s", id, seen, id, e.backend.URL(), excerptOf(answer))
}

func excerptOf(answer target.Answer) string {
	if answer.Envelope != nil {
		return target.Excerpt(answer.Envelope)
	}
	return target.Excerpt(answer.Raw)
}
