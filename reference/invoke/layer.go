// Package invoke is the tool layer: what stands between an agent and a backend.
//
// A [Layer] answers the three meta-tools. [Layer.InvokeTool] takes a call through
// its steps: name, version, template, arguments and files are settled before
// anything is sent; then the request is dispatched under a deadline, the response
// mapped, and the answer gated by its size. Every answer, of every meta-tool, is
// made in one place.
//
// What the layer does is a set of values, its [Policy]; what it cannot know is
// asked of the [Host].
package invoke

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"example.com/touchstone/reference/catalog"
	"example.com/touchstone/reference/compose"
	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/schemas"
)

// Config is what a layer is made of.
type Config struct {
	Catalog *catalog.Catalog
	// BackendURL is where the paths of the catalog begin; it may have a path of
	// its own.
	BackendURL string
	Host       Host
	// Limits are taken as they are; [DefaultLimits] is where to start from.
	Limits Limits
	// Mapper makes the envelopes; nil is [envelope.NewMapper].
	Mapper *envelope.Mapper
	// Transport sends the requests; nil is [NewTransport].
	Transport http.RoundTripper
	// Policy is how the layer works; nil is [DefaultPolicy].
	Policy *Policy
	// Questions counts the questions to the host that are not answered, for
	// layers that share a host; nil is one of the layer's own.
	Questions *sync.WaitGroup
}

// Limits bound what a call may take.
type Limits struct {
	// Timeout is the time of one backend call, from dispatch to the last byte of
	// the response; 0 means none (GUARD-08).
	Timeout time.Duration
	// HostTimeout is the time of a question to the host, and RankerTimeout of one
	// to its ranker.
	HostTimeout   time.Duration
	RankerTimeout time.Duration
	// MaxResponseBytes is the budget of a serialised answer in UTF-8 bytes (GUARD-01).
	MaxResponseBytes int64
	// MaxInlineFileBytes and MaxFileBytes are the budgets of files (SDK-13).
	MaxInlineFileBytes int64
	MaxFileBytes       int64
	// SearchResults is how many operations a search gives when the agent does not say.
	SearchResults int
}

// DefaultLimits are the limits of the envelope, and sensible ones where it has none.
func DefaultLimits() Limits {
	return Limits{
		Timeout:            30 * time.Second,
		HostTimeout:        10 * time.Second,
		RankerTimeout:      time.Second,
		MaxResponseBytes:   262144,
		MaxInlineFileBytes: compose.DefaultMaxInlineFileBytes,
		MaxFileBytes:       compose.DefaultMaxFileBytes,
		SearchResults:      10,
	}
}

// minReadBytes is how much of a body is read in any case. It leaves room for
// bodies that shrink when they are mapped: white space, HTML, long errors.
const minReadBytes = 16 << 20

// readBytes bounds how much of a body is read. What is over it is over the
// budget of an answer too.
func (l Limits) readBytes() int64 {
	return max(minReadBytes, 4*min(l.MaxResponseBytes, math.MaxInt64/4))
}

// Layer answers the calls of agents. It may be used by any number of goroutines.
type Layer struct{ Config }

// New makes a layer.
func New(c Config) *Layer {
	if c.Mapper == nil {
		c.Mapper = envelope.NewMapper()
	}
	if c.Transport == nil {
		c.Transport = NewTransport()
	}
	if c.Policy == nil {
		c.Policy = DefaultPolicy()
	}
	if c.Questions == nil {
		c.Questions = new(sync.WaitGroup)
	}
	return &Layer{c}
}

// Close waits, after the last call, for the questions to the host that no call
// waits for any longer. It blocks for as long as the host does not heed their
// contexts.
func (l *Layer) Close() { l.Questions.Wait() }

// Answer is what an agent gets.
type Answer struct {
	// Text is JSON: an envelope, or the document of a search or of a tool.
	Text []byte
	// Envelope is nil when Text is a document.
	Envelope schemas.Envelope
}

