package mutant

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/touchstone/reference/compose"
	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/reference/invoke"
	"example.com/touchstone/reference/serve"
	"example.com/touchstone/schemas"
)

// dispatchMutants send what they refuse (SDK-20).
func dispatchMutants() []Mutant {
	var out []Mutant
	for _, step := range []string{"name", "version", "template", "arguments"} {
		out = append(out, mutant("dispatched-before-"+step, "It sends a request before it refuses for the "+step+".", stepping(step, func(run stepFunc, ctx context.Context, l *invoke.Layer, c *invoke.Call) error {
			err := run(ctx, l, c)
			if err != nil {
				ask(ctx, l, "/orders/1")
			}
			return err
		})))
	}
	return called(breaks("SDK-20"), out...)
}

// ask sends a GET to the backend and forgets the answer.
func ask(ctx context.Context, l *invoke.Layer, path string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, l.BackendURL+path, nil)
	if err != nil {
		return
	}
	if answer, err := l.Transport.RoundTrip(request); err == nil {
		_ = answer.Body.Close()
	}
}

// retryableMutants give one code another `retryable` (SDK-21).
func retryableMutants() []Mutant {
	var out []Mutant
	for _, code := range []schemas.SDKCode{
		schemas.UnknownArgument, schemas.InvalidPathType, schemas.MissingPathParameter, schemas.HeaderInjection, schemas.NullNotAllowed,
		schemas.InvalidType, schemas.DeferredValueMissing, schemas.DeferredValueInvalid, schemas.InvalidCookieValue, schemas.CookieCarrierCollision,
		schemas.InvalidFileArgument, schemas.FileTooLarge, schemas.UnknownTool, schemas.NotInvocable, schemas.ToolChanged,
		schemas.ResponseTooLarge, schemas.InvokeTimeout, schemas.SearchRankerUnavailable, schemas.InternalError,
	} {
		out = append(out, mutant("retryable-"+slug(string(code)), "It turns the retryable of "+string(code)+" round.", refusals(func(p *envelope.RefusalPolicy) {
			was := p.Retryable
			p.Retryable = func(facts schemas.RefuseParams) bool { return was(facts) != (facts.Error == code) }
		})))
	}
	return called(breaks("SDK-21"), out...)
}

// pinnedMutants change a pinned message by a letter (SDK-22).
func pinnedMutants() []Mutant {
	var out []Mutant
	text := func(id string, code schemas.SDKCode, from, to string) {
		out = append(out, mutant("message-"+id, "It changes a word of the message of "+string(code)+".", refusals(func(p *envelope.RefusalPolicy) {
			was := p.Text
			p.Text = func(facts schemas.RefuseParams) string {
				if facts.Error != code {
					return was(facts)
				}
				return strings.Replace(was(facts), from, to, 1)
			}
		})))
	}
	text("timeout", schemas.InvokeTimeout, "may already have been applied", "was not applied")
	text("timeout-limit", schemas.InvokeTimeout, "{limitMs} ms", "{limitMs}ms")
	text("tool-changed", schemas.ToolChanged, "retry with", "try again with")
	text("ranker", schemas.SearchRankerUnavailable, "later", "soon")
	text("file-unresolved", schemas.FileUnresolved, "could not be resolved.", "was not found.")
	text("file-unavailable", schemas.FileUnresolved, "right now", "at the moment")
	text("file-too-large", schemas.FileTooLarge, "was not sent", "was left out")
	text("too-large", schemas.ResponseTooLarge, "not truncated", "not cut")
	for kind, other := range map[string]string{"array": "{count} elements", "object": "{count} members", "text": "{count} letters", "": "something else"} {
		out = append(out, mutant("message-shape-"+slug(kind+"-kind"), "It words the shape otherwise.", refusals(func(p *envelope.RefusalPolicy) { p.Shapes[kind] = "The body has " + other + "." })))
	}
	out = append(out,
		mutant("message-no-narrowing", "It words otherwise that nothing narrows.", refusals(func(p *envelope.RefusalPolicy) { p.NoNarrowing = "Nothing narrows the response." })),
		mutant("message-narrow", "It words the advice otherwise.", refusals(func(p *envelope.RefusalPolicy) { p.Narrow = "Narrow it: {names}." })))
	slices.SortFunc(out, func(a, b Mutant) int { return strings.Compare(a.ID, b.ID) })
	return called(breaks("SDK-22"), out...)
}

