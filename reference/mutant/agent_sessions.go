package mutant

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/touchstone/reference/agent"
	"example.com/touchstone/reference/serve"
)

// entering changes how a session is made active.
func entering(enter func(was func(*agent.Call) (func(), bool), c *agent.Call) (func(), bool)) func() serve.Reference {
	return thinking(func(p *agent.Policy) {
		was := p.Enter
		p.Enter = func(c *agent.Call) (func(), bool) { return enter(was, c) }
	})
}

func nothing() {}

// agentSessionMutants break sessions and the lock.
func agentSessionMutants() []Mutant {
	return slices.Concat(
		group(breaks("AGENT-09"),
			mutant("agent-conflict-raised", "It raises when a session is active.", raising(agent.SessionConflict)),
			mutant("agent-conflict-waits", "It lets a call on an active session wait for the lock.", entering(func(func(*agent.Call) (func(), bool), *agent.Call) (func(), bool) {
				return nothing, true
			})),
			mutant("agent-conflict-late", "It waits for the lock before it looks at the session.", thinking(lateConflict)),
			mutant("agent-conflict-let-in", "It lets a second call into a busy session.", thinking(letIn)),
			mutant("agent-conflict-disturbs", "It ends the running call where another comes on its session.", thinking(disturb)),
			mutant("agent-conflict-misnamed", "It says that a hook refused what an active session did.", misnaming(agent.SessionConflict, agent.InvocationHook)),
			mutant("agent-session-stays-active", "It leaves a session active when its call has ended.", entering(func(was func(*agent.Call) (func(), bool), c *agent.Call) (func(), bool) {
				_, ok := was(c)
				return nothing, ok
			})),
			mutant("agent-session-stays-active-after-exception", "It leaves a session active when its call ended in an exception.", thinking(func(p *agent.Policy) {
				was, leaves := p.Enter, &memory[*agent.Call, func()]{}
				p.Enter = func(c *agent.Call) (func(), bool) {
					leave, ok := was(c)
					if ok {
						leaves.set(c, leave)
					}
					return nothing, ok
				}
				p.Settle = func(_ context.Context, c *agent.Call, outcome agent.Outcome, err error) (agent.Outcome, error) {
					if leave, ok := leaves.get(c); ok && err == nil {
						leave()
					}
					return outcome, err
				}
			})),
		),
		group(breaks("AGENT-09", "AGENT-12"),
			mutant("agent-sessions-as-one", "It takes all sessions of an object for one.", entering(func(was func(*agent.Call) (func(), bool), c *agent.Call) (func(), bool) {
				if c.Request.Session == "" {
					return was(c)
				}
				own := c.Request.Session
				c.Request.Session = "the only one"
				defer func() { c.Request.Session = own }()
				return was(c)
			})),
		),
		group(breaks("AGENT-12"),
			mutant("agent-lock-returned", "It returns an error when the lock is not to be had.", returning(agent.LockTimeout)),
			mutant("agent-lock-missing", "It has no lock.", thinking(func(p *agent.Policy) {
				p.Lock = func(context.Context, *agent.Call) (func(), error) { return nothing, nil }
			})),
			mutant("agent-lock-patient", "It waits for the lock beyond its time.", thinking(func(p *agent.Policy) {
				was := p.Lock
				p.Lock = func(ctx context.Context, c *agent.Call) (func(), error) {
					c.Request.Limits.LockTimeout = max(c.Request.Limits.LockTimeout, 7*time.Second)
					return was(ctx, c)
				}
			})),
			mutant("agent-lock-impatient", "It does not wait for the lock.", thinking(func(p *agent.Policy) {
				was := p.Lock
				p.Lock = func(ctx context.Context, c *agent.Call) (func(), error) {
					c.Request.Limits.LockTimeout = time.Millisecond
					return was(ctx, c)
				}
			})),
			mutant("agent-lock-misnamed", "It takes a lock that is not to be had for a failure of its own.", settling(func(outcome agent.Outcome, err error) (agent.Outcome, error) {
				if kindOf(err) == agent.LockTimeout {
					err = &agent.Exception{Kind: agent.Internal, Err: err}
				}
				return outcome, err
			})),
			mutant("agent-lock-takes-time", "It takes the time that a call waited off the time that it has.", thinking(func(p *agent.Policy) {
				took := waited(p)
				p.Deadline = func(ctx context.Context, c *agent.Call) (context.Context, context.CancelFunc) {
					wait, _ := took.get(c)
					return agent.WithTimeout(ctx, c.Request.Limits.Timeout-wait)
				}
			})),
		),
	)
}

