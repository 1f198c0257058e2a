package mutant

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/touchstone/reference/agent"
	"example.com/touchstone/reference/serve"
)

// Agents gives the mutants of the reference agent: each breaks what it says.
func Agents() []Mutant {
	return slices.Concat(
		agentValueMutants(), agentErrorMutants(), agentLimitMutants(), agentHookMutants(),
		agentSessionMutants(), agentExceptionMutants(), agentHelperMutants(), agentAfterMutants(),
	)
}

// thinking changes a policy of the agent.
func thinking(edit func(p *agent.Policy)) func() serve.Reference {
	return func() serve.Reference {
		p := agent.DefaultPolicy()
		edit(p)
		return serve.Reference{Agent: p}
	}
}

// settling has the last word on what an invocation gives.
func settling(settle func(outcome agent.Outcome, err error) (agent.Outcome, error)) func() serve.Reference {
	return thinking(func(p *agent.Policy) {
		p.Settle = func(_ context.Context, _ *agent.Call, outcome agent.Outcome, err error) (agent.Outcome, error) {
			return settle(outcome, err)
		}
	})
}

// raising makes an exception of the errors with a cause.
func raising(cause agent.Cause) func() serve.Reference {
	return settling(func(outcome agent.Outcome, err error) (agent.Outcome, error) {
		if outcome.Error != nil && outcome.Cause == cause {
			return agent.Outcome{}, &agent.Exception{Kind: agent.Internal, Err: errors.New(outcome.Error.Message)}
		}
		return outcome, err
	})
}

// returning makes an error value of the exceptions of a kind.
func returning(kind agent.Kind) func() serve.Reference {
	return settling(func(outcome agent.Outcome, err error) (agent.Outcome, error) {
		if kindOf(err) == kind {
			return agent.Outcome{Error: &agent.Error{Message: err.Error()}, Cause: agent.ProduceError}, nil
		}
		return outcome, err
	})
}

// kindOf gives the kind of an exception, "" where there is none.
func kindOf(err error) agent.Kind {
	var broken *agent.Exception
	if errors.As(err, &broken) {
		return broken.Kind
	}
	return ""
}

// misnaming gives the errors with a cause another one.
func misnaming(cause, other agent.Cause) func() serve.Reference {
	return settling(func(outcome agent.Outcome, err error) (agent.Outcome, error) {
		if outcome.Error != nil && outcome.Cause == cause {
			outcome.Cause = other
		}
		return outcome, err
	})
}

// memory keeps something for each call, or each object, that a policy works for.
type memory[K comparable, V any] struct{ values sync.Map }

func (m *memory[K, V]) get(key K) (V, bool) {
	value, ok := m.values.Load(key)
	if !ok {
		var none V
		return none, false
	}
	return value.(V), true
}

func (m *memory[K, V]) set(key K, value V) { m.values.Store(key, value) }

// agentErrorMutants break what becomes of produce_error.
func agentErrorMutants() []Mutant {
	// message changes the message of produce_error.
	message := func(edit func(string) string) func() serve.Reference {
		return thinking(func(p *agent.Policy) {
			was := p.Fail
			p.Fail = func(c *agent.Call, message string) (string, *agent.Outcome) { return was(c, edit(message)) }
		})
	}
	return slices.Concat(
		group(breaks("AGENT-02"),
			mutant("agent-error-raised", "It raises what the agent says in produce_error.", raising(agent.ProduceError)),
			mutant("agent-error-trimmed", "It trims the agent's message.", message(strings.TrimSpace)),
			mutant("agent-error-framed", "It puts words of its own before the agent's message.", message(func(text string) string { return "The agent failed: " + text })),
			mutant("agent-error-unnamed", "It puts words of its own in the place of an empty message.", message(func(text string) string {
				if text == "" {
					return "Unknown error."
				}
				return text
			})),
			mutant("agent-error-first-line", "It gives the first line of the agent's message.", message(func(text string) string {
				first, _, _ := strings.Cut(text, "\n")
				return first
			})),
			mutant("agent-error-misnamed", "It says that the error came from too many turns.", misnaming(agent.ProduceError, agent.MaxTurns)),
		),
		group(breaks("AGENT-03"),
			mutant("agent-error-ends", "It ends at the first produce_error.", thinking(func(p *agent.Policy) {
				p.Fail = func(_ *agent.Call, message string) (string, *agent.Outcome) {
					return "", &agent.Outcome{Error: &agent.Error{Message: message}, Cause: agent.ProduceError}
				}
			})),
			mutant("agent-error-lost", "It forgets the error when the model stops after it.", thinking(func(p *agent.Policy) {
				p.Fail = func(*agent.Call, string) (string, *agent.Outcome) { return "The error is noted.", nil }
			})),
			mutant("agent-error-first-kept", "It keeps the first of several errors.", thinking(func(p *agent.Policy) {
				was, seen := p.Fail, &memory[*agent.Call, string]{}
				p.Fail = func(c *agent.Call, message string) (string, *agent.Outcome) {
					if first, ok := seen.get(c); ok {
						message = first
					}
					seen.set(c, message)
					return was(c, message)
				}
			})),
			mutant("agent-error-final", "It does not let an output win over an earlier error.", thinking(func(p *agent.Policy) {
				was, seen := p.Fail, &memory[*agent.Call, string]{}
				p.Fail = func(c *agent.Call, message string) (string, *agent.Outcome) {
					seen.set(c, message)
					return was(c, message)
				}
				p.Settle = func(_ context.Context, c *agent.Call, outcome agent.Outcome, err error) (agent.Outcome, error) {
					if message, ok := seen.get(c); ok && err == nil && outcome.Error == nil {
						return agent.Outcome{Error: &agent.Error{Message: message}, Cause: agent.ProduceError}, nil
					}
					return outcome, err
				}
			})),
		),
		group(breaks("AGENT-18"),
			mutant("agent-errors-by-cause", "It takes errors with one message and two causes for two.", func() serve.Reference {
				return serve.Reference{ErrorsEqual: func(a, b agent.Outcome) bool { return *a.Error == *b.Error && a.Cause == b.Cause }}
			}),
			mutant("agent-errors-by-identity", "It takes every error for another one.", func() serve.Reference {
				return serve.Reference{ErrorsEqual: func(a, b agent.Outcome) bool { return a.Error == b.Error }}
			}),
			mutant("agent-errors-folded", "It compares messages without case and white space.", func() serve.Reference {
				return serve.Reference{ErrorsEqual: func(a, b agent.Outcome) bool {
					return strings.EqualFold(strings.TrimSpace(a.Error.Message), strings.TrimSpace(b.Error.Message))
				}}
			}),
		),
		group(breaks("AGENT-20"),
			mutant("agent-no-cause", "It does not say why there is an error.", settling(func(outcome agent.Outcome, err error) (agent.Outcome, error) {
				outcome.Cause = ""
				return outcome, err
			})),
			mutant("agent-no-kind", "It does not say what raised.", settling(func(outcome agent.Outcome, err error) (agent.Outcome, error) {
				if err != nil {
					err = &agent.Exception{Err: err}
				}
				return outcome, err
			})),
		),
	)
}

