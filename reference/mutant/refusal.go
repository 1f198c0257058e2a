package mutant

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"example.com/touchstone/reference/catalog"
	"example.com/touchstone/reference/compose"
	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/reference/invoke"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
)

// codeMutants refuse under another code.
func codeMutants() []Mutant {
	var out []Mutant
	for _, row := range []struct {
		from, to schemas.SDKCode
		breaks   []string
	}{
		{schemas.UnknownTool, schemas.NotInvocable, breaks("SDK-01")},
		{schemas.NotInvocable, schemas.UnknownTool, breaks("SDK-02")},
		{schemas.UnknownArgument, schemas.InvalidType, breaks("SDK-03")},
		{schemas.MissingPathParameter, schemas.UnknownArgument, breaks("SDK-04", "CARRIER-07")},
		{schemas.InvalidPathType, schemas.InvalidType, breaks("SDK-05")},
		{schemas.InvalidType, schemas.UnknownArgument, breaks("SDK-06", "CARRIER-07")},
		{schemas.NullNotAllowed, schemas.InvalidType, breaks("SDK-07")},
		{schemas.HeaderInjection, schemas.InvalidType, breaks("SDK-08")},
		{schemas.InvalidCookieValue, schemas.InvalidType, breaks("SDK-09")},
		{schemas.CookieCarrierCollision, schemas.InvalidCookieValue, breaks("SDK-10")},
		{schemas.DeferredValueMissing, schemas.MissingPathParameter, breaks("SDK-11")},
		{schemas.DeferredValueInvalid, schemas.InvalidPathType, breaks("SDK-11")},
		{schemas.InvalidFileArgument, schemas.InvalidType, breaks("SDK-12")},
		{schemas.FileTooLarge, schemas.InvalidFileArgument, breaks("SDK-13")},
		{schemas.FileUnresolved, schemas.InvalidFileArgument, breaks("SDK-14")},
		{schemas.ToolChanged, schemas.UnknownTool, breaks("SDK-15")},
		{schemas.InvokeTimeout, schemas.InternalError, breaks("SDK-17")},
		{schemas.InternalError, schemas.NotInvocable, breaks("SDK-19")},
	} {
		out = append(out, called(row.breaks, mutant("code-"+slug(string(row.from)), "It refuses as "+string(row.to)+" what is "+string(row.from)+".", recoded(row.from, row.to)))...)
	}
	return append(out, called(breaks("SDK-16"), mutant("code-response-too-large", "It refuses an answer over the budget as internal_error.", overSize(func(d invoke.Draft, e *schemas.SDKError, _ invoke.Draft) invoke.Draft {
		e.Error = schemas.InternalError
		return d
	})))...)
}

// called marks mutants that show in cases of calls.
func called(ids []string, mutants ...Mutant) []Mutant {
	for i := range mutants {
		mutants[i].Calls = true
	}
	return group(ids, mutants...)
}

// nameMutants look up operations otherwise (SDK-01, SDK-02).
func nameMutants() []Mutant {
	return slices.Concat(
		called(breaks("SDK-01"),
			mutant("unknown-tool-unnamed", "It does not say which name is unknown.", stepping("name", func(run stepFunc, ctx context.Context, l *invoke.Layer, c *invoke.Call) error {
				if run(ctx, l, c) != nil {
					return &invoke.Refusal{Facts: schemas.RefuseParams{Error: schemas.UnknownTool, Message: "There is no such operation. Use search_tools."}}
				}
				return nil
			})),
			mutant("unknown-tool-nearest", "It calls the first operation instead of an unknown one.", stepping("name", func(run stepFunc, ctx context.Context, l *invoke.Layer, c *invoke.Call) error {
				if err := run(ctx, l, c); err == nil {
					return nil
				}
				c.Name, c.Version = "list_orders", nil
				return run(ctx, l, c)
			})),
		),
		called(breaks("SDK-02"), mutant("not-invocable-guessed", "It guesses a request for an operation without a template.", stepping("template", func(run stepFunc, ctx context.Context, l *invoke.Layer, c *invoke.Call) error {
			if run(ctx, l, c) == nil {
				return nil
			}
			guessed := *c.Operation
			guessed.Template = &compose.Template{Method: "GET", Route: "/orders"}
			c.Operation = &guessed
			return nil
		}))),
	)
}