// lateConflict finds out that a session is active when the lock was not to be had.
func lateConflict(p *agent.Policy) {
	was, refused := p.Enter, &memory[*agent.Call, bool]{}
	p.Enter = func(c *agent.Call) (func(), bool) {
		leave, ok := was(c)
		if !ok {
			refused.set(c, true)
			return nothing, true
		}
		return leave, true
	}
	p.Settle = func(_ context.Context, c *agent.Call, outcome agent.Outcome, err error) (agent.Outcome, error) {
		if _, late := refused.get(c); late {
			return agent.Outcome{Error: &agent.Error{Message: "The session is active."}, Cause: agent.SessionConflict}, nil
		}
		return outcome, err
	}
}

// letIn runs a call on an active session beside the one that is running.
func letIn(p *agent.Policy) {
	enter, lock, guests := p.Enter, p.Lock, &memory[*agent.Call, bool]{}
	p.Enter = func(c *agent.Call) (func(), bool) {
		leave, ok := enter(c)
		if !ok {
			guests.set(c, true)
			return nothing, true
		}
		return leave, true
	}
	p.Lock = func(ctx context.Context, c *agent.Call) (func(), error) {
		if _, guest := guests.get(c); guest {
			return nothing, nil
		}
		return lock(ctx, c)
	}
}

// disturb cancels the running call of a session when another comes.
func disturb(p *agent.Policy) {
	type place struct {
		object  *agent.Object
		session string
	}
	enter, deadline, running := p.Enter, p.Deadline, &memory[place, context.CancelFunc]{}
	p.Enter = func(c *agent.Call) (func(), bool) {
		leave, ok := enter(c)
		if cancel, known := running.get(place{c.Object, c.Request.Session}); known && !ok {
			cancel()
		}
		return leave, ok
	}
	p.Deadline = func(ctx context.Context, c *agent.Call) (context.Context, context.CancelFunc) {
		ctx, cancel := deadline(ctx, c)
		running.set(place{c.Object, c.Request.Session}, cancel)
		return ctx, cancel
	}
}

// nested tells the invocations that the tool of another agent makes, and has what
// ends that agent's.
type nested struct{ cancel context.CancelFunc }

type nestedKey struct{}

// helping has the last word on what a sub-agent gives its caller.
func helping(settle func(n nested, outcome agent.Outcome, err error) (agent.Outcome, error)) func() serve.Reference {
	return thinking(func(p *agent.Policy) {
		was := p.Deadline
		p.Deadline = func(ctx context.Context, c *agent.Call) (context.Context, context.CancelFunc) {
			ctx, cancel := was(ctx, c)
			return context.WithValue(ctx, nestedKey{}, nested{cancel}), cancel
		}
		p.Settle = func(ctx context.Context, _ *agent.Call, outcome agent.Outcome, err error) (agent.Outcome, error) {
			if n, ok := ctx.Value(nestedKey{}).(nested); ok {
				return settle(n, outcome, err)
			}
			return outcome, err
		}
	})
}

