// Package serve answers the target protocol (schemas/target-protocol.schema.json)
// with the reference implementation, over lines or over HTTP.
package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"example.com/touchstone/reference/agent"
	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/reference/invoke"
	"example.com/touchstone/schemas"
)

// Reference is what a [Handler] answers with. The zero value is the conforming
// reference.
type Reference struct {
	// Name and Version are told to the suite; "" stands for the defaults.
	Name    string
	Version string
	// Mapper makes the envelopes; nil is [envelope.NewMapper].
	Mapper *envelope.Mapper
	// Policy is how calls are made and answers gated; nil is [invoke.DefaultPolicy].
	Policy *invoke.Policy
	// Map, where set, stands in for the mapper's own Map.
	Map func(*envelope.Mapper, envelope.Response, envelope.FieldContext) schemas.Envelope
	// HeaderName gives the name under which a header of a response handed to
	// "map" is kept; nil is [http.CanonicalHeaderKey] (HEADER-01).
	HeaderName func(name string) string
	// Client sends the requests of "invoke"; nil sends them by
	// [invoke.NewTransport]. It must not follow redirects.
	Client *http.Client
	// Emit, where set, has the last word on the text of every envelope.
	Emit func(text []byte) []byte
	// Answer, where set, has the last word on every result that holds one.
	Answer func(schemas.AnswerResult) schemas.AnswerResult
	// Carry, where set, stands in for [CarryText], which puts answers into the
	// results of MCP.
	Carry Carry
	// Agent is how agents work; nil is [agent.DefaultPolicy].
	Agent *agent.Policy
	// ErrorsEqual compares the errors of two outcomes; nil compares the errors
	// as Go does (AGENT-18).
	ErrorsEqual func(a, b agent.Outcome) bool
}

// Handler answers messages of the target protocol. It may be used by any number
// of goroutines at once.
type Handler struct {
	reference Reference
	policy    *invoke.Policy
	transport http.RoundTripper
	questions sync.WaitGroup               // of all layers to their host
	layer     atomic.Pointer[invoke.Layer] // nil before "configure"
	documents documents
	agents    agents
}

// New gives a Handler for a reference.
func New(r Reference) *Handler {
	if r.Name == "" {
		r.Name = "Touchstone reference"
	}
	if r.Version == "" {
		r.Version = "1"
	}
	if r.Mapper == nil {
		r.Mapper = envelope.NewMapper()
	}
	policy := r.Policy
	if policy == nil {
		policy = invoke.DefaultPolicy()
	}
	if r.Map == nil {
		r.Map = policy.Map
	} else {
		mapping := *policy
		mapping.Map = r.Map
		policy = &mapping
	}
	if r.HeaderName == nil {
		r.HeaderName = http.CanonicalHeaderKey
	}
	h := &Handler{reference: r, policy: policy, transport: invoke.NewTransport()}
	if r.Client != nil {
		h.transport = roundTripper(r.Client.Do)
	}
	return h
}

// roundTripper is a client's Do as a transport.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// Close waits, after the last call, for what the calls have given up on.
func (h *Handler) Close() { h.questions.Wait() }

// method carries out one method. Its error is a *rpcError or a fault of the handler.
type method struct {
	params schemas.Ref
	call   func(h *Handler, ctx context.Context, params json.RawMessage) (any, error)
}

var methods = map[string]method{
	"describe":  {schemas.DescribeParamsSchema, (*Handler).describe},
	"configure": {schemas.ConfigureParamsSchema, (*Handler).configure},
	"map":       {schemas.MapParamsSchema, answering((*Handler).Map)},
	"refuse":    {schemas.RefuseParamsSchema, answering((*Handler).Refuse)},
	"compose":   {schemas.ComposeParamsSchema, (*Handler).compose},
	"search":    {schemas.SearchParamsSchema, metaTool("search", (*invoke.Layer).SearchTools)},
	"load":      {schemas.LoadParamsSchema, metaTool("load", (*invoke.Layer).LoadTool)},
	"invoke":    {schemas.InvokeParamsSchema, metaTool("invoke", (*invoke.Layer).InvokeTool)},

	"agent.run":   {schemas.AgentRunParamsSchema, (*Handler).runAgent},
	"agent.equal": {schemas.AgentEqualParamsSchema, (*Handler).equalErrors},
}

// rpcError is an error with a JSON-RPC code.
type rpcError struct {
	code int
	err  error
}

func (e *rpcError) Error() string { return e.err.Error() }
func (e *rpcError) Unwrap() error { return e.err }

// rawRequest is a request as it came, before anything in it is known to be right.
type rawRequest struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// Handle answers one message with one message. Whatever it is given, the answer
// is a JSON-RPC 2.0 response, on one line and without a line end. The context
// bounds what the call does with the backend.
func (h *Handler) Handle(ctx context.Context, message []byte) []byte {
	id, result, err := h.dispatch(ctx, message)
	response := schemas.Response{JSONRPC: "2.0", ID: id}
	if err == nil {
		response.Result, err = marshal(result)
	}
	if err != nil {
		code := schemas.RPCInternal
		if coded := (*rpcError)(nil); errors.As(err, &coded) {
			code = coded.code
		}
		response.Error = &schemas.RPCError{Code: code, Message: err.Error()}
	}
	out, err := marshal(response)
	if err != nil {
		// A hook gave a result that is not JSON: say so in the place of it.
		out, _ = marshal(schemas.Response{JSONRPC: "2.0", ID: id, Error: &schemas.RPCError{
			Code: schemas.RPCInternal, Message: fmt.Sprintf("writing the response: %v", err),
		}})
	}
	return out
}

func (h *Handler) dispatch(ctx context.Context, message []byte) (id *int64, result any, err error) {
	if !json.Valid(message) {
		return nil, nil, &rpcError{schemas.ParseError, errors.New("the message is not JSON")}
	}
	var request rawRequest
	invalid := func(format string, args ...any) error {
		return &rpcError{schemas.InvalidRequest, fmt.Errorf(format, args...)}
	}
	dec := json.NewDecoder(bytes.NewReader(message))
	dec.DisallowUnknownFields()
	err = dec.Decode(&request)
	var number int64
	if json.Unmarshal(request.ID, &number) == nil && number > 0 {
		id = &number
	}
	switch {
	case err != nil:
		return id, nil, invalid("the message is not a JSON-RPC request: %w", err)
	case request.JSONRPC != "2.0":
		return id, nil, invalid(`the message is not a JSON-RPC 2.0 request: its jsonrpc must be "2.0"`)
	case id == nil:
		return nil, nil, invalid("the request's id must be a positive integer")
	case request.Method == nil:
		return id, nil, invalid("the request has no method")
	}
	m, known := methods[*request.Method]
	if !known {
		return id, nil, &rpcError{schemas.MethodNotFound, fmt.Errorf("there is no method %q", *request.Method)}
	}
	params := request.Params
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	if err := schemas.Check(m.params, params); err != nil {
		return id, nil, &rpcError{schemas.InvalidParams, fmt.Errorf("the params of %q are not valid: %w", *request.Method, err)}
	}
	result, err = m.call(h, ctx, params)
	return id, result, err
}

// marshal writes a value as JSON; < > & stay as they are.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
