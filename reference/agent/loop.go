package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// The two calls that every model is offered besides the tools.
const (
	produceOutput = "produce_output"
	produceError  = "produce_error"
)

// converse talks with the model until there is an outcome.
func (c *Call) converse(ctx context.Context) (Outcome, error) {
	session := c.Object.session(c.Request.Session)
	c.messages = slices.Clone(session.messages)
	if len(c.messages) == 0 {
		prompt, err := c.systemPrompt(ctx)
		if err != nil {
			return Outcome{}, &Exception{PromptHookFailure, err}
		}
		if prompt != "" {
			c.messages = append(c.messages, Message{Role: RoleSystem, Content: prompt})
		}
	}
	c.messages = append(c.messages, Message{Role: RoleUser, Content: c.Request.Prompt})
	for {
		if err := ctx.Err(); err != nil {
			return Outcome{}, &Exception{Internal, err}
		}
		reply, err := c.Policy.Ask(ctx, c.Object.Model, c.messages, c.offered())
		if err != nil {
			return Outcome{}, exception(Internal, "asking the model: %w", err)
		}
		c.messages = append(c.messages, reply)
		outcome, err := c.step(ctx, reply)
		if err != nil {
			return Outcome{}, err
		}
		if outcome != nil {
			c.Policy.Keep(session, c.messages)
			return *outcome, nil
		}
	}
}

// systemPrompt sets a session up.
func (c *Call) systemPrompt(ctx context.Context) (string, error) {
	var prompt string
	for _, hook := range c.Object.SystemPrompt {
		part, err := hook(ctx)
		if err := c.Policy.PromptError(err); err != nil {
			return "", err
		}
		if prompt != "" && part != "" {
			prompt += "\n\n"
		}
		prompt += part
	}
	return prompt, nil
}

// step answers one message of the model. A nil outcome means that the model is
// to be asked again.
func (c *Call) step(ctx context.Context, reply Message) (*Outcome, error) {
	if len(reply.ToolCalls) == 0 {
		return c.finished(), nil
	}
	for _, call := range reply.ToolCalls {
		text, outcome, err := c.answer(ctx, call)
		if outcome != nil || err != nil {
			return outcome, err
		}
		c.messages = append(c.messages, Message{Role: RoleTool, ToolCallID: call.ID, Content: text})
	}
	return nil, nil
}

// finished deals with a step without calls: the end where there is an error,
// else a reminder, as often as there are turns (AGENT-03, AGENT-06).
func (c *Call) finished() *Outcome {
	if c.error != nil {
		return &Outcome{Error: c.error, Cause: ProduceError}
	}
	c.steps++
	if c.Policy.TooMany(c.steps, c.Request.Limits.MaxTurns) {
		outcome := failed(MaxTurns, fmt.Sprintf("There was no result after %d turns.", c.Request.Limits.MaxTurns))
		return &outcome
	}
	c.messages = append(c.messages, Message{Role: RoleUser, Content: c.Policy.Reminder})
	return nil
}

// answer carries out one call of the model: its result as text, or the outcome
// of the invocation.
func (c *Call) answer(ctx context.Context, call ToolCall) (string, *Outcome, error) {
	switch call.Name {
	case produceOutput:
		text, outcome := c.offer(call.Arguments)
		return text, outcome, nil
	case produceError:
		var arguments struct{ Message *string }
		if json.Unmarshal([]byte(call.Arguments), &arguments) != nil || arguments.Message == nil {
			return `The arguments must be {"message": "why the task cannot be done"}.`, nil, nil
		}
		text, outcome := c.Policy.Fail(c, *arguments.Message)
		return text, outcome, nil
	}
	text, err := c.use(ctx, call)
	return text, nil, err
}

// offer takes an output that is valid for the result, and says of another what
// is wrong, as often as there are attempts (AGENT-04, AGENT-05).
func (c *Call) offer(arguments string) (string, *Outcome) {
	value, err := c.Policy.Output(c, arguments)
	if err == nil {
		return "", &Outcome{Value: value}
	}
	c.attempts++
	if c.Policy.GivesUp(c.attempts, c.Request.Limits.OutputAttempts) {
		outcome := failed(SchemaValidation, fmt.Sprintf("No valid output after %d attempts: %v", c.attempts, err))
		return "", &outcome
	}
	return c.Policy.Correction(err), nil
}

// use runs a tool. That there is no such tool, or that the arguments are no
// JSON, is the model's mistake, and it is told.
func (c *Call) use(ctx context.Context, call ToolCall) (text string, err error) {
	i := slices.IndexFunc(c.Object.Tools, func(t Tool) bool { return t.Name == call.Name })
	if i < 0 {
		return fmt.Sprintf("There is no tool %q.", call.Name), nil
	}
	if call.Arguments == "" {
		call.Arguments = "{}" // what some models send for a call without any
	}
	if !json.Valid([]byte(call.Arguments)) {
		return "The arguments are not valid JSON.", nil
	}
	result, err := guarded(ctx, c.Object.Tools[i], json.RawMessage(call.Arguments))
	if err != nil {
		return c.Policy.ToolError(ctx, call.Name, err)
	}
	encoded, err := json.Marshal(result)
	if err != nil {
		return "", exception(ToolFailure, "tool %s: its result is not JSON: %w", call.Name, err)
	}
	if text, ok := result.(string); ok {
		return text, nil
	}
	return string(encoded), nil
}

// guarded calls a tool; a panic is an error of it.
func guarded(ctx context.Context, tool Tool, arguments json.RawMessage) (result any, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return tool.Call(ctx, arguments)
}

var errNoValue = errors.New(`the arguments must be {"value": …}`)

// ReadOutput gives the value of a produce_output call if the schema allows it.
// It is missing where the member is, and not where it is null (AGENT-19).
func ReadOutput(c *Call, arguments string) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &members); err != nil {
		return nil, fmt.Errorf("the arguments are not a JSON object: %w", err)
	}
	value, ok := members["value"]
	if !ok {
		return nil, errNoValue
	}
	return value, c.output.check(value)
}

// offered are the tools that the model may call.
func (c *Call) offered() []Tool {
	value := c.Request.OutputSchema
	if value == nil {
		value = json.RawMessage(`{}`)
	}
	return append(slices.Clone(c.Object.Tools),
		Tool{
			Name: produceOutput, Description: "Give the result of the task.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"value":` + string(value) + `},"required":["value"]}`),
		},
		Tool{
			Name: produceError, Description: "Say that the task cannot be done, and why. Another attempt is still possible afterwards.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`),
		},
	)
}