// argumentMutants take or refuse arguments otherwise (SDK-03 to SDK-07).
func argumentMutants() []Mutant {
	return slices.Concat(
		called(breaks("SDK-03"),
			mutant("unknown-argument-dropped", "It drops undeclared arguments.", repairing(func(t *compose.Template, arguments []byte) []byte {
				known := t.Arguments()
				gjson.ParseBytes(arguments).ForEach(func(name, _ gjson.Result) bool {
					if !slices.Contains(known, name.Str) {
						arguments = deleteArgument(arguments, name.Str)
					}
					return true
				})
				return arguments
			})),
			mutant("unknown-argument-unnamed", "It does not name the undeclared arguments.", rewording(func(r *compose.Refusal, t *compose.Template) {
				if r.Code == compose.CodeUnknownArgument {
					r.Message = "Unknown arguments. Allowed: " + strings.Join(t.Arguments(), ", ") + "."
				}
			})),
			mutant("unknown-argument-first-only", "It names the first undeclared argument only.", rewording(func(r *compose.Refusal, _ *compose.Template) {
				head, rest, found := strings.Cut(r.Message, ". Allowed:")
				if r.Code == compose.CodeUnknownArgument && found {
					first, _, _ := strings.Cut(head, ",")
					r.Message = first + ". Allowed:" + rest
				}
			})),
			mutant("unknown-argument-no-permitted", "It does not list the permitted arguments.", rewording(func(r *compose.Refusal, _ *compose.Template) {
				if head, _, found := strings.Cut(r.Message, " Allowed:"); r.Code == compose.CodeUnknownArgument && found {
					r.Message = head
				}
			})),
			mutant("unknown-argument-hidden-listed", "It lists hidden arguments among the permitted ones.", rewording(func(r *compose.Refusal, t *compose.Template) {
				for _, p := range t.Parameters {
					if r.Code == compose.CodeUnknownArgument && p.Fill != nil {
						r.Message += " Filled by the host: " + p.Name + "."
					}
				}
			})),
			mutant("unknown-argument-hidden-told", "It says that a hidden argument is hidden.", rewording(func(r *compose.Refusal, t *compose.Template) {
				for _, p := range t.Parameters {
					if r.Code == compose.CodeUnknownArgument && p.Fill != nil && strings.Contains(r.Message, p.Name) {
						r.Message = "Argument '" + p.Name + "' is filled by the host and cannot be set."
					}
				}
			})),
		),
		called(breaks("SDK-04"), mutant("missing-path-guessed", "It sends 0 for a path argument that is missing.", repairing(func(t *compose.Template, arguments []byte) []byte {
			for _, p := range t.Parameters {
				if p.In == compose.InPath && p.Fill == nil && !gjson.GetBytes(arguments, escapePath(p.Name)).Exists() {
					arguments = setArgument(arguments, p.Name, 0)
				}
			}
			return arguments
		}))),
		called(breaks("SDK-05"),
			mutant("path-fraction-cut", "It cuts the fraction of a path value.", repairing(cutFraction(true))),
			mutant("path-integer-with-point-refused", "It refuses 1.0 for an integer in a path.", refusingWhen(compose.CodeInvalidPathType, pointed(true))),
		),
		called(breaks("SDK-06"),
			mutant("fraction-cut", "It cuts the fraction of an integer.", repairing(cutFraction(false))),
			mutant("integer-with-point-refused", "It refuses 5.0 for an integer.", refusingWhen(compose.CodeInvalidType, pointed(false))),
			mutant("large-integer-rounded", "It rounds integers beyond 2^53-1.", repairing(func(_ *compose.Template, arguments []byte) []byte {
				if v := gjson.GetBytes(arguments, "limit"); v.Type == gjson.Number && strings.TrimPrefix(v.Raw, "-") == "9007199254740992" {
					return setArgument(arguments, "limit", 9007199254740991)
				}
				return arguments
			})),
			mutant("scalar-wrapped", "It takes a scalar for a list of one.", repairing(func(_ *compose.Template, arguments []byte) []byte {
				if v := gjson.GetBytes(arguments, "ids"); v.Type == gjson.Number {
					return setArgument(arguments, "ids", []float64{v.Num})
				}
				return arguments
			})),
			mutant("boolean-dropped", "It drops a boolean where an integer is due.", repairing(func(_ *compose.Template, arguments []byte) []byte {
				if gjson.GetBytes(arguments, "limit").IsBool() {
					return deleteArgument(arguments, "limit")
				}
				return arguments
			})),
			mutant("number-as-text", "It writes a number where a text is due.", repairing(func(_ *compose.Template, arguments []byte) []byte {
				if v := gjson.GetBytes(arguments, "status"); v.Type == gjson.Number {
					return setArgument(arguments, "status", v.Raw)
				}
				return arguments
			})),
			mutant("largest-integer-refused", "It refuses 2^53-1.", refusingWhen(compose.CodeInvalidType, func(_ *compose.Template, a gjson.Result) bool {
				return a.Get("limit").Raw == "9007199254740991"
			})),
			mutant("zero-refused", "It refuses 0.", refusingWhen(compose.CodeInvalidType, func(_ *compose.Template, a gjson.Result) bool { return a.Get("limit").Raw == "0" })),
			mutant("empty-list-refused", "It refuses an empty list.", refusingWhen(compose.CodeInvalidType, func(_ *compose.Template, a gjson.Result) bool {
				return a.Get("ids").IsArray() && len(a.Get("ids").Array()) == 0
			})),
		),
		called(breaks("SDK-07"),
			mutant("null-as-absent", "It takes null for absent.", repairing(func(t *compose.Template, arguments []byte) []byte {
				gjson.ParseBytes(arguments).ForEach(func(name, value gjson.Result) bool {
					if in := parameterIn(t, name.Str); value.Type == gjson.Null && in != "" && in != compose.InPath {
						arguments = deleteArgument(arguments, name.Str)
					}
					return true
				})
				return arguments
			})),
			mutant("empty-text-refused", "It refuses an empty text.", refusingWhen(compose.CodeNullNotAllowed, func(_ *compose.Template, a gjson.Result) bool {
				return a.Get("expand").Exists() && a.Get("expand").Str == ""
			})),
		),
	)
}

