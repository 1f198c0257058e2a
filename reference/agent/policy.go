package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/xeipuuv/gojsonschema"
)

// Policy is how an object works, as values. A Policy must not be changed while
// it is in use.
type Policy struct {
	// Configure refuses what cannot be run, and makes the rest ready (AGENT-11).
	Configure func(c *Call) error
	// Hooks gives the order in which the on_invoke hooks are asked, and Aborts
	// tells whether what one returned ends the call (AGENT-08).
	Hooks  func([]InvokeHook) []InvokeHook
	Aborts func(text *string) bool
	// Enter makes a session active, or reports that it is (AGENT-09).
	Enter func(c *Call) (leave func(), ok bool)
	// Lock waits for the object (AGENT-12).
	Lock func(ctx context.Context, c *Call) (unlock func(), err error)
	// Deadline bounds a call that has the lock. It must end the context with
	// the cause that [WithTimeout] gives it (AGENT-07).
	Deadline func(ctx context.Context, c *Call) (context.Context, context.CancelFunc)
	// PromptError decides about an error of a system prompt hook (AGENT-13).
	PromptError func(error) error
	// Ask asks the model (AGENT-17).
	Ask func(ctx context.Context, m Model, messages []Message, tools []Tool) (Message, error)
	// Output reads a produce_output call, GivesUp tells whether another attempt
	// is one too many, and Correction says to the model what is wrong (AGENT-01,
	// AGENT-04, AGENT-05, AGENT-19).
	Output     func(c *Call, arguments string) (json.RawMessage, error)
	GivesUp    func(attempts, allowed int64) bool
	Correction func(err error) string
	// Fail takes a produce_error call: its result for the model, or the end of
	// the call (AGENT-02, AGENT-03).
	Fail func(c *Call, message string) (string, *Outcome)
	// TooMany tells whether a finished step is one too many; Reminder is what the
	// model is told otherwise (AGENT-06).
	TooMany  func(steps, allowed int64) bool
	Reminder string
	// ToolError decides about an error of a tool: a text for the model, or the
	// exception (AGENT-10, AGENT-15).
	ToolError func(ctx context.Context, tool string, err error) (string, error)
	// Keep stores a conversation that has come to its outcome (AGENT-16).
	Keep func(s *session, messages []Message)
	// Settle has the last word on what a call gives.
	Settle func(ctx context.Context, c *Call, outcome Outcome, err error) (Outcome, error)
}

// DefaultPolicy gives the conforming policy. Each call gives one of its own.
func DefaultPolicy() *Policy {
	return &Policy{
		Configure: configure,
		Hooks:     func(hooks []InvokeHook) []InvokeHook { return hooks },
		Aborts:    func(text *string) bool { return text != nil },
		Enter:     func(c *Call) (func(), bool) { return enter(c.Object, c.Request.Session) },
		Lock: func(ctx context.Context, c *Call) (func(), error) {
			return c.Object.lock.release, c.Object.lock.acquire(ctx, c.Request.Limits.LockTimeout)
		},
		Deadline: func(ctx context.Context, c *Call) (context.Context, context.CancelFunc) {
			return WithTimeout(ctx, c.Request.Limits.Timeout)
		},
		PromptError: func(err error) error { return err },
		Ask: func(ctx context.Context, m Model, messages []Message, tools []Tool) (Message, error) {
			return m.Complete(ctx, messages, tools)
		},
		Output:  ReadOutput,
		GivesUp: func(attempts, allowed int64) bool { return attempts >= allowed },
		Correction: func(err error) string {
			return fmt.Sprintf("This output is not valid: %v. Call %s again with a valid one.", err, produceOutput)
		},
		Fail: func(c *Call, message string) (string, *Outcome) {
			c.error = &Error{message}
			return "The error is noted. Stop to report it, or go on if there is another way.", nil
		},
		TooMany:  func(steps, allowed int64) bool { return steps > allowed },
		Reminder: fmt.Sprintf("There is no result yet. Call %s with the result, or %s with the reason why there is none.", produceOutput, produceError),
		ToolError: func(_ context.Context, tool string, err error) (string, error) {
			return "", exception(ToolFailure, "tool %s: %w", tool, err)
		},
		Keep:   keep,
		Settle: func(_ context.Context, _ *Call, outcome Outcome, err error) (Outcome, error) { return outcome, err },
	}
}

// WithTimeout ends the context when the time of an invocation is up, and says so
// in its cause.
func WithTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, errTimeout)
}

// checker checks values against a schema; its zero value takes all.
type checker struct{ schema *gojsonschema.Schema }

// foreignRef finds a reference that leads out of a schema.
func foreignRef(schema any) string {
	switch v := schema.(type) {
	case []any:
		for _, part := range v {
			if ref := foreignRef(part); ref != "" {
				return ref
			}
		}
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok && !strings.HasPrefix(ref, "#") {
			return ref
		}
		for _, part := range v {
			if ref := foreignRef(part); ref != "" {
				return ref
			}
		}
	}
	return ""
}

// compile reads a JSON Schema.
func compile(schema json.RawMessage) (checker, error) {
	if schema == nil {
		return checker{}, nil
	}
	var document any
	if err := json.Unmarshal(schema, &document); err != nil {
		return checker{}, fmt.Errorf("the output schema is not JSON: %w", err)
	}
	if ref := foreignRef(document); ref != "" {
		return checker{}, fmt.Errorf("the output schema refers to another document, %s, and nothing is fetched", ref)
	}
	compiled, err := gojsonschema.NewSchema(gojsonschema.NewBytesLoader(schema))
	if err != nil {
		return checker{}, fmt.Errorf("the output schema cannot be used: %w", err)
	}
	return checker{compiled}, nil
}

// check says what is wrong with a value.
func (c checker) check(value json.RawMessage) error {
	if c.schema == nil {
		return nil
	}
	result, err := c.schema.Validate(gojsonschema.NewBytesLoader(value))
	if err != nil {
		return fmt.Errorf("reading the value: %w", err)
	}
	var wrong []string
	for _, e := range result.Errors() {
		wrong = append(wrong, e.String())
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}