// agentHookMutants break the hooks.
func agentHookMutants() []Mutant {
	// asking asks the model once more where the outcome is as told.
	asking := func(when func(outcome agent.Outcome, err error) bool) func() serve.Reference {
		return thinking(func(p *agent.Policy) {
			p.Settle = func(ctx context.Context, c *agent.Call, outcome agent.Outcome, err error) (agent.Outcome, error) {
				if when(outcome, err) {
					messages := []agent.Message{{Role: agent.RoleUser, Content: c.Request.Prompt}}
					_, _ = c.Object.Model.Complete(ctx, messages, nil) // asking is what is wrong with it
				}
				return outcome, err
			}
		})
	}
	return slices.Concat(
		group(breaks("AGENT-08"),
			mutant("agent-hook-raises", "It raises what a hook returned.", raising(agent.InvocationHook)),
			mutant("agent-hooks-reversed", "It asks the hooks in reverse.", thinking(func(p *agent.Policy) {
				p.Hooks = func(hooks []agent.InvokeHook) []agent.InvokeHook {
					reversed := slices.Clone(hooks)
					slices.Reverse(reversed)
					return reversed
				}
			})),
			mutant("agent-hooks-first-only", "It asks the first hook alone.", thinking(func(p *agent.Policy) {
				p.Hooks = func(hooks []agent.InvokeHook) []agent.InvokeHook { return hooks[:min(1, len(hooks))] }
			})),
			mutant("agent-hook-falsy", "It takes the empty string of a hook for none.", thinking(func(p *agent.Policy) {
				p.Aborts = func(text *string) bool { return text != nil && *text != "" }
			})),
			mutant("agent-hook-asks", "It asks the model although a hook refused.", asking(func(outcome agent.Outcome, _ error) bool {
				return outcome.Cause == agent.InvocationHook
			})),
			mutant("agent-hook-reworded", "It gives words of its own for a hook's.", settling(func(outcome agent.Outcome, err error) (agent.Outcome, error) {
				if outcome.Cause == agent.InvocationHook {
					outcome.Error = &agent.Error{Message: "A hook refused the call."}
				}
				return outcome, err
			})),
			mutant("agent-hook-misnamed", "It says that the agent said what a hook did.", misnaming(agent.InvocationHook, agent.ProduceError)),
		),
		group(breaks("AGENT-13"),
			mutant("agent-prompt-hook-returned", "It returns the failure of a system prompt hook as an error.", returning(agent.PromptHookFailure)),
			mutant("agent-prompt-hook-ignored", "It goes on without the part of a system prompt hook that failed.", thinking(func(p *agent.Policy) {
				p.PromptError = func(error) error { return nil }
			})),
			mutant("agent-prompt-hook-asks", "It asks the model although a system prompt hook failed.", asking(func(_ agent.Outcome, err error) bool {
				return kindOf(err) == agent.PromptHookFailure
			})),
		),
	)
}