// IsError is the error flag of the carrier (CARRIER-02, CARRIER-03).
func (a Answer) IsError() bool {
	_, success := a.Envelope.(*schemas.Success)
	return a.Envelope != nil && !success
}

// Call is an invocation on its way through the steps of a policy.
type Call struct {
	// Name, Arguments and Version are what the agent gave. A nil Version pins none.
	Name      string
	Arguments json.RawMessage
	Version   *string

	// The steps fill in the rest.
	Operation *catalog.Operation
	Request   *compose.Request
	Response  *Response
}

// InvokeTool answers invoke_tool, given its arguments as the agent wrote them.
func (l *Layer) InvokeTool(ctx context.Context, arguments json.RawMessage) Answer {
	return l.answering(func() (Draft, error) {
		given, err := l.Policy.InvokeTool.read(arguments)
		if err != nil {
			return Draft{}, err
		}
		c := &Call{Name: given["name"].Str, Arguments: json.RawMessage(given["arguments"].Raw)}
		if pin, ok := given["version"]; ok {
			c.Version = &pin.Str
		}
		return l.invoke(ctx, c)
	})
}

func (l *Layer) invoke(ctx context.Context, c *Call) (Draft, error) {
	for _, step := range l.Policy.Steps {
		if err := step.Run(ctx, l, c); err != nil {
			return Draft{}, err
		}
	}
	return Draft{
		Envelope:  l.Policy.Map(l.Mapper, c.Response.Response, c.Operation.Fields),
		Response:  c.Response,
		Narrowing: c.Operation.Arguments,
	}, nil
}

// toolDocument is the answer of load_tool.
type toolDocument struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	// Version is what a call may pin (SDK-15).
	Version string `json:"version"`
}

// LoadTool answers load_tool: what there is to know for a call.
func (l *Layer) LoadTool(_ context.Context, arguments json.RawMessage) Answer {
	return l.answering(func() (Draft, error) {
		given, err := l.Policy.LoadTool.read(arguments)
		if err != nil {
			return Draft{}, err
		}
		op, ok := l.Catalog.Lookup(given["name"].Str)
		if !ok {
			return Draft{}, unknownTool(given["name"].Str)
		}
		return l.Policy.LoadTool.document(toolDocument{op.Name, op.Description, op.InputSchema, op.Version})
	})
}

// searchDocument is the answer of search_tools, the best fit first.
type searchDocument struct {
	Tools []foundTool `json:"tools"`
}

type foundTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// SearchTools answers search_tools.
func (l *Layer) SearchTools(ctx context.Context, arguments json.RawMessage) Answer {
	return l.answering(func() (Draft, error) {
		given, err := l.Policy.SearchTools.read(arguments)
		if err != nil {
			return Draft{}, err
		}
		names, err := l.rank(ctx, given["query"].Str)
		if err != nil {
			return Draft{}, err
		}
		limit := l.Limits.SearchResults
		if wanted, ok := given["limit"]; ok {
			limit = int(min(wanted.Num, math.MaxInt32))
		}
		found := searchDocument{Tools: []foundTool{}}
		for _, name := range names[:min(limit, len(names))] {
			if op, ok := l.Catalog.Lookup(name); ok {
				found.Tools = append(found.Tools, foundTool{op.Name, op.Summary})
			}
		}
		return l.Policy.SearchTools.document(found)
	})
}

// answering makes the answer of what a meta-tool drafts. A panic is a failure of
// the layer, and an answer like any other (SDK-19).
func (l *Layer) answering(draft func() (Draft, error)) (a Answer) {
	defer func() {
		if v := recover(); v != nil {
			a = l.internal(fmt.Sprint(v))
		}
	}()
	d, err := draft()
	if err != nil {
		d = Draft{Envelope: l.Mapper.Refuse(Facts(err))}
	}
	return l.answer(d)
}