// sizeMutants hold the budget otherwise (GUARD-01 to GUARD-05).
func sizeMutants() []Mutant {
	ungated := func(free func(d invoke.Draft) bool) func() serve.Reference {
		return layering(func(p *invoke.Policy) { p.Gated = func(d invoke.Draft) bool { return !free(d) } })
	}
	isSuccess := func(d invoke.Draft) bool { _, ok := d.Envelope.(*schemas.Success); return ok }
	payload := func(id, doc string, edit func(p *schemas.Payload, was invoke.Draft)) Mutant {
		return mutant("payload-"+id, doc, overSize(func(d invoke.Draft, e *schemas.SDKError, was invoke.Draft) invoke.Draft {
			changed := *e.Payload
			e.Payload = &changed
			edit(&changed, was)
			return d
		}))
	}
	body := func(d invoke.Draft) string {
		if s, ok := d.Envelope.(*schemas.Success); ok {
			return textOf(s.Body)
		}
		return ""
	}
	narrowing := func(id, doc string, edit func(p *compose.NarrowingPolicy)) Mutant {
		return mutant("narrowing-"+id, doc, layering(func(p *invoke.Policy) { edit(&p.Narrowing) }))
	}
	three := []Mutant{
		narrowing("cap-7", "It lists seven narrowing arguments at most.", func(p *compose.NarrowingPolicy) { p.Cap = 7 }),
		narrowing("cap-9", "It lists nine narrowing arguments at most.", func(p *compose.NarrowingPolicy) { p.Cap = 9 }),
		narrowing("schema-order", "It lists selection and cardinality mixed.", func(p *compose.NarrowingPolicy) {
			p.Cardinality = append(p.Cardinality, p.Selection...)
		}),
		narrowing("fallback", "It describes otherwise what has no description.", func(p *compose.NarrowingPolicy) { p.Fallback = "Narrows the result." }),
		mutant("narrowing-none", "It lists no narrowing arguments.", overSize(func(d invoke.Draft, e *schemas.SDKError, _ invoke.Draft) invoke.Draft {
			e.Fields = nil
			return d
		})),
	}
	for _, word := range []string{"limit", "top", "max", "size", "offset", "cursor", "filter", "query", "field", "since", "from"} {
		three = append(three, narrowing("without-"+word, "It does not know that "+word+" narrows.", func(p *compose.NarrowingPolicy) {
			drop := func(list []string) []string {
				return slices.DeleteFunc(list, func(w string) bool { return w == word || word == "size" && w == "page" })
			}
			p.Cardinality, p.Selection = drop(p.Cardinality), drop(p.Selection)
		}))
	}
	return slices.Concat(
		called(breaks("GUARD-01"),
			mutant("size-ungated", "It holds no budget for a success.", ungated(isSuccess)),
			mutant("size-characters", "It counts characters instead of bytes.", layering(func(p *invoke.Policy) {
				p.Measure = func(text []byte) int64 { return int64(utf8.RuneCount(text)) }
			})),
			mutant("size-half", "It refuses from half the budget on.", layering(func(p *invoke.Policy) {
				p.Measure = func(text []byte) int64 { return 2 * int64(len(text)) }
			})),
			mutant("size-truncated", "It cuts an answer over the budget.", overSize(func(d invoke.Draft, _ *schemas.SDKError, was invoke.Draft) invoke.Draft {
				s, ok := was.Envelope.(*schemas.Success)
				if !ok {
					return d
				}
				cut := *s
				cut.Body = json.RawMessage(quote(string([]rune(string(s.Body))[:300])))
				return invoke.Draft{Envelope: &cut}
			})),
		),
		called(breaks("GUARD-02"),
			payload("code-points", "It counts code points.", func(p *schemas.Payload, was invoke.Draft) {
				if p.Shape.Kind == "text" && p.Shape.Count != nil {
					p.Shape.Count = new(int64(utf8.RuneCountInString(body(was))))
				}
			}),
			payload("bytes", "It counts the bytes of a text.", func(p *schemas.Payload, was invoke.Draft) {
				if p.Shape.Kind == "text" && p.Shape.Count != nil {
					p.Shape.Count = new(int64(len(body(was))))
				}
			}),
			payload("kind", "It calls an object an array.", func(p *schemas.Payload, _ invoke.Draft) {
				if p.Shape.Kind == "object" {
					p.Shape.Kind = "array"
				}
			}),
			payload("scalar-count", "It counts a scalar.", func(p *schemas.Payload, _ invoke.Draft) {
				if p.Shape.Count == nil {
					p.Shape.Count = new(int64(1))
				}
			}),
			payload("count-missing", "It does not count.", func(p *schemas.Payload, _ invoke.Draft) { p.Shape.Count = nil }),
			payload("bytes-of-limit", "It gives the limit for the size.", func(p *schemas.Payload, _ invoke.Draft) { p.Bytes = p.Limit }),
		),
		called(breaks("GUARD-03"), three...),
		called(breaks("GUARD-04"), mutant("size-preview", "It quotes the beginning of a refused body.", overSize(func(d invoke.Draft, e *schemas.SDKError, was invoke.Draft) invoke.Draft {
			if s, ok := was.Envelope.(*schemas.Success); ok {
				e.Message += " It begins " + string([]rune(string(s.Body))[:60])
			}
			return d
		}))),
		called(breaks("GUARD-05"),
			mutant("size-errors-ungated", "It holds no budget for errors.", ungated(func(d invoke.Draft) bool { return d.Envelope != nil && !isSuccess(d) })),
			mutant("size-documents-ungated", "It holds no budget for meta-tools.", ungated(func(d invoke.Draft) bool { return d.Envelope == nil })),
		),
	)
}

