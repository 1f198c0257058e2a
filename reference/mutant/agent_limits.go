package mutant

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"example.com/touchstone/reference/agent"
	"example.com/touchstone/reference/serve"
)

// offering changes the reading of produce_output.
func offering(read func(was func(*agent.Call, string) (json.RawMessage, error), c *agent.Call, arguments string) (json.RawMessage, error)) func() serve.Reference {
	return thinking(func(p *agent.Policy) {
		was := p.Output
		p.Output = func(c *agent.Call, arguments string) (json.RawMessage, error) { return read(was, c, arguments) }
	})
}

// revaluing changes the value of a valid output.
func revaluing(edit func(value string) string) func() serve.Reference {
	return offering(func(was func(*agent.Call, string) (json.RawMessage, error), c *agent.Call, arguments string) (json.RawMessage, error) {
		value, err := was(c, arguments)
		return json.RawMessage(edit(string(value))), err
	})
}

// missing takes some values for none.
func missing(when func(value gjson.Result) bool) func() serve.Reference {
	return offering(func(was func(*agent.Call, string) (json.RawMessage, error), c *agent.Call, arguments string) (json.RawMessage, error) {
		if value := gjson.Get(arguments, "value"); value.Exists() && when(value) {
			return nil, errors.New("there is no value")
		}
		return was(c, arguments)
	})
}

func isString(value string) bool { return strings.HasPrefix(value, `"`) }

// agentValueMutants break results.
func agentValueMutants() []Mutant {
	const kept = 64 << 10
	return slices.Concat(
		group(breaks("AGENT-01"),
			mutant("agent-value-as-text", "It gives every value as a text.", revaluing(func(value string) string {
				if isString(value) {
					return value
				}
				return quote(value)
			})),
			mutant("agent-value-parsed", "It reads a text once more where it is JSON.", revaluing(func(value string) string {
				var text string
				if isString(value) && json.Unmarshal([]byte(value), &text) == nil && json.Valid([]byte(text)) {
					return text
				}
				return value
			})),
			mutant("agent-value-cut", "It cuts long texts.", revaluing(func(value string) string {
				if isString(value) && len(value) > kept {
					return value[:kept] + `"`
				}
				return value
			})),
			mutant("agent-value-objects-only", "It takes nothing but objects for a result.", missing(func(value gjson.Result) bool { return !value.IsObject() })),
			mutant("agent-value-lost", "It gives null for every value.", revaluing(func(string) string { return "null" })),
			mutant("agent-value-whole", "It gives the arguments of the call for the value.", offering(func(was func(*agent.Call, string) (json.RawMessage, error), c *agent.Call, arguments string) (json.RawMessage, error) {
				_, err := was(c, arguments)
				return json.RawMessage(arguments), err
			})),
			mutant("agent-tool-results-swapped", "It gives the model the results of its tools in the wrong places.", thinking(func(p *agent.Policy) {
				was := p.Ask
				p.Ask = func(ctx context.Context, m agent.Model, messages []agent.Message, tools []agent.Tool) (agent.Message, error) {
					messages = slices.Clone(messages)
					if n := len(messages); n > 1 && messages[n-1].Role == agent.RoleTool && messages[n-2].Role == agent.RoleTool && notOurs(messages[n-3]) {
						messages[n-1].Content, messages[n-2].Content = messages[n-2].Content, messages[n-1].Content
					}
					return was(ctx, m, messages, tools)
				}
			})),
		),
		group(breaks("AGENT-19"),
			mutant("agent-null-missing", "It takes null for a missing value.", missing(func(value gjson.Result) bool { return value.Type == gjson.Null })),
			mutant("agent-falsy-missing", "It takes every value that counts as false for a missing one.", missing(func(value gjson.Result) bool {
				return slices.Contains([]string{"null", "false", "0", `""`, "[]", "{}"}, value.Raw)
			})),
			mutant("agent-empty-missing", "It takes an empty list or object for a missing value.", missing(func(value gjson.Result) bool {
				return value.Raw == "[]" || value.Raw == "{}"
			})),
		),
	)
}

// notOurs tells a message that calls nothing but tools.
func notOurs(m agent.Message) bool {
	return !slices.ContainsFunc(m.ToolCalls, func(call agent.ToolCall) bool { return strings.HasPrefix(call.Name, "produce_") })
}