// agentExceptionMutants break what is raised.
func agentExceptionMutants() []Mutant {
	return slices.Concat(
		group(breaks("AGENT-10"),
			mutant("agent-tool-returned", "It returns a tool's exception as an error.", returning(agent.ToolFailure)),
			mutant("agent-tool-told", "It tells the model of a tool's exception.", thinking(func(p *agent.Policy) {
				was := p.ToolError
				p.ToolError = func(ctx context.Context, tool string, err error) (string, error) {
					if kindOf(err) != "" || ctx.Err() != nil { // a sub-agent's, or the end of the time
						return was(ctx, tool, err)
					}
					return "Error: " + err.Error(), nil
				}
			})),
			mutant("agent-tool-misnamed", "It takes a tool's exception for one of its own.", settling(func(outcome agent.Outcome, err error) (agent.Outcome, error) {
				if kindOf(err) == agent.ToolFailure {
					err = &agent.Exception{Kind: agent.Internal, Err: err}
				}
				return outcome, err
			})),
		),
		group(breaks("AGENT-11"),
			mutant("agent-configuration-returned", "It returns an invalid configuration as an error.", returning(agent.InvalidConfiguration)),
			mutant("agent-configuration-mended", "It puts an invalid configuration right by itself.", thinking(func(p *agent.Policy) {
				was := p.Configure
				p.Configure = func(c *agent.Call) error {
					err := was(c)
					if err == nil || c.Object.Model == nil {
						return err
					}
					c.Request.Limits, c.Request.OutputSchema = agent.DefaultLimits(), nil
					return was(c)
				}
			})),
		),
		group(breaks("AGENT-17"),
			mutant("agent-model-returned", "It returns the failure of the model's endpoint as an error.", returning(agent.Internal)),
			mutant("agent-model-silent", "It takes the failure of the model's endpoint for a model that says nothing.", thinking(func(p *agent.Policy) {
				was := p.Ask
				p.Ask = func(ctx context.Context, m agent.Model, messages []agent.Message, tools []agent.Tool) (agent.Message, error) {
					reply, err := was(ctx, m, messages, tools)
					if err != nil && ctx.Err() == nil {
						return agent.Message{Role: agent.RoleAssistant}, nil
					}
					return reply, err
				}
			})),
			mutant("agent-model-as-tool", "It takes the failure of the model's endpoint for a tool's.", settling(func(outcome agent.Outcome, err error) (agent.Outcome, error) {
				if kindOf(err) == agent.Internal {
					err = &agent.Exception{Kind: agent.ToolFailure, Err: err}
				}
				return outcome, err
			})),
		),
	)
}

// agentAfterMutants keep something of a call that the next one finds.
func agentAfterMutants() []Mutant {
	// holding keeps the lock after calls that end as told.
	holding := func(when func(outcome agent.Outcome, err error) bool) func() serve.Reference {
		return thinking(func(p *agent.Policy) {
			was, unlocks := p.Lock, &memory[*agent.Call, func()]{}
			p.Lock = func(ctx context.Context, c *agent.Call) (func(), error) {
				unlock, err := was(ctx, c)
				if err == nil {
					unlocks.set(c, unlock)
				}
				return func() {}, err
			}
			p.Settle = func(_ context.Context, c *agent.Call, outcome agent.Outcome, err error) (agent.Outcome, error) {
				if unlock, ok := unlocks.get(c); ok && !when(outcome, err) {
					unlock()
				}
				return outcome, err
			}
		})
	}
	return group(breaks("AGENT-16"),
		mutant("agent-lock-kept-after-exception", "It keeps the lock after an exception.", holding(func(_ agent.Outcome, err error) bool { return err != nil })),
		mutant("agent-lock-kept-after-timeout", "It keeps the lock after a timeout.", holding(func(outcome agent.Outcome, _ error) bool { return outcome.Cause == agent.Timeout })),
		mutant("agent-lock-kept-after-error", "It keeps the lock after an error of the agent.", holding(func(outcome agent.Outcome, _ error) bool {
			return outcome.Cause == agent.ProduceError || outcome.Cause == agent.MaxTurns || outcome.Cause == agent.SchemaValidation
		})),
		mutant("agent-conversation-kept", "It goes on with the conversation of the call before.", thinking(func(p *agent.Policy) {
			was, before := p.Ask, &memory[agent.Model, []agent.Message]{}
			p.Ask = func(ctx context.Context, m agent.Model, messages []agent.Message, tools []agent.Tool) (agent.Message, error) {
				asked := messages[:1]
				if earlier, ok := before.get(m); ok {
					messages = slices.Concat(earlier, messages)
				}
				if len(messages) < 3 { // of the first call, the prompt
					before.set(m, asked)
				}
				return was(ctx, m, messages, tools)
			}
		})),
	)
}

// waited is how long a call waited for its lock.
func waited(p *agent.Policy) *memory[*agent.Call, time.Duration] {
	was, took := p.Lock, &memory[*agent.Call, time.Duration]{}
	p.Lock = func(ctx context.Context, c *agent.Call) (func(), error) {
		start := time.Now()
		unlock, err := was(ctx, c)
		took.set(c, time.Since(start))
		return unlock, err
	}
	return took
}
