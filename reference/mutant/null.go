package mutant

import (
	"context"
	"encoding/json"
	"strings"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/schemas"
)

// Null is a target that does no mapping at all. It speaks the protocol, so that
// nothing but its answers can give it away.
type Null struct {
	ID, Doc string
	// answer gives the envelope for a call. Params are those of "map", or the
	// empty value, and Facts those of "refuse".
	answer func(call nullCall) any
}

type nullCall struct {
	method string
	raw    json.RawMessage
	mapped schemas.MapParams
	facts  schemas.RefuseParams
}

// Nulls gives the null targets: each must be refused.
func Nulls() []Null {
	standard := func(status int) *schemas.BackendError {
		m := envelope.NewMapper()
		return m.Map(envelope.Response{Status: status}, envelope.FieldContext{}).(*schemas.BackendError)
	}
	return []Null{
		{"empty", "It always answers an empty object.", func(nullCall) any { return struct{}{} }},
		{"echo", "It gives back what it was given.", func(c nullCall) any { return c.raw }},
		{"always-success", "It always answers a success.", func(nullCall) any { return &schemas.Success{Status: 200} }},
		{"always-error", "It always answers the same error.", func(nullCall) any { return standard(404) }},
		{"always-withheld", "It answers with the right code and the standard message, and never forwards anything.", func(c nullCall) any {
			switch {
			case c.method == schemas.FeatureRefuse:
				return &schemas.SDKError{Error: c.facts.Error, Message: "The call was refused."}
			case c.mapped.Response.Status < 400:
				return &schemas.Success{Status: max(c.mapped.Response.Status, 200)}
			}
			return standard(c.mapped.Response.Status)
		}},
	}
}

// Handle answers a message of the target protocol.
func (n Null) Handle(_ context.Context, message []byte) []byte {
	var request schemas.Request
	response := schemas.Response{JSONRPC: "2.0", ID: new(int64)}
	if err := json.Unmarshal(message, &request); err != nil {
		response.Error = &schemas.RPCError{Code: schemas.ParseError, Message: err.Error()}
	}
	*response.ID = request.ID
	var result any
	switch request.Method {
	case "describe":
		result = schemas.DescribeResult{
			Protocol: schemas.ProtocolVersion, Name: "null target " + n.ID, Version: "1",
			Features: []string{schemas.FeatureMap, schemas.FeatureRefuse, schemas.FeatureInvoke, schemas.FeatureHostRecognisers},
		}
	case "configure":
		result = struct{}{}
	default:
		call := nullCall{method: request.Method, raw: request.Params}
		_ = json.Unmarshal(request.Params, &call.mapped) // what does not fit stays empty
		_ = json.Unmarshal(request.Params, &call.facts)
		envelope, _ := json.Marshal(n.answer(call)) // envelopes have an encoding
		result = schemas.AnswerResult{Envelope: envelope}
	}
	if response.Error == nil {
		response.Result, _ = json.Marshal(result)
	}
	out, _ := json.Marshal(response)
	return []byte(strings.TrimSpace(string(out)))
}