// cutFraction rounds numbers of the path, or of everything else, to integers.
func cutFraction(path bool) func(*compose.Template, []byte) []byte {
	return func(t *compose.Template, arguments []byte) []byte {
		gjson.ParseBytes(arguments).ForEach(func(name, value gjson.Result) bool {
			inPath := parameterIn(t, name.Str) == compose.InPath
			if value.Type == gjson.Number && inPath == path && value.Num != float64(int64(value.Num)) {
				arguments = setArgument(arguments, name.Str, int64(value.Num))
			}
			return true
		})
		return arguments
	}
}

// pointed finds integers that are written with a point.
func pointed(path bool) func(*compose.Template, gjson.Result) bool {
	return func(t *compose.Template, arguments gjson.Result) bool {
		found := false
		arguments.ForEach(func(name, value gjson.Result) bool {
			inPath := parameterIn(t, name.Str) == compose.InPath
			found = found || value.Type == gjson.Number && inPath == path && strings.Contains(value.Raw, ".")
			return true
		})
		return found
	}
}

// versionMutants check a pinned version otherwise (SDK-15).
func versionMutants() []Mutant {
	order := func(names ...string) func(p *invoke.Policy) {
		return func(p *invoke.Policy) {
			was := p.Steps
			p.Steps = nil
			for _, name := range names {
				i := slices.IndexFunc(was, func(s invoke.Step) bool { return s.Name == name })
				p.Steps = append(p.Steps, was[i])
			}
		}
	}
	return called(breaks("SDK-15"),
		mutant("version-ignored", "It ignores a pinned version.", layering(order("name", "template", "arguments", "files", "dispatch"))),
		mutant("version-after-arguments", "It checks the version after the arguments.", layering(order("name", "template", "arguments", "version", "files", "dispatch"))),
		mutant("version-before-name", "It checks the version before the name.", stepping("name", func(run stepFunc, ctx context.Context, l *invoke.Layer, c *invoke.Call) error {
			err := run(ctx, l, c)
			if err != nil && c.Version != nil {
				return &invoke.Refusal{Facts: schemas.RefuseParams{Error: schemas.ToolChanged, Tool: c.Name}}
			}
			return err
		})),
		mutant("version-never-fits", "It refuses every pinned version, the one held too.", stepping("version", func(run stepFunc, ctx context.Context, l *invoke.Layer, c *invoke.Call) error {
			if c.Version != nil {
				return &invoke.Refusal{Facts: schemas.RefuseParams{Error: schemas.ToolChanged, Tool: c.Name}}
			}
			return run(ctx, l, c)
		})),
		mutant("version-not-given", "load_tool does not give the version.", func() serve.Reference {
			return serve.Reference{Answer: func(r schemas.AnswerResult) schemas.AnswerResult {
				if r.Text != nil && gjson.Get(*r.Text, "inputSchema").Exists() {
					r.Text = new(string(deleteArgument([]byte(*r.Text), "version")))
				}
				return r
			}}
		}),
	)
}

