package mutant

import (
	"context"
	"encoding/json"
	"fmt"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/schemas"
)

// Null is a target that does no mapping at all. It speaks the protocol, so that
// nothing but its answers can give it away.
type Null struct {
	ID, Doc string
	answer  func(call nullCall) any // what it says is the envelope
}

// nullCall is a call as a null target sees it.
type nullCall struct {
	params any
	status int             // of the backend's response, 0 where there is none
	code   schemas.SDKCode // of a refusal, "" in every other call
}

// Nulls gives the null targets: each must be refused.
func Nulls() []Null {
	standard := func(status int) schemas.Envelope {
		return envelope.NewMapper().Map(envelope.Response{Status: status}, envelope.FieldContext{})
	}
	return []Null{
		{"empty", "It always answers an empty object.", func(nullCall) any { return struct{}{} }},
		{"echo", "It gives back what it was given.", func(c nullCall) any { return c.params }},
		{"always-success", "It always answers a success.", func(nullCall) any { return standard(200) }},
		{"always-error", "It always answers the same error.", func(nullCall) any { return standard(404) }},
		{"always-withheld", "It answers with the right code and the standard message, and never forwards anything.", func(c nullCall) any {
			if c.code != "" {
				return &schemas.SDKError{Error: c.code, Message: "The call was refused."}
			}
			return standard(max(c.status, 200))
		}},
	}
}

// Map gives its answer to a response.
func (n Null) Map(_ context.Context, params schemas.MapParams) (schemas.AnswerResult, error) {
	return n.result(nullCall{params: params, status: params.Response.Status})
}

// Refuse gives its answer to the facts of a refusal.
func (n Null) Refuse(_ context.Context, params schemas.RefuseParams) (schemas.AnswerResult, error) {
	return n.result(nullCall{params: params, code: params.Error})
}

func (n Null) result(c nullCall) (schemas.AnswerResult, error) {
	text, err := json.Marshal(n.answer(c))
	if err != nil {
		return schemas.AnswerResult{}, fmt.Errorf("writing what a null target says: %w", err)
	}
	return schemas.AnswerResult{Envelope: text}, nil
}

// Handle answers a message of the target protocol.
func (n Null) Handle(ctx context.Context, message []byte) []byte {
	var request schemas.Request
	result, err := any(nil), json.Unmarshal(message, &request)
	if err == nil {
		result, err = n.carryOut(ctx, request)
	}
	response := schemas.Response{JSONRPC: "2.0", ID: &request.ID}
	if err == nil {
		response.Result, err = json.Marshal(result)
	}
	if err != nil {
		response.Error = &schemas.RPCError{Code: schemas.RPCInternal, Message: err.Error()}
	}
	out, _ := json.Marshal(response) // of JSON and text, which have an encoding
	return out
}

func (n Null) carryOut(ctx context.Context, request schemas.Request) (any, error) {
	switch request.Method {
	case "describe":
		return schemas.DescribeResult{
			Protocol: schemas.ProtocolVersion, Name: "null target " + n.ID, Version: "1",
			Features: []string{schemas.FeatureMap, schemas.FeatureRefuse, schemas.FeatureInvoke, schemas.FeatureHostRecognisers},
		}, nil
	case "configure":
		return struct{}{}, nil
	case schemas.FeatureMap:
		var params schemas.MapParams
		if err := json.Unmarshal(request.Params, &params); err != nil {
			return nil, err
		}
		return n.Map(ctx, params)
	case schemas.FeatureRefuse:
		var params schemas.RefuseParams
		if err := json.Unmarshal(request.Params, &params); err != nil {
			return nil, err
		}
		return n.Refuse(ctx, params)
	}
	return n.result(nullCall{params: request.Params})
}
