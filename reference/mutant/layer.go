package mutant

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"example.com/touchstone/reference/compose"
	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/reference/invoke"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
)

// layering changes how calls are made.
func layering(edit func(p *invoke.Policy)) func() serve.Reference {
	return func() serve.Reference {
		p := invoke.DefaultPolicy()
		edit(p)
		return serve.Reference{Policy: p}
	}
}

// composer is what makes the request of a call.
type composer func(*compose.Template, compose.Call) (*compose.Request, error)

// composing wraps the composition.
func composing(with func(was composer, t *compose.Template, call compose.Call) (*compose.Request, error)) func() serve.Reference {
	return layering(func(p *invoke.Policy) {
		was := p.Compose
		p.Compose = func(t *compose.Template, call compose.Call) (*compose.Request, error) { return with(was, t, call) }
	})
}

// repairing changes the arguments of a call before they are checked.
func repairing(repair func(t *compose.Template, arguments []byte) []byte) func() serve.Reference {
	return composing(func(was composer, t *compose.Template, call compose.Call) (*compose.Request, error) {
		if gjson.ParseBytes(call.Arguments).IsObject() {
			call.Arguments = repair(t, call.Arguments)
		}
		return was(t, call)
	})
}

// refusingWhen refuses calls that should be composed.
func refusingWhen(code string, odd func(t *compose.Template, arguments gjson.Result) bool) func() serve.Reference {
	return composing(func(was composer, t *compose.Template, call compose.Call) (*compose.Request, error) {
		request, err := was(t, call)
		if err == nil && odd(t, gjson.ParseBytes(call.Arguments)) {
			return nil, &compose.Refusal{Code: code, Message: "The argument cannot be used."}
		}
		return request, err
	})
}

// rewording changes the refusals of a composition.
func rewording(edit func(r *compose.Refusal, t *compose.Template)) func() serve.Reference {
	return composing(func(was composer, t *compose.Template, call compose.Call) (*compose.Request, error) {
		request, err := was(t, call)
		var refused *compose.Refusal
		if errors.As(err, &refused) {
			changed := *refused
			edit(&changed, t)
			return nil, &changed
		}
		return request, err
	})
}

// stepping wraps one step of a call.
func stepping(name string, with func(run stepFunc, ctx context.Context, l *invoke.Layer, c *invoke.Call) error) func() serve.Reference {
	return layering(func(p *invoke.Policy) {
		for i, step := range p.Steps {
			if step.Name == name {
				p.Steps[i].Run = func(ctx context.Context, l *invoke.Layer, c *invoke.Call) error { return with(step.Run, ctx, l, c) }
			}
		}
	})
}

type stepFunc func(ctx context.Context, l *invoke.Layer, c *invoke.Call) error

// recoded gives refusals of one code another one, wherever a call is refused.
func recoded(from, to schemas.SDKCode) func() serve.Reference {
	return layering(func(p *invoke.Policy) {
		was := p.Compose
		p.Compose = func(t *compose.Template, call compose.Call) (*compose.Request, error) {
			request, err := was(t, call)
			var refused *compose.Refusal
			if errors.As(err, &refused) && refused.Code == string(from) {
				changed := *refused
				changed.Code = string(to)
				return nil, &changed
			}
			return request, err
		}
		for i, step := range p.Steps {
			p.Steps[i].Run = func(ctx context.Context, l *invoke.Layer, c *invoke.Call) error {
				err := step.Run(ctx, l, c)
				if err == nil {
					return nil
				}
				facts := invoke.Facts(err)
				if facts.Error != from {
					return err
				}
				// The text of the old code, under the new one.
				e := l.Mapper.Refuse(facts)
				return &invoke.Refusal{Facts: schemas.RefuseParams{Error: to, Message: e.Message}}
			}
		}
	})
}

// refusals changes the texts of the layer's own answers.
func refusals(edit func(p *envelope.RefusalPolicy)) func() serve.Reference {
	return mapping(func(m *envelope.Mapper) { edit(&m.Refusals) })
}

// overSize wraps what is answered in the place of an answer over the budget.
func overSize(with func(refused invoke.Draft, e *schemas.SDKError, was invoke.Draft) invoke.Draft) func() serve.Reference {
	return layering(func(p *invoke.Policy) {
		refuse := p.Refuse
		p.Refuse = func(l *invoke.Layer, d invoke.Draft, size int64) invoke.Draft {
			refused := refuse(l, d, size)
			e := *refused.Envelope.(*schemas.SDKError)
			refused.Envelope = &e
			return with(refused, &e, d)
		}
	})
}

// setArgument gives arguments with one of them changed.
func setArgument(arguments []byte, name string, value any) []byte {
	out, err := sjson.SetBytes(arguments, escapePath(name), value)
	if err != nil {
		return arguments
	}
	return out
}

func deleteArgument(arguments []byte, name string) []byte {
	out, err := sjson.DeleteBytes(arguments, escapePath(name))
	if err != nil {
		return arguments
	}
	return out
}

// escapePath writes a name so that the path syntax of sjson takes it literally.
func escapePath(name string) string {
	var out []byte
	for i := range len(name) {
		if c := name[i]; c == '.' || c == '*' || c == '?' || c == '|' || c == '#' || c == '@' || c == ':' || c == '\\' {
			out = append(out, '\\')
		}
		out = append(out, name[i])
	}
	return string(out)
}

// parameterIn says where an argument is written, "" for one of the body or an
// undeclared one.
func parameterIn(t *compose.Template, name string) string {
	i := slices.IndexFunc(t.Parameters, func(p compose.Parameter) bool { return p.Name == name })
	if i < 0 {
		return ""
	}
	return t.Parameters[i].In
}

// textOf gives a JSON string's text, or the raw JSON.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}