// rankerMutants deal otherwise with a ranker that does not answer (SDK-18).
func rankerMutants() []Mutant {
	return called(breaks("SDK-18"),
		mutant("ranker-nonsense-taken", "It takes nonsense of a ranker for an answer.", layering(func(p *invoke.Policy) {
			p.CheckRanked = func(*catalog.Catalog, []string) error { return nil }
		})),
		mutant("ranker-fallback-fails", "It has nothing to fall back to.", layering(func(p *invoke.Policy) {
			p.Ranker = catalog.RankerFunc(func(context.Context, string, *catalog.Catalog) ([]string, error) {
				return nil, &invoke.Refusal{Facts: schemas.RefuseParams{Error: schemas.SearchRankerUnavailable}}
			})
		})),
		mutant("ranker-for-invoke", "It refuses calls while the ranker is bound.", stepping("name", func(run stepFunc, ctx context.Context, l *invoke.Layer, c *invoke.Call) error {
			if l.Host.Ranker != nil {
				return &invoke.Refusal{Facts: schemas.RefuseParams{Error: schemas.SearchRankerUnavailable}}
			}
			return run(ctx, l, c)
		})),
	)
}

// internalMutants answer otherwise for a fault of their own (SDK-19).
func internalMutants() []Mutant {
	return slices.Concat(
		called(breaks("SDK-19"),
			mutant("internal-as-backend-error", "It reports a fault of its own as a 500 of the backend.", faultAsBackend()),
			mutant("backend-500-as-internal", "It reports a 500 of the backend as a fault of its own.", layering(func(p *invoke.Policy) {
				was := p.Map
				p.Map = func(m *envelope.Mapper, resp envelope.Response, fields envelope.FieldContext) schemas.Envelope {
					if resp.Status == 500 {
						return m.Refuse(schemas.RefuseParams{Error: schemas.InternalError, Message: "The backend failed."})
					}
					return was(m, resp, fields)
				}
			})),
			mutant("internal-text-behind-message", "It puts the text of a fault behind its message, unfiltered.", faultTold()),
		),
	)
}

// faultOf tells an error of the layer itself from a refusal.
func faultOf(err error) bool {
	var refused *compose.Refusal
	var own *invoke.Refusal
	return err != nil && !errors.As(err, &refused) && !errors.As(err, &own)
}

// faultAsBackend makes up a 500 of the backend for a fault of the layer.
func faultAsBackend() func() serve.Reference {
	return layering(func(p *invoke.Policy) {
		for i, step := range p.Steps {
			switch step.Name {
			case "arguments":
				p.Steps[i].Run = func(ctx context.Context, l *invoke.Layer, c *invoke.Call) error {
					err := step.Run(ctx, l, c)
					if faultOf(err) {
						c.Response = &invoke.Response{Response: envelope.Response{Status: 500}}
						return nil
					}
					return err
				}
			case "files", "dispatch":
				p.Steps[i].Run = func(ctx context.Context, l *invoke.Layer, c *invoke.Call) error {
					if c.Response != nil {
						return nil
					}
					return step.Run(ctx, l, c)
				}
			}
		}
	})
}

// faultTold answers a fault of the layer with its text spelt so that the filter
// does not know it: letter by letter, as a debugger would quote it.
func faultTold() func() serve.Reference {
	return stepping("arguments", func(run stepFunc, ctx context.Context, l *invoke.Layer, c *invoke.Call) error {
		err := run(ctx, l, c)
		if !faultOf(err) {
			return err
		}
		hidden := strings.NewReplacer(" ", "_", "/", "|", "=", ":", "(", "[").Replace(err.Error())
		return &invoke.Refusal{Facts: schemas.RefuseParams{Error: schemas.InternalError, Message: "The layer failed: " + strings.ReplaceAll(hidden, "Exception", "Exc")}}
	})
}
