package envelope

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/tidwall/gjson"

	"example.com/touchstone/reference/leak"
	"example.com/touchstone/schemas"
)

// RefusalPolicy has what the layer says when it answers by itself. In texts,
// {bytes}, {limit}, {limitMs}, {tool} and {field} stand for the facts of the
// refusal (SDK-22).
type RefusalPolicy struct {
	// Retryable tells the refusals worth another try (SDK-21).
	Retryable func(facts schemas.RefuseParams) bool
	// Text gives the text of a refusal that has one of its own, and "" for the
	// codes whose message is the caller's.
	Text func(facts schemas.RefuseParams) string
	// Shapes say what a body was that is too large, by its kind; "" is for one
	// without a count. {count} is the count.
	Shapes map[string]string
	// Narrow and NoNarrowing are the advice after that. {names} are arguments.
	Narrow      string
	NoNarrowing string
	// FallbackDescription describes a narrowing argument that has no description.
	FallbackDescription string
	// WithheldInternal replaces an internal error's text that is withheld, and
	// Unexplained a text that is missing.
	WithheldInternal string
	Unexplained      string
}

func defaultRefusals() RefusalPolicy {
	return RefusalPolicy{
		Retryable: refusalRetryable,
		Text:      refusalText,
		Shapes: map[string]string{
			"array":  "The body is an array of {count} items.",
			"object": "The body is an object with {count} properties.",
			"text":   "The body is a text value of {count} characters.",
			"":       "The body is not a JSON array or object.",
		},
		Narrow:              "Narrow it and call again: {names}.",
		NoNarrowing:         "No argument of this call narrows the response.",
		FallbackDescription: "Constrains the result set.",
		WithheldInternal:    "The call failed inside the tool layer. Details were withheld.",
		Unexplained:         "The call was refused before it reached the backend.",
	}
}

func refusalRetryable(facts schemas.RefuseParams) bool {
	switch facts.Error {
	case schemas.InvokeTimeout, schemas.SearchRankerUnavailable:
		return true
	case schemas.FileUnresolved:
		return facts.Reason == "unavailable"
	}
	return false
}

func refusalText(facts schemas.RefuseParams) string {
	switch facts.Error {
	case schemas.ResponseTooLarge:
		return "The response is {bytes} bytes; the limit is {limit} bytes. " +
			"It is refused, not truncated: no part of the body was returned. {shape} {advice}"
	case schemas.InvokeTimeout:
		if facts.LimitMs == nil {
			return ""
		}
		return "The backend did not answer within {limitMs} ms and the call was abandoned. " +
			"The operation may already have been applied; re-read before retrying."
	case schemas.ToolChanged:
		return "The tool '{tool}' changed after it was loaded, so the call was refused before reaching the backend. " +
			"Load it again with load_tool and retry with the new version."
	case schemas.SearchRankerUnavailable:
		return "Search is unavailable: the ranker did not answer this query. Call search_tools again later."
	case schemas.FileUnresolved:
		if facts.Reason == "unavailable" {
			return "File argument '{field}' could not be resolved right now. Retry the call."
		}
		return "File argument '{field}' names a ref that could not be resolved. Retrying with the same ref will not help."
	case schemas.UnknownTool:
		if facts.Message == "" {
			return "No operation named '{tool}'. Use search_tools to find the exact name."
		}
	case schemas.FileTooLarge:
		if facts.Limit != nil {
			return "File argument '{field}' is over the limit of {limit} bytes and was not sent."
		}
	}
	return ""
}

// Refuse gives the envelope of a call that the layer answers by itself, from
// the facts of the refusal.
func (m *Mapper) Refuse(facts schemas.RefuseParams) *schemas.SDKError {
	e := &schemas.SDKError{Error: facts.Error, Retryable: m.Refusals.Retryable(facts)}
	if facts.Error == schemas.ResponseTooLarge {
		if facts.Bytes == nil {
			facts.Bytes = new(int64(len(facts.Payload)))
		}
		if facts.Limit == nil {
			facts.Limit = new(int64)
		}
		e.Payload = payloadOf(facts)
		e.Fields = m.narrowing(facts.Narrowing)
	}
	e.Message = m.refusalMessage(facts, e)
	return e
}

func (m *Mapper) refusalMessage(facts schemas.RefuseParams, e *schemas.SDKError) string {
	p := &m.Refusals
	if facts.Error == schemas.InternalError {
		if text, ok := m.Screen(FromInternalError, facts.Message); ok {
			return text
		}
		return p.WithheldInternal
	}
	text := p.Text(facts)
	switch {
	case text == "":
		text = facts.Message
	case e.Payload != nil:
		text = strings.NewReplacer("{shape}", p.shape(e.Payload.Shape), "{advice}", p.advice(e.Fields),
			"{bytes}", number(facts.Bytes), "{limit}", number(facts.Limit)).Replace(text)
	default:
		text = strings.NewReplacer("{tool}", facts.Tool, "{field}", facts.Field,
			"{limit}", number(facts.Limit), "{limitMs}", number(facts.LimitMs)).Replace(text)
	}
	if leak.Blank(text) {
		return p.Unexplained
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// number writes a fact; one that is not given is one the text does not use.
func number(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

func (p *RefusalPolicy) shape(s schemas.PayloadShape) string {
	if s.Count == nil {
		return p.Shapes[""]
	}
	return strings.ReplaceAll(p.Shapes[s.Kind], "{count}", strconv.FormatInt(*s.Count, 10))
}

func (p *RefusalPolicy) advice(fields []schemas.FieldError) string {
	if len(fields) == 0 {
		return p.NoNarrowing
	}
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = field.Name
	}
	return strings.ReplaceAll(p.Narrow, "{names}", strings.Join(names, ", "))
}

// narrowing gives the arguments that narrow a response, each with a description (GUARD-03).
func (m *Mapper) narrowing(arguments []schemas.FieldError) []schemas.FieldError {
	fields := slices.DeleteFunc(slices.Clone(arguments), func(f schemas.FieldError) bool { return f.Name == "" })
	for i := range fields {
		if leak.Blank(fields[i].Message) {
			fields[i].Message = m.Refusals.FallbackDescription
		}
	}
	return fields
}

// payloadOf describes a refused body by its measures alone (GUARD-02, GUARD-04).
func payloadOf(facts schemas.RefuseParams) *schemas.Payload {
	p := &schemas.Payload{Bytes: *facts.Bytes, Limit: *facts.Limit, Shape: schemas.PayloadShape{Kind: "text"}}
	body := string(facts.Payload)
	if !validJSON(body) {
		return p
	}
	value, count := gjson.Parse(body), int64(0)
	switch {
	case value.Type == gjson.String:
		for _, r := range value.Str {
			count += int64(utf16.RuneLen(r))
		}
	case value.IsArray(), value.IsObject():
		value.ForEach(func(_, _ gjson.Result) bool { count++; return true })
		p.Shape.Kind = "object"
		if value.IsArray() {
			p.Shape.Kind = "array"
		}
	default:
		return p
	}
	p.Shape.Count = &count
	return p
}