// sender is how a request is sent and its response read.
type sender func(http.RoundTripper, *http.Request, int64) (*invoke.Response, error)

// transmitting wraps the sending of requests.
func transmitting(with func(was sender, transport http.RoundTripper, request *http.Request, limit int64) (*invoke.Response, error)) func() serve.Reference {
	return layering(func(p *invoke.Policy) {
		was := sender(p.Send)
		p.Send = func(transport http.RoundTripper, request *http.Request, limit int64) (*invoke.Response, error) {
			return with(was, transport, request, limit)
		}
	})
}

// again sends the request of a call once more, with a body of its own.
func again(was sender, transport http.RoundTripper, request *http.Request, limit int64, ctx context.Context) (*invoke.Response, error) {
	second := request.Clone(ctx)
	if request.GetBody != nil {
		body, err := request.GetBody()
		if err != nil {
			return nil, err
		}
		second.Body = body
	}
	return was(transport, second, limit)
}

// flagMutants set the carrier's flag otherwise, or read arguments otherwise
// (CARRIER-02, CARRIER-03, CARRIER-04, CARRIER-07).
func flagMutants() []Mutant {
	flag := func(shape string, value *bool) func() serve.Reference {
		return func() serve.Reference {
			return serve.Reference{Answer: func(r schemas.AnswerResult) schemas.AnswerResult {
				if r.Text != nil && isShape(*r.Text, shape) {
					r.IsError = value
				}
				return r
			}}
		}
	}
	refuseArguments := func(odd func(raw string) bool) func() serve.Reference {
		return composing(func(was composer, t *compose.Template, call compose.Call) (*compose.Request, error) {
			if odd(string(call.Arguments)) {
				return nil, &compose.Refusal{Code: compose.CodeInvalidType, Message: "The arguments must be an object."}
			}
			return was(t, call)
		})
	}
	return slices.Concat(
		called(breaks("CARRIER-02"),
			mutant("flag-missing-on-error", "It does not flag a backend error.", flag(backendError, nil)),
			mutant("flag-false-on-error", "It flags a backend error as none.", flag(backendError, new(false))),
			mutant("flag-missing-on-refusal", "It does not flag a refusal.", flag(sdkError, nil)),
		),
		called(breaks("CARRIER-03"), mutant("flag-on-success", "It flags a success as an error.", flag(success, new(true)))),
		called(breaks("CARRIER-04"), mutant("flag-false-on-success", "It flags a success as no error.", flag(success, new(false)))),
		called(breaks("CARRIER-07"),
			mutant("arguments-null-refused", "It refuses null for arguments.", refuseArguments(func(raw string) bool { return raw == "null" })),
			mutant("arguments-text-refused", "It does not read an object from a string.", refuseArguments(func(raw string) bool { return strings.HasPrefix(raw, `"{`) })),
			mutant("arguments-kind-untold", "It does not say what kind the arguments are.", rewording(func(r *compose.Refusal, _ *compose.Template) {
				if r.Code == compose.CodeInvalidType && r.Field == "" {
					r.Message = "The arguments must be an object."
				}
			})),
		),
	)
}

func isShape(text, shape string) bool {
	hasError := strings.Contains(text, `"error":`)
	hasStatus := strings.Contains(text, `"status":`)
	switch shape {
	case success:
		return strings.HasPrefix(text, `{"status":`)
	case backendError:
		return hasError && hasStatus && !strings.HasPrefix(text, `{"status":`)
	}
	return hasError && !hasStatus
}

// sdkMutants are the mutants of the SDK-side half.
func sdkMutants() []Mutant {
	return slices.Concat(
		codeMutants(), nameMutants(), argumentMutants(), headerArgumentMutants(), cookieMutants(), deferredMutants(), fileMutants(),
		versionMutants(), rankerMutants(), internalMutants(), dispatchMutants(), retryableMutants(), pinnedMutants(),
		sizeMutants(), timeMutants(), wireFaultMutants(), flagMutants(),
	)
}
