package schemas

import "encoding/json"

// KindAgent is the kind of a case about agent outcomes. Its input is an
// [AgentInput].
const KindAgent = "agent"

// Features of a target that runs agents.
const (
	FeatureAgent              = "agent"
	FeatureAgentStreaming     = "agent-streaming"
	FeatureSubAgents          = "sub-agents"
	FeaturePersistentSessions = "persistent-sessions"
	FeatureInvocationHooks    = "invocation-hooks"
	FeaturePromptHooks        = "prompt-hooks"
	FeatureErrorEquality      = "error-equality"
)

// The schemas of agents. The branch of an outcome is chosen by its
// discriminator first.
const (
	AgentResultSchema      Ref = "agent-outcome.schema.json#/definitions/result"
	AgentErrorSchema       Ref = "agent-outcome.schema.json#/definitions/error"
	AgentExceptionSchema   Ref = "agent-outcome.schema.json#/definitions/exception"
	AgentRunParamsSchema   Ref = "agent-run.schema.json#/definitions/runParams"
	AgentRunResultSchema   Ref = "agent-run.schema.json#/definitions/runResult"
	AgentEqualParamsSchema Ref = "agent-run.schema.json#/definitions/equalParams"
	AgentEqualResultSchema Ref = "agent-run.schema.json#/definitions/equalResult"
	AgentCaseSchema        Ref = "agent-case.schema.json"
	ModelScriptSchema      Ref = "model-script.schema.json"
)

// The outcomes of an invocation.
const (
	OutcomeResult    = "result"
	OutcomeError     = "error"
	OutcomeException = "exception"
)

// AgentOutcome is what an invocation gave. Value belongs to a result, Message
// and Cause to an error, Message and Kind to an exception.
type AgentOutcome struct {
	Outcome string          `json:"outcome"`
	Value   json.RawMessage `json:"value,omitempty"`
	Message *string         `json:"message,omitempty"`
	Cause   string          `json:"cause,omitempty"`
	Kind    string          `json:"kind,omitempty"`
}

// AgentRunParams are the params of "agent.run": one invocation of an object.
type AgentRunParams struct {
	// Object names the object: runs with the same name share its lock and sessions.
	Object       string          `json:"object"`
	Agent        AgentDefinition `json:"agent"`
	Prompt       string          `json:"prompt"`
	Session      string          `json:"session,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Limits       AgentLimits     `json:"limits"`
}

// AgentDefinition says what an object is like.
type AgentDefinition struct {
	// Unavailable leaves the object without an agent (AGENT-11).
	Unavailable bool `json:"unavailable,omitempty"`
	// BaseURL is the model's, as OpenAI clients take it: with /v1.
	BaseURL   string                     `json:"baseUrl,omitempty"`
	Model     string                     `json:"model,omitempty"`
	Stream    bool                       `json:"stream,omitempty"`
	Tools     []AgentTool                `json:"tools,omitempty"`
	SubAgents map[string]AgentDefinition `json:"subAgents,omitempty"`
	// OnInvoke and SystemPrompt are hooks, in order; each is a list of what its
	// calls do.
	OnInvoke     [][]InvokeHookCall `json:"onInvoke,omitempty"`
	SystemPrompt [][]PromptHookCall `json:"systemPrompt,omitempty"`
}

// AgentLimits bound an invocation.
type AgentLimits struct {
	MaxTurns       int64 `json:"maxTurns"`
	OutputAttempts int64 `json:"outputAttempts"`
	// TimeoutMs and LockTimeoutMs are milliseconds.
	TimeoutMs     int64 `json:"timeoutMs"`
	LockTimeoutMs int64 `json:"lockTimeoutMs"`
}

// AgentTool is a tool with what its calls do, in order; the last one goes on
// for ever.
type AgentTool struct {
	Name  string         `json:"name"`
	Calls []ToolBehavior `json:"calls"`
}

// ToolBehavior is what one call of a tool does: it returns, raises, or invokes
// a sub-agent, after a delay.
type ToolBehavior struct {
	DelayMs int64           `json:"delayMs,omitempty"`
	Returns json.RawMessage `json:"returns,omitempty"`
	Raises  *string         `json:"raises,omitempty"`
	Invoke  *SubInvocation  `json:"invoke,omitempty"`
}

// SubInvocation is a tool's invocation of a sub-agent. OnError is what the tool
// returns when it was given an error value, OnException when it has handled an
// exception; without it the exception goes through.
type SubInvocation struct {
	Agent        string          `json:"agent"`
	Prompt       string          `json:"prompt"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Limits       AgentLimits     `json:"limits"`
	OnError      json.RawMessage `json:"onError,omitempty"`
	OnException  json.RawMessage `json:"onException,omitempty"`
}