// agentHelperMutants break what a sub-agent gives its caller.
func agentHelperMutants() []Mutant {
	return slices.Concat(
		group(breaks("AGENT-14"),
			mutant("agent-helper-error-raised", "It raises the error of a sub-agent in the caller's code.", helping(func(_ nested, outcome agent.Outcome, err error) (agent.Outcome, error) {
				if outcome.Error != nil {
					return agent.Outcome{}, &agent.Exception{Kind: agent.Internal, Err: errors.New(outcome.Error.Message)}
				}
				return outcome, err
			})),
			mutant("agent-helper-error-as-text", "It gives the caller's code the message of a sub-agent's error as a result.", helping(func(_ nested, outcome agent.Outcome, err error) (agent.Outcome, error) {
				if outcome.Error != nil {
					return agent.Outcome{Value: []byte(strconv.Quote(outcome.Error.Message))}, nil
				}
				return outcome, err
			})),
			mutant("agent-helper-error-ends", "It ends the caller with the error of a sub-agent.", helping(func(n nested, outcome agent.Outcome, err error) (agent.Outcome, error) {
				if outcome.Error != nil {
					n.cancel()
				}
				return outcome, err
			})),
		),
		group(breaks("AGENT-15"),
			mutant("agent-helper-exception-returned", "It gives the caller's code an error value for the exception of a sub-agent's tool.", helping(func(_ nested, outcome agent.Outcome, err error) (agent.Outcome, error) {
				if kindOf(err) == agent.ToolFailure {
					return agent.Outcome{Error: &agent.Error{Message: err.Error()}, Cause: agent.ProduceError}, nil
				}
				return outcome, err
			})),
			mutant("agent-helper-exception-ends", "It ends the caller with the exception of a sub-agent's tool, handled or not.", helping(func(n nested, outcome agent.Outcome, err error) (agent.Outcome, error) {
				if kindOf(err) == agent.ToolFailure {
					n.cancel()
				}
				return outcome, err
			})),
			mutant("agent-helper-exception-told", "It tells the caller's model of an exception that the caller's code did not handle.", thinking(func(p *agent.Policy) {
				was := p.ToolError
				p.ToolError = func(ctx context.Context, tool string, err error) (string, error) {
					if kindOf(err) != "" && ctx.Err() == nil {
						return "Error: " + err.Error(), nil
					}
					return was(ctx, tool, err)
				}
			})),
		),
	)
}

// AgentEquivalents gives variants of the agent that conform.
func AgentEquivalents() []Mutant {
	return []Mutant{
		mutant("agent-wording", "It has other words for the model.", thinking(func(p *agent.Policy) {
			fail, correct := p.Fail, p.Correction
			p.Reminder = "Please come to an end."
			p.Fail = func(c *agent.Call, message string) (string, *agent.Outcome) {
				_, outcome := fail(c, message)
				return "", outcome
			}
			p.Correction = func(err error) string { return "No: " + correct(err) }
		})),
		mutant("agent-other-errors", "It has other words for its errors.", settling(func(outcome agent.Outcome, err error) (agent.Outcome, error) {
			if outcome.Error != nil && outcome.Cause != agent.ProduceError && outcome.Cause != agent.InvocationHook {
				outcome.Error = &agent.Error{}
			}
			return outcome, err
		})),
		mutant("agent-retries", "It asks the model once more after a failure that may pass.", thinking(func(p *agent.Policy) {
			was := p.Ask
			p.Ask = func(ctx context.Context, m agent.Model, messages []agent.Message, tools []agent.Tool) (agent.Message, error) {
				reply, err := was(ctx, m, messages, tools)
				if err != nil && ctx.Err() == nil && (strings.Contains(err.Error(), "answered 5") || strings.Contains(err.Error(), "answered 429")) {
					return was(ctx, m, messages, tools)
				}
				return reply, err
			}
		})),
		mutant("agent-one-timeout", "It has one timeout, for the lock and for the run.", thinking(func(p *agent.Policy) {
			was := p.Configure
			p.Configure = func(c *agent.Call) error {
				c.Request.Limits.LockTimeout = c.Request.Limits.Timeout
				return was(c)
			}
		})),
		mutant("agent-last-output", "Of two outputs in one message it takes the last.", thinking(lastOutput)),
	}
}

// lastOutput reorders what the model calls: the outputs of a message in reverse.
func lastOutput(p *agent.Policy) {
	was := p.Ask
	p.Ask = func(ctx context.Context, m agent.Model, messages []agent.Message, tools []agent.Tool) (agent.Message, error) {
		reply, err := was(ctx, m, messages, tools)
		if n := len(reply.ToolCalls); n == 2 && reply.ToolCalls[0].Name == "produce_output" && reply.ToolCalls[1].Name == "produce_output" {
			slices.Reverse(reply.ToolCalls)
		}
		return reply, err
	}
}
