// Package target is the suite's side of a target: the thing that is judged. A
// target is reached through a driver (packages below this one), and every
// driver speaks the one JSON-RPC 2.0 contract of
// schemas/target-protocol.schema.json.
package target

import (
	"context"

	"example.com/touchstone/schemas"
)

// Target is an implementation under test. Calls may be made side by side; the
// context of a call is its deadline.
//
// An error of a call is a [*ProtocolError] when the target broke the contract
// or could not be reached, a [*RPCError] when it answered with a JSON-RPC error
// object, [ErrClosed] after Close, and a context error, wrapped with the method,
// when the deadline passed.
type Target interface {
	Describe(ctx context.Context) (schemas.DescribeResult, error)
	Configure(ctx context.Context, settings schemas.ConfigureParams) error
	Map(ctx context.Context, params schemas.MapParams) (Answer, error)
	Refuse(ctx context.Context, params schemas.RefuseParams) (Answer, error)
	Compose(ctx context.Context, params schemas.ComposeParams) (schemas.ComposeResult, error)
	Search(ctx context.Context, params schemas.SearchParams) (Answer, error)
	Load(ctx context.Context, params schemas.LoadParams) (Answer, error)
	Invoke(ctx context.Context, params schemas.InvokeParams) (Answer, error)
	// RunAgent invokes an agent; the envelope of the answer is the outcome.
	RunAgent(ctx context.Context, params schemas.AgentRunParams) (Answer, error)
	// EqualErrors tells whether two error values of agents are equal.
	EqualErrors(ctx context.Context, params schemas.AgentEqualParams) (bool, error)
	// Close ends the target: a child is gone when it returns. Its error is a
	// break of the contract that no call has reported, such as a second answer
	// that came after the last call.
	Close() error
}

// Answer is what a target gave for one call.
type Answer struct {
	// Envelope is the envelope's JSON text: the text of the answer, or the raw
	// bytes of its envelope member as they came over the wire.
	Envelope []byte
	// IsError is the carrier's flag; nil where the target has none.
	IsError *bool
	// Raw is the whole message the target sent, for canaries and reports.
	Raw []byte
	// Carrier says how the answer travelled over MCP; nil where it did not.
	Carrier *Carrier
}

// Carrier is what MCP carried an answer in: the result of a tools/call, or the
// JSON-RPC error in its place.
type Carrier struct {
	// Error is set where no result came (CARRIER-05).
	Error *schemas.RPCError
	// Blocks are the types of the content blocks, in order (CARRIER-01).
	Blocks []string
	// Structured says that the result has structuredContent.
	Structured bool
}

// A ToolCaller is a target whose meta-tools can be called with arguments that
// no [schemas.InvokeParams] can hold: misnamed, missing, of a wrong type
// (CARRIER-06).
type ToolCaller interface {
	CallTool(ctx context.Context, call schemas.ToolCall) (Answer, error)
}
