package invoke

import (
	"context"
	"net/http"
	"time"

	"example.com/touchstone/reference/catalog"
	"example.com/touchstone/reference/compose"
	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/schemas"
)

// Policy is how a layer works, as values. A Policy must not be changed while it
// is in use.
type Policy struct {
	// The meta-tools, by the arguments they take (CARRIER-06).
	SearchTools MetaTool
	LoadTool    MetaTool
	InvokeTool  MetaTool

	// Steps take a call to its response, in order. The first error ends it.
	Steps []Step
	// Compose makes the request of a call.
	Compose func(*compose.Template, compose.Call) (*compose.Request, error)
	// FileError decides about an error of the host's file resolver, before it
	// becomes a refusal (SDK-14).
	FileError func(error) error
	// Deadline bounds a backend call. It must end the context with the cause
	// [ErrDeadline]. A limit of 0 is none (GUARD-08).
	Deadline func(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc)
	// Send sends a request once and reads the response, up to maxBody bytes of
	// its body.
	Send func(transport http.RoundTripper, request *http.Request, maxBody int64) (*Response, error)
	// Map makes the envelope of a response.
	Map func(*envelope.Mapper, envelope.Response, envelope.FieldContext) schemas.Envelope

	// Gated tells the answers that the budget holds for, Measure how large one
	// is, and Refuse what is answered in the place of one over the budget.
	Gated   func(Draft) bool
	Measure func(text []byte) int64
	Refuse  func(l *Layer, d Draft, size int64) Draft
	// Narrowing picks the arguments that a refusal for size names (GUARD-03).
	Narrowing compose.NarrowingPolicy

	// Ranker answers where the host has bound none, or falls back. CheckRanked
	// tells whether the answer of the host's makes sense (SDK-18).
	Ranker      catalog.Ranker
	CheckRanked func(c *catalog.Catalog, ranked []string) error
}

// DefaultPolicy gives the conforming policy. Each call gives one of its own.
func DefaultPolicy() *Policy {
	return &Policy{
		SearchTools: MetaTool{Name: "search_tools", Arguments: []MetaArgument{
			{Name: "query", Kind: KindString, Required: true, Description: "What the operation should do, in words."},
			{Name: "limit", Kind: KindCount, Description: "Most operations to return."},
		}},
		LoadTool: MetaTool{Name: "load_tool", Arguments: []MetaArgument{
			{Name: "name", Kind: KindString, Required: true, Description: "Exact name of the operation."},
		}},
		InvokeTool: MetaTool{Name: "invoke_tool", Arguments: []MetaArgument{
			{Name: "name", Kind: KindString, Required: true, Description: "Exact name of the operation."},
			{Name: "arguments", Kind: KindObject, Required: true, Description: "Arguments of the operation, as its input schema says."},
			{Name: "version", Kind: KindString, Description: "Version that load_tool gave, to be told when the operation has changed since."},
		}},
		Steps: []Step{
			{"name", ResolveName},
			{"version", CheckVersion},
			{"template", CheckTemplate},
			{"arguments", ComposeArguments},
			{"files", ResolveFiles},
			{"dispatch", Dispatch},
		},
		Compose:     compose.Compose,
		FileError:   fileError,
		Deadline:    withDeadline,
		Send:        Send,
		Map:         (*envelope.Mapper).Map,
		Gated:       func(Draft) bool { return true },
		Measure:     func(text []byte) int64 { return int64(len(text)) },
		Refuse:      RefuseOversize,
		Narrowing:   compose.DefaultNarrowing(),
		Ranker:      catalog.WordRanker{},
		CheckRanked: (*catalog.Catalog).Check,
	}
}

// Step is one step of a call. Its error is a [*Refusal] or a [*compose.Refusal],
// or else a failure of the layer.
type Step struct {
	Name string
	Run  func(ctx context.Context, l *Layer, c *Call) error
}
