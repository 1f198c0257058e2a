package serve_test

import (
	"encoding/json"
	"strings"
	"testing"

	"example.com/touchstone/mockbackend"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
)

// TestAgentRun: an object keeps its definition and its state from run to run,
// until the next configure.
func TestAgentRun(t *testing.T) {
	srv, err := mockbackend.Start(mockbackend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	scope := srv.Scope("agent")
	var script schemas.ModelScript
	if err := json.Unmarshal([]byte(`{"turns":[{"calls":[{"name":"delegate"}],"repeat":true}]}`), &script); err != nil {
		t.Fatal(err)
	}
	if err := scope.SetModel(script); err != nil {
		t.Fatal(err)
	}
	h := serve.New(serve.Reference{})
	text := func(s string) *string { return &s }
	limits := schemas.AgentLimits{MaxTurns: 1, OutputAttempts: 1, TimeoutMs: 30_000, LockTimeoutMs: 30_000}
	params := schemas.AgentRunParams{Object: "o", Limits: limits, Agent: schemas.AgentDefinition{
		BaseURL: scope.ModelURL(), Model: "m",
		Tools: []schemas.AgentTool{{Name: "delegate", Calls: []schemas.ToolBehavior{
			{Raises: text("first")}, {Invoke: &schemas.SubInvocation{Agent: "nobody", Limits: limits}},
		}}},
	}}
	configure := func() {
		if r := call(t, h, "configure", schemas.ConfigureParams{BackendURL: srv.URL(), OpenAPIURL: srv.URL() + "/openapi.json"}); r.Error != nil {
			t.Fatal(r.Error.Message)
		}
	}
	wants := func(part string) {
		t.Helper()
		r := call(t, h, "agent.run", params)
		if r.Error != nil || !strings.Contains(string(r.Result), part) || !strings.Contains(string(r.Result), `"kind":"tool_failure"`) {
			t.Errorf("got %s %v, want a tool's exception with %q", r.Result, r.Error, part)
		}
	}
	wants("first")
	wants(`no sub-agent \"nobody\"`)
	configure()
	wants("first")

	if r := call(t, h, "agent.run", map[string]any{"object": "o"}); r.Error == nil || r.Error.Code != schemas.InvalidParams {
		t.Errorf("params that are none: %s %v", r.Result, r.Error)
	}
	errors := func(a, b schemas.AgentErrorValue) schemas.AgentEqualParams {
		return schemas.AgentEqualParams{Errors: [2]schemas.AgentErrorValue{a, b}}
	}
	for want, params := range map[string]schemas.AgentEqualParams{
		`{"equal":true}`:  errors(schemas.AgentErrorValue{Message: "a", Cause: "timeout"}, schemas.AgentErrorValue{Message: "a"}),
		`{"equal":false}`: errors(schemas.AgentErrorValue{Message: "a"}, schemas.AgentErrorValue{Message: "b"}),
	} {
		if r := call(t, h, "agent.equal", params); string(r.Result) != want {
			t.Errorf("%+v: %s %v", params, r.Result, r.Error)
		}
	}
}
