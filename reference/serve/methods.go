package serve

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"

	"example.com/touchstone/reference/compose"
	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/reference/invoke"
	"example.com/touchstone/schemas"
)

func (h *Handler) describe(context.Context, json.RawMessage) (any, error) {
	return schemas.DescribeResult{
		Protocol: schemas.ProtocolVersion,
		Name:     h.reference.Name,
		Version:  h.reference.Version,
		Features: []string{
			schemas.FeatureMap, schemas.FeatureRefuse, schemas.FeatureCompose, schemas.FeatureInvoke,
			schemas.FeatureHostRecognisers, schemas.FeatureMetaTools, schemas.FeatureVersionPin, schemas.FeatureLimits,
			schemas.FeatureCookies, schemas.FeatureFiles, schemas.FeatureFileRefs, schemas.FeatureDeferred,
			schemas.FeatureSearchRanker, schemas.FeatureNotInvocable, schemas.FeatureInternalFault, schemas.FeatureErrorFlag,
			schemas.FeatureAgent, schemas.FeatureAgentStreaming, schemas.FeatureSubAgents, schemas.FeaturePersistentSessions,
			schemas.FeatureInvocationHooks, schemas.FeaturePromptHooks, schemas.FeatureErrorEquality,
		},
	}, nil
}

// answering makes a method of a call that gives an answer.
func answering[P any](call func(*Handler, context.Context, P) (schemas.AnswerResult, error)) func(*Handler, context.Context, json.RawMessage) (any, error) {
	return func(h *Handler, ctx context.Context, raw json.RawMessage) (any, error) {
		params, err := decode[P](raw)
		if err != nil {
			return nil, err
		}
		return call(h, ctx, params)
	}
}

// Map carries out "map" for a caller in this process. The params are taken for
// valid.
func (h *Handler) Map(_ context.Context, params schemas.MapParams) (schemas.AnswerResult, error) {
	resp := envelope.Response{
		Status: params.Response.Status,
		Header: http.Header{},
		Body:   []byte(params.Response.Body),
	}
	for _, field := range params.Response.Headers {
		name := h.reference.HeaderName(field[0])
		resp.Header[name] = append(resp.Header[name], field[1])
	}
	if encoded := params.Response.BodyBase64; encoded != "" {
		body, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return schemas.AnswerResult{}, &rpcError{schemas.InvalidParams, fmt.Errorf("decoding bodyBase64: %w", err)}
		}
		resp.Body = body
	}
	mapper := *h.reference.Mapper
	if host := params.HostRecognises; host != nil {
		mapper.Hosts = []envelope.Recognizer{hostStub{Message: host.Message, Fields: host.Fields}}
	}
	var fields envelope.FieldContext
	if params.Fields != nil {
		fields = envelope.NewFieldContext(*params.Fields)
	}
	return h.answer(h.reference.Map(&mapper, resp, fields))
}

// hostStub is a host's recogniser that takes every response for the same thing.
type hostStub envelope.Recognition

func (s hostStub) Recognize(envelope.Response) (envelope.Recognition, bool) {
	return envelope.Recognition(s), true
}

// Refuse carries out "refuse" for a caller in this process.
func (h *Handler) Refuse(_ context.Context, params schemas.RefuseParams) (schemas.AnswerResult, error) {
	return h.answer(h.reference.Mapper.Refuse(params))
}

// answer writes an envelope that did not come from a layer.
func (h *Handler) answer(e schemas.Envelope) (schemas.AnswerResult, error) {
	text, err := envelope.Encode(e)
	if err != nil {
		return schemas.AnswerResult{}, err
	}
	return h.result(invoke.Answer{Text: text, Envelope: e}), nil
}

// result is the one place where an answer becomes a result.
func (h *Handler) result(a invoke.Answer) schemas.AnswerResult {
	if h.reference.Emit != nil && a.Envelope != nil {
		a.Text = h.reference.Emit(a.Text)
	}
	text := string(a.Text)
	result := schemas.AnswerResult{Text: &text}
	if a.IsError() {
		result.IsError = new(true)
	}
	if h.reference.Answer != nil {
		result = h.reference.Answer(result)
	}
	return result
}

// metaTool makes a method of a meta-tool, whose arguments are the method's params.
func metaTool(name string, call func(*invoke.Layer, context.Context, json.RawMessage) invoke.Answer) func(*Handler, context.Context, json.RawMessage) (any, error) {
	return func(h *Handler, ctx context.Context, raw json.RawMessage) (any, error) {
		layer := h.layer.Load()
		if layer == nil {
			return nil, &rpcError{schemas.InvalidRequest, fmt.Errorf(`%q needs a backend: call "configure" first`, name)}
		}
		return h.result(call(layer, ctx, raw)), nil
	}
}

// compose carries out "compose". A template that Validate rejects is the
// caller's mistake, and no refusal.
func (h *Handler) compose(_ context.Context, raw json.RawMessage) (any, error) {
	params, err := decode[schemas.ComposeParams](raw)
	if err != nil {
		return nil, err
	}
	var template compose.Template
	if err := json.Unmarshal(params.Template, &template); err != nil {
		return nil, &rpcError{schemas.InvalidParams, fmt.Errorf("reading the template: %w", err)}
	}
	if err := template.Validate(); err != nil {
		return nil, &rpcError{schemas.InvalidParams, fmt.Errorf("the template cannot be used: %w", err)}
	}
	call := compose.Call{
		Arguments: params.Arguments, CarrierCookies: params.CarrierCookies,
		Deferred: params.Deferred, MaxInlineFileBytes: compose.DefaultMaxInlineFileBytes,
	}
	if params.MaxInlineFileBytes != nil {
		call.MaxInlineFileBytes = *params.MaxInlineFileBytes
	}
	request, err := h.policy.Compose(&template, call)
	if err == nil {
		written, err := marshal(request)
		return schemas.ComposeResult{Request: written}, err
	}
	refusal, err := envelope.Encode(h.reference.Mapper.Refuse(invoke.Facts(err)))
	return schemas.ComposeResult{Refusal: refusal}, err
}

// decode reads params that have passed their schema. What is left to go wrong
// is a number beyond 64 bits.
func decode[T any](params json.RawMessage) (T, error) {
	var v T
	if err := json.Unmarshal(params, &v); err != nil {
		return v, &rpcError{schemas.InvalidParams, fmt.Errorf("reading the params: %w", err)}
	}
	return v, nil
}