// agentLimitMutants break the bounds of attempts, turns and time.
func agentLimitMutants() []Mutant {
	attempts := func(givesUp func(attempts, allowed int64) bool) func() serve.Reference {
		return thinking(func(p *agent.Policy) { p.GivesUp = givesUp })
	}
	turns := func(tooMany func(steps, allowed int64) bool) func() serve.Reference {
		return thinking(func(p *agent.Policy) { p.TooMany = tooMany })
	}
	// limiting changes the time that an invocation has.
	limiting := func(edit func(limit time.Duration) time.Duration) func() serve.Reference {
		return thinking(func(p *agent.Policy) {
			p.Deadline = func(ctx context.Context, c *agent.Call) (context.Context, context.CancelFunc) {
				return agent.WithTimeout(ctx, edit(c.Request.Limits.Timeout))
			}
		})
	}
	return slices.Concat(
		group(breaks("AGENT-04"),
			mutant("agent-output-unchecked", "It takes every output for valid.", offering(func(_ func(*agent.Call, string) (json.RawMessage, error), _ *agent.Call, arguments string) (json.RawMessage, error) {
				value := gjson.Get(arguments, "value")
				if !gjson.Valid(arguments) || !value.Exists() {
					return nil, errors.New("there is no value")
				}
				return json.RawMessage(value.Raw), nil
			})),
			mutant("agent-output-unexplained", "It does not say what is wrong with an output.", thinking(func(p *agent.Policy) {
				p.Correction = func(error) string { return "This output is not valid." }
			})),
			mutant("agent-attempts-one", "It gives up after the first output that is not valid.", attempts(func(int64, int64) bool { return true })),
			mutant("agent-attempts-one-less", "It allows one attempt less.", attempts(func(attempts, allowed int64) bool { return attempts >= allowed-1 })),
		),
		group(breaks("AGENT-05"),
			mutant("agent-attempts-one-more", "It allows one attempt more.", attempts(func(attempts, allowed int64) bool { return attempts > allowed })),
			mutant("agent-attempts-raised", "It raises when the attempts are used up.", raising(agent.SchemaValidation)),
			mutant("agent-attempts-misnamed", "It says that turns were used up when attempts were.", misnaming(agent.SchemaValidation, agent.MaxTurns)),
		),
		group(breaks("AGENT-06"),
			mutant("agent-turns-one-less", "It allows one turn less.", turns(func(steps, allowed int64) bool { return steps >= allowed })),
			mutant("agent-turns-one-more", "It allows one turn more.", turns(func(steps, allowed int64) bool { return steps > allowed+1 })),
			mutant("agent-turns-none", "It allows no turn without a result.", turns(func(int64, int64) bool { return true })),
			mutant("agent-turns-raised", "It raises when the turns are used up.", raising(agent.MaxTurns)),
			mutant("agent-turns-misnamed", "It says that the time was up when the turns were.", misnaming(agent.MaxTurns, agent.Timeout)),
			mutant("agent-turns-silent", "It asks again without a reminder.", thinking(func(p *agent.Policy) { p.Reminder = "" })),
		),
		group(breaks("AGENT-07"),
			mutant("agent-timeout-raised", "It raises when the time is up.", raising(agent.Timeout)),
			mutant("agent-timeout-late", "It waits twice as long.", limiting(func(limit time.Duration) time.Duration { return 2 * limit })),
			mutant("agent-timeout-early", "It does not wait for its whole time.", limiting(func(limit time.Duration) time.Duration { return limit * 9 / 10 })),
			mutant("agent-timeout-misnamed", "It says that turns were used up when the time was.", misnaming(agent.Timeout, agent.MaxTurns)),
			mutant("agent-timeout-per-request", "It counts the time anew with each request.", thinking(func(p *agent.Policy) {
				was := p.Ask
				p.Deadline = func(ctx context.Context, c *agent.Call) (context.Context, context.CancelFunc) {
					return context.WithValue(ctx, limitKey{}, c.Request.Limits.Timeout), func() {}
				}
				p.Ask = func(ctx context.Context, m agent.Model, messages []agent.Message, tools []agent.Tool) (agent.Message, error) {
					ctx, cancel := context.WithTimeout(ctx, ctx.Value(limitKey{}).(time.Duration))
					defer cancel()
					reply, err := was(ctx, m, messages, tools)
					if ctx.Err() != nil {
						return reply, errSlow
					}
					return reply, err
				}
				p.Settle = func(_ context.Context, _ *agent.Call, outcome agent.Outcome, err error) (agent.Outcome, error) {
					if errors.Is(err, errSlow) {
						return agent.Outcome{Error: &agent.Error{Message: "The time is up."}, Cause: agent.Timeout}, nil
					}
					return outcome, err
				}
			})),
		),
	)
}

type limitKey struct{}

var errSlow = errors.New("the model is slow")