// InvokeHookCall is what one call of an on_invoke hook does.
type InvokeHookCall struct {
	Allow bool    `json:"allow,omitempty"`
	Abort *string `json:"abort,omitempty"`
}

// PromptHookCall is what one call of a system prompt hook does.
type PromptHookCall struct {
	Text   *string `json:"text,omitempty"`
	Raises *string `json:"raises,omitempty"`
}

// AgentEqualParams are the params of "agent.equal": two error values.
type AgentEqualParams struct {
	Errors [2]AgentErrorValue `json:"errors"`
}

// AgentErrorValue is an error value by its parts.
type AgentErrorValue struct {
	Message string `json:"message"`
	Cause   string `json:"cause,omitempty"`
}

// AgentEqualResult is the result of "agent.equal".
type AgentEqualResult struct {
	Equal bool `json:"equal"`
}

// ModelScript is what the scripted model answers, turn by turn.
type ModelScript struct {
	Turns []ModelTurn `json:"turns"`
}

// ModelTurn answers one request: with text, a refusal or tool calls, or with a
// failure. schemas/model-script.schema.json says what each member does.
type ModelTurn struct {
	Text      *string     `json:"text,omitempty"`
	Refusal   *string     `json:"refusal,omitempty"`
	Calls     []ModelCall `json:"calls,omitempty"`
	Finish    string      `json:"finish,omitempty"`
	Status    int         `json:"status,omitempty"`
	Malformed bool        `json:"malformed,omitempty"`
	Drop      bool        `json:"drop,omitempty"`
	DelayMs   int64       `json:"delayMs,omitempty"`
	Hold      string      `json:"hold,omitempty"`
	Within    bool        `json:"within,omitempty"`
	Repeat    bool        `json:"repeat,omitempty"`
}

// ModelCall is a tool call of the model.
type ModelCall struct {
	Name         string          `json:"name"`
	ID           string          `json:"id,omitempty"`
	Arguments    json.RawMessage `json:"arguments,omitempty"`
	RawArguments *string         `json:"rawArguments,omitempty"`
}

// AgentInput is the input of a case about agents.
type AgentInput struct {
	Models      map[string]ModelScript     `json:"models,omitempty"`
	Objects     map[string]AgentDefinition `json:"objects,omitempty"`
	Runs        []AgentRun                 `json:"runs,omitempty"`
	Journal     []ModelClaim               `json:"journal,omitempty"`
	Comparisons []ErrorComparison          `json:"comparisons,omitempty"`
}

// AgentRun is one run of a case and what is claimed of it.
type AgentRun struct {
	Name         string          `json:"name,omitempty"`
	Object       string          `json:"object,omitempty"`
	Prompt       string          `json:"prompt,omitempty"`
	Session      string          `json:"session,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// Limits are those that differ from the defaults.
	Limits json.RawMessage `json:"limits,omitempty"`
	Start  *RunStart       `json:"start,omitempty"`
	// Requirement is the id the run is judged under; "" is the case's subject.
	Requirement string `json:"requirement,omitempty"`
	// Expected are the outcomes that would do; members left out may be anything.
	Expected []AgentOutcome `json:"expected"`
	// MinMs and MaxMs are the window of the answer in milliseconds; 0 is no bound.
	MinMs int64 `json:"minMs,omitempty"`
	MaxMs int64 `json:"maxMs,omitempty"`
}

// RunStart lets a run start while earlier ones go on: once Model has had as
// many Requests.
type RunStart struct {
	Model    string `json:"model"`
	Requests int    `json:"requests"`
}

// ModelClaim is a claim about what a model was asked: how often, or in one
// request, counted from 1.
type ModelClaim struct {
	Model       string   `json:"model"`
	Requirement string   `json:"requirement,omitempty"`
	Requests    *int     `json:"requests,omitempty"`
	Request     int      `json:"request,omitempty"`
	ToolResult  string   `json:"toolResult,omitempty"`
	Reminder    bool     `json:"reminder,omitempty"`
	Contains    []string `json:"contains,omitempty"`
	Lacks       []string `json:"lacks,omitempty"`
	Tools       []string `json:"tools,omitempty"`
	Stream      bool     `json:"stream,omitempty"`
}

// ErrorComparison claims that two error values are equal, or that they are not.
type ErrorComparison struct {
	Errors [2]AgentErrorValue `json:"errors"`
	Equal  bool               `json:"equal"`
}
