package schemas_test

import (
	"encoding/json"
	"testing"

	"example.com/touchstone/schemas"
)

// What the Go types of agents write keeps to the schemas.
func TestAgentTypes(t *testing.T) {
	limits := schemas.AgentLimits{MaxTurns: 1, OutputAttempts: 1, TimeoutMs: 1, LockTimeoutMs: 1}
	null := json.RawMessage(`null`)
	for _, tc := range []struct {
		ref   schemas.Ref
		value any
	}{
		{schemas.AgentResultSchema, schemas.AgentOutcome{Outcome: schemas.OutcomeResult, Value: null}},
		{schemas.AgentErrorSchema, schemas.AgentOutcome{Outcome: schemas.OutcomeError, Message: ptr("")}},
		{schemas.AgentErrorSchema, schemas.AgentOutcome{Outcome: schemas.OutcomeError, Message: ptr("m"), Cause: "timeout"}},
		{schemas.AgentExceptionSchema, schemas.AgentOutcome{Outcome: schemas.OutcomeException, Message: ptr("m"), Kind: "internal"}},
		{schemas.AgentRunParamsSchema, schemas.AgentRunParams{Object: "o", Limits: limits}},
		{schemas.AgentRunParamsSchema, schemas.AgentRunParams{
			Object: "o", Prompt: "p", Session: "s", OutputSchema: null, Limits: schemas.AgentLimits{MaxTurns: -1},
			Agent: schemas.AgentDefinition{
				BaseURL: "http://127.0.0.1:1/v1", Model: "m", Stream: true,
				Tools: []schemas.AgentTool{{Name: "t", Calls: []schemas.ToolBehavior{
					{DelayMs: 1, Returns: null}, {Raises: ptr("")},
					{Invoke: &schemas.SubInvocation{Agent: "h", Prompt: "p", OutputSchema: json.RawMessage(`{}`), Limits: limits, OnError: null, OnException: null}},
				}}},
				SubAgents:    map[string]schemas.AgentDefinition{"h": {Unavailable: true}},
				OnInvoke:     [][]schemas.InvokeHookCall{{{Allow: true}, {Abort: ptr("")}}},
				SystemPrompt: [][]schemas.PromptHookCall{{{Text: ptr("")}, {Raises: ptr("x")}}},
			},
		}},
		{schemas.AgentEqualParamsSchema, schemas.AgentEqualParams{Errors: [2]schemas.AgentErrorValue{{Message: ""}, {Message: "m", Cause: "timeout"}}}},
		{schemas.AgentEqualResultSchema, schemas.AgentEqualResult{}},
		{schemas.ModelScriptSchema, schemas.ModelScript{Turns: []schemas.ModelTurn{
			{Text: ptr(""), DelayMs: 1, Hold: "h", Within: true, Repeat: true}, {Refusal: ptr("r"), Finish: "length"}, {Status: 500}, {Malformed: true}, {Drop: true},
			{Calls: []schemas.ModelCall{{Name: "n", ID: "i", Arguments: null}, {Name: "n", RawArguments: ptr("{")}}},
		}}},
		{schemas.RequestSchema, schemas.Request{JSONRPC: "2.0", ID: 1, Method: "agent.run"}},
		{schemas.RequestSchema, schemas.Request{JSONRPC: "2.0", ID: 1, Method: "agent.equal"}},
	} {
		doc := encode(t, tc.value)
		if err := schemas.Check(tc.ref, doc); err != nil {
			t.Errorf("%s: %s: %v", tc.ref, doc, err)
		}
	}
}

// Each of these breaks a schema of agents in one place.
func TestAgentSchemasAreClosed(t *testing.T) {
	const run = `"object":"o","prompt":"p","limits":{"maxTurns":1,"outputAttempts":1,"timeoutMs":1,"lockTimeoutMs":1}`
	for _, tc := range []struct {
		ref schemas.Ref
		doc string
	}{
		{schemas.AgentResultSchema, `{"outcome":"result"}`},
		{schemas.AgentResultSchema, `{"outcome":"error","value":1}`},
		{schemas.AgentErrorSchema, `{"outcome":"error"}`},
		{schemas.AgentErrorSchema, `{"outcome":"error","message":null}`},
		{schemas.AgentErrorSchema, `{"outcome":"error","message":"","cause":"internal"}`},
		{schemas.AgentErrorSchema, `{"outcome":"error","message":"","kind":"internal"}`},
		{schemas.AgentExceptionSchema, `{"outcome":"exception","message":"","kind":"timeout"}`},
		{schemas.AgentRunParamsSchema, `{` + run + `}`},
		{schemas.AgentRunParamsSchema, `{"agent":{},"object":"o","prompt":"p","limits":{"maxTurns":1}}`},
		{schemas.AgentRunParamsSchema, `{"agent":{"tools":[{"name":"t","calls":[]}]},` + run + `}`},
		{schemas.AgentRunParamsSchema, `{"agent":{"tools":[{"name":"t","calls":[{"returns":1,"raises":""}]}]},` + run + `}`},
		{schemas.AgentRunParamsSchema, `{"agent":{"onInvoke":[[{"allow":true,"abort":""}]]},` + run + `}`},
		{schemas.AgentRunParamsSchema, `{"agent":{"onInvoke":[[]]},` + run + `}`},
		{schemas.AgentRunParamsSchema, `{"agent":{"systemPrompt":[[{}]]},` + run + `}`},
		{schemas.AgentRunParamsSchema, `{"agent":{},"session":"",` + run + `}`},
		{schemas.AgentRunResultSchema, `[]`},
		{schemas.AgentEqualParamsSchema, `{"errors":[{"message":"a"}]}`},
		{schemas.AgentEqualResultSchema, `{}`},
		{schemas.ModelScriptSchema, `{}`},
		{schemas.ModelScriptSchema, `{"turns":[{}]}`},
		{schemas.ModelScriptSchema, `{"turns":[{"status":500,"text":"x"}]}`},
		{schemas.ModelScriptSchema, `{"turns":[{"calls":[{"name":"n","arguments":1,"rawArguments":"1"}]}]}`},
		{schemas.AgentCaseSchema, `{}`},
		{schemas.AgentCaseSchema, `{"models":{},"objects":{},"runs":[]}`},
		{schemas.AgentCaseSchema, `{"models":{},"objects":{},"runs":[{"expected":[]}]}`},
		{schemas.AgentCaseSchema, `{"models":{},"objects":{},"runs":[{"expected":[{"outcome":"maybe"}]}]}`},
		{schemas.AgentCaseSchema, `{"models":{},"objects":{},"runs":[{"expected":[{"outcome":"result"}]}],"journal":[{"model":"m"}]}`},
	} {
		if violations, err := schemas.Validate(tc.ref, []byte(tc.doc)); err != nil || len(violations) == 0 {
			t.Errorf("%s took %s (%v)", tc.ref, tc.doc, err)
		}
	}
}
