// Package agent runs an agent loop with three outcomes that are kept apart: a
// value, an [Error] that the agent returns, and a Go error for what broke
// around it.
//
// An [Object] is invoked with a task. It asks its model, runs the tools that
// the model calls, and ends when the model calls produce_output or stops after
// produce_error. A tool may invoke another object: an Error is then a value in
// the tool's hands, and a Go error is the tool's to handle or to return.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Error says that the agent could not do its task. It is a value, like a
// result, and deliberately no Go error: it is returned where results are, and
// cannot be mistaken for something that broke. Two Errors are equal (==) exactly
// when their messages are (AGENT-18).
type Error struct{ Message string }

// Cause tells why there is an [Error].
type Cause string

// The causes of an Error.
const (
	ProduceError     Cause = "produce_error"
	SchemaValidation Cause = "schema_validation"
	MaxTurns         Cause = "max_turns"
	Timeout          Cause = "timeout"
	InvocationHook   Cause = "invocation_hook"
	SessionConflict  Cause = "session_conflict"
)

// Outcome is what an invocation returned: a value, or, where Error is not nil,
// an Error and its cause.
type Outcome struct {
	Value json.RawMessage
	Error *Error
	Cause Cause
}

// failed gives the outcome of an agent that could not do its task.
func failed(cause Cause, message string) Outcome {
	return Outcome{Error: &Error{message}, Cause: cause}
}

// Kind tells what broke.
type Kind string

// The kinds of an Exception.
const (
	ToolFailure          Kind = "tool_failure"
	InvalidConfiguration Kind = "invalid_configuration"
	LockTimeout          Kind = "lock_timeout"
	PromptHookFailure    Kind = "prompt_hook_failure"
	Internal             Kind = "internal"
)

// Exception is the Go error of an invocation: something broke around the agent,
// which itself has not failed. Unwrap gives what happened, such as the error
// that a tool returned.
type Exception struct {
	Kind Kind
	Err  error
}

func (e *Exception) Error() string { return fmt.Sprintf("%s: %v", e.Kind, e.Err) }

// Unwrap gives what happened.
func (e *Exception) Unwrap() error { return e.Err }

func exception(kind Kind, format string, args ...any) error {
	return &Exception{kind, fmt.Errorf(format, args...)}
}

// Tool is something the model may call. Its error ends the invocation as an
// exception (AGENT-10); what the model should know, Call returns.
type Tool struct {
	Name        string
	Description string
	// Parameters is the JSON Schema of the arguments; nil takes any object.
	Parameters json.RawMessage
	Call       func(ctx context.Context, arguments json.RawMessage) (any, error)
}

// An InvokeHook looks at an invocation before it starts. A string that is not
// nil ends it (AGENT-08).
type InvokeHook func(ctx context.Context, r Request) *string

// A PromptHook gives a part of the system prompt, when a session is set up.
type PromptHook func(ctx context.Context) (string, error)

// Limits bound an invocation.
type Limits struct {
	// MaxTurns is how many finished steps without a result are answered with a
	// reminder.
	MaxTurns int64
	// OutputAttempts is how many outputs may be offered, at least 1.
	OutputAttempts int64
	// Timeout bounds the invocation from when it has the lock, and LockTimeout
	// the waiting for the lock. Both are positive.
	Timeout, LockTimeout time.Duration
}

// DefaultLimits are generous.
func DefaultLimits() Limits {
	return Limits{MaxTurns: 5, OutputAttempts: 3, Timeout: 2 * time.Minute, LockTimeout: 2 * time.Minute}
}

// Request is one invocation.
type Request struct {
	Prompt string
	// Session names a persistent session, whose conversation goes on with each
	// call; "" is a transient one.
	Session string
	// OutputSchema is the JSON Schema of the value asked for; nil takes any.
	OutputSchema json.RawMessage
	Limits       Limits
}

// Object is an agent with its tools, hooks and sessions. It runs one invocation
// at a time; others wait for it. It may be invoked from many goroutines, and its
// fields must not be changed once it is.
type Object struct {
	// Model is what the agent thinks with; nil means that no agent is available.
	Model Model
	Tools []Tool
	// OnInvoke are asked in order, and SystemPrompt is put together in order.
	OnInvoke     []InvokeHook
	SystemPrompt []PromptHook
	// Policy is how it works; nil is [DefaultPolicy].
	Policy *Policy

	lock     lock
	mu       sync.Mutex // guards sessions
	sessions map[string]*session
}

// Invoke runs an invocation to its end. What the agent answers, and its failure
// at the task, is the Outcome; the error, if any, is an [*Exception].
func (o *Object) Invoke(ctx context.Context, r Request) (Outcome, error) {
	c := &Call{Object: o, Request: r, Policy: o.Policy}
	if c.Policy == nil {
		c.Policy = DefaultPolicy()
	}
	outcome, err := c.run(ctx)
	return c.Policy.Settle(ctx, c, outcome, err)
}

// Call is an invocation on its way.
type Call struct {
	Object  *Object
	Request Request
	Policy  *Policy

	output   checker // of the values that are asked for
	messages []Message
	error    *Error // of the latest produce_error
	steps    int64  // finished without a result
	attempts int64  // outputs offered in vain
}

// run takes a call through its gates, in the order in which they cost: nothing,
// a look at the sessions, waiting, and the model.
func (c *Call) run(ctx context.Context) (Outcome, error) {
	if err := c.Policy.Configure(c); err != nil {
		return Outcome{}, &Exception{InvalidConfiguration, err}
	}
	for _, hook := range c.Policy.Hooks(c.Object.OnInvoke) {
		if text := hook(ctx, c.Request); c.Policy.Aborts(text) {
			return failed(InvocationHook, *text), nil
		}
	}
	leave, ok := c.Policy.Enter(c)
	if !ok {
		return failed(SessionConflict, fmt.Sprintf("The session %q is active.", c.Request.Session)), nil
	}
	defer leave()
	unlock, err := c.Policy.Lock(ctx, c)
	if err != nil {
		if errors.Is(err, errBusy) {
			return Outcome{}, exception(LockTimeout, "the object was busy for %v", c.Request.Limits.LockTimeout)
		}
		return Outcome{}, exception(Internal, "waiting for the lock: %w", err)
	}
	defer unlock()
	ctx, cancel := c.Policy.Deadline(ctx, c)
	defer cancel()
	outcome, err := c.converse(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errTimeout) {
		// What broke, broke because the time was up.
		return failed(Timeout, fmt.Sprintf("There was no result within %v.", c.Request.Limits.Timeout)), nil
	}
	return outcome, err
}

// configure refuses what cannot be run (AGENT-11).
func configure(c *Call) error {
	limits := c.Request.Limits
	switch {
	case c.Object.Model == nil:
		return errors.New("no agent is available: the object has no model")
	case limits.MaxTurns < 0:
		return fmt.Errorf("the number of turns is %d; it cannot be negative", limits.MaxTurns)
	case limits.OutputAttempts < 1:
		return fmt.Errorf("the number of output attempts is %d; there must be one at least", limits.OutputAttempts)
	case limits.Timeout <= 0 || limits.LockTimeout <= 0:
		return fmt.Errorf("the timeouts are %v and %v; they must be positive", limits.Timeout, limits.LockTimeout)
	}
	names := map[string]bool{produceOutput: true, produceError: true}
	for _, tool := range c.Object.Tools {
		if names[tool.Name] {
			return fmt.Errorf("there are two tools named %q", tool.Name)
		}
		names[tool.Name] = true
	}
	var err error
	c.output, err = compile(c.Request.OutputSchema)
	return err
}
