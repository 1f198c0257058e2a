// Package jsonrpc is what all drivers of the target protocol share: the calls,
// their JSON-RPC 2.0 messages, and the check of every message, sent and
// received, against schemas/target-protocol.schema.json. How messages travel is
// a [Transport]'s business.
package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"example.com/touchstone/schemas"
	"example.com/touchstone/suite/target"
)

// MaxMessageBytes is the size limit of one message from a target, unless a
// driver is given another: 32 MiB.
const MaxMessageBytes = 32 << 20

// A Transport carries requests to a target and brings back their answers. Its
// methods may be called side by side.
type Transport interface {
	// RoundTrip sends a request, one line of JSON without its end, and gives the
	// message that answers it. It returns when ctx ends, with an error that wraps
	// the context's. Where the target is at fault, the error is a
	// [*target.ProtocolError].
	RoundTrip(ctx context.Context, id int64, request []byte) (Message, error)
	// Close is [target.Target.Close]. It is called once, when every RoundTrip has
	// returned.
	Close() error
}

// A Logger is a Transport whose target keeps a log that helps to explain a
// fault: a child's standard error.
type Logger interface {
	// LogTail gives the end of the log; see [target.Tail].
	LogTail() string
}

// Client is a [target.Target] over a transport.
type Client struct {
	transport Transport
	lastID    atomic.Int64
	closeOnce sync.Once

	open   context.Context // until Close
	cancel context.CancelFunc
	mu     sync.Mutex // makes "is it open" and "one more call" one step
	calls  sync.WaitGroup
}

var _ target.Target = (*Client)(nil)

// NewClient gives a client that owns the transport and closes it.
func NewClient(t Transport) *Client {
	ctx, cancel := context.WithCancel(context.Background())
	return &Client{transport: t, open: ctx, cancel: cancel}
}

// Describe implements [target.Target].
func (c *Client) Describe(ctx context.Context) (schemas.DescribeResult, error) {
	params := schemas.DescribeParams{Protocol: schemas.ProtocolVersion}
	var result schemas.DescribeResult
	_, err := c.call(ctx, "describe", schemas.DescribeParamsSchema, params, schemas.DescribeResultSchema, &result)
	return result, err
}

// Configure implements [target.Target].
func (c *Client) Configure(ctx context.Context, settings schemas.ConfigureParams) error {
	_, err := c.call(ctx, "configure", schemas.ConfigureParamsSchema, settings, schemas.ConfigureResultSchema, &struct{}{})
	return err
}

// Map implements [target.Target]. The texts of the response must be UTF-8:
// another body goes into BodyBase64, another header cannot be sent this way.
func (c *Client) Map(ctx context.Context, params schemas.MapParams) (target.Answer, error) {
	texts := []string{params.Response.Body}
	for _, header := range params.Response.Headers {
		texts = append(texts, header[0], header[1])
	}
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return target.Answer{}, fmt.Errorf("calling %q: %s is not UTF-8 and JSON would change it", "map", target.Excerpt([]byte(text)))
		}
	}
	if params.Response.Headers == nil {
		params.Response.Headers = [][2]string{} // null is not a list
	}
	return c.ask(ctx, "map", schemas.MapParamsSchema, params)
}

// Refuse implements [target.Target].
func (c *Client) Refuse(ctx context.Context, params schemas.RefuseParams) (target.Answer, error) {
	return c.ask(ctx, "refuse", schemas.RefuseParamsSchema, params)
}

// Compose implements [target.Target].
func (c *Client) Compose(ctx context.Context, params schemas.ComposeParams) (schemas.ComposeResult, error) {
	var result schemas.ComposeResult
	_, err := c.call(ctx, "compose", schemas.ComposeParamsSchema, params, schemas.ComposeResultSchema, &result)
	return result, err
}

// Search implements [target.Target].
func (c *Client) Search(ctx context.Context, params schemas.SearchParams) (target.Answer, error) {
	return c.ask(ctx, "search", schemas.SearchParamsSchema, params)
}

// Load implements [target.Target].
func (c *Client) Load(ctx context.Context, params schemas.LoadParams) (target.Answer, error) {
	return c.ask(ctx, "load", schemas.LoadParamsSchema, params)
}

// Invoke implements [target.Target].
func (c *Client) Invoke(ctx context.Context, params schemas.InvokeParams) (target.Answer, error) {
	return c.ask(ctx, "invoke", schemas.InvokeParamsSchema, params)
}

// RunAgent implements [target.Target].
func (c *Client) RunAgent(ctx context.Context, params schemas.AgentRunParams) (target.Answer, error) {
	var outcome json.RawMessage
	m, err := c.call(ctx, "agent.run", schemas.AgentRunParamsSchema, params, schemas.AgentRunResultSchema, &outcome)
	if err != nil {
		return target.Answer{}, err
	}
	return target.Answer{Envelope: outcome, Raw: m.Raw}, nil
}

// EqualErrors implements [target.Target].
func (c *Client) EqualErrors(ctx context.Context, params schemas.AgentEqualParams) (bool, error) {
	var result schemas.AgentEqualResult
	_, err := c.call(ctx, "agent.equal", schemas.AgentEqualParamsSchema, params, schemas.AgentEqualResultSchema, &result)
	return result.Equal, err
}

// Close implements [target.Target]. Calls that still wait end with
// [target.ErrClosed]. A second Close does nothing.
func (c *Client) Close() (err error) {
	c.closeOnce.Do(func() {
		c.mu.Lock()
		c.cancel()
		c.mu.Unlock()
		c.calls.Wait()
		if err = c.transport.Close(); err != nil {
			err = c.explain("", err)
		}
	})
	return err
}

// ask is a call whose result is an answer.
func (c *Client) ask(ctx context.Context, method string, ref schemas.Ref, params any) (target.Answer, error) {
	var result schemas.AnswerResult
	m, err := c.call(ctx, method, ref, params, schemas.AnswerSchema, &result)
	if err != nil {
		return target.Answer{}, err
	}
	envelope := []byte(result.Envelope)
	if result.Text != nil {
		envelope = []byte(*result.Text)
	}
	return target.Answer{Envelope: envelope, IsError: result.IsError, Raw: m.Raw}, nil
}

// call makes a call, checks both its ends against their schemas, and reads the
// result into into.
func (c *Client) call(ctx context.Context, method string, paramsRef schemas.Ref, params any, resultRef schemas.Ref, into any) (Message, error) {
	id := c.lastID.Add(1)
	request, err := newRequest(id, method, paramsRef, params)
	if err != nil {
		return Message{}, fmt.Errorf("making the request %q: %w", method, err)
	}
	m, err := c.roundTrip(ctx, id, request)
	if err != nil {
		return Message{}, c.explain(method, err)
	}
	if got := *m.Response.ID; got != id {
		return Message{}, c.explain(method, m.fault(target.WrongID, "id %d, asked was %d", got, id))
	}
	if m.Response.Error != nil {
		return Message{}, &target.RPCError{Method: method, Object: *m.Response.Error}
	}
	if err := m.result(resultRef, into); err != nil {
		return Message{}, c.explain(method, err)
	}
	return m, nil
}

// roundTrip is the transport's, until Close.
func (c *Client) roundTrip(ctx context.Context, id int64, request []byte) (Message, error) {
	if err := ctx.Err(); err != nil {
		return Message{}, fmt.Errorf("before it was sent: %w", err)
	}
	c.mu.Lock()
	if c.open.Err() != nil {
		c.mu.Unlock()
		return Message{}, target.ErrClosed
	}
	c.calls.Add(1)
	c.mu.Unlock()
	defer c.calls.Done()

	call, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.open, cancel)()
	m, err := c.transport.RoundTrip(call, id, request)
	if errors.Is(err, context.Canceled) && ctx.Err() == nil && c.open.Err() != nil {
		return Message{}, target.ErrClosed
	}
	return m, err
}

// newRequest gives the request as one line: encoding/json writes no line ends.
func newRequest(id int64, method string, ref schemas.Ref, params any) ([]byte, error) {
	text, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("encoding the params: %w", err)
	}
	if err := schemas.Check(ref, text); err != nil {
		return nil, fmt.Errorf("the params break the target protocol: %w", err)
	}
	return json.Marshal(schemas.Request{JSONRPC: "2.0", ID: id, Method: method, Params: text})
}

// explain says in an error which call it is about, and adds the target's log.
func (c *Client) explain(method string, err error) error {
	if fault, ok := errors.AsType[*target.ProtocolError](err); ok {
		own := *fault // a transport may give one fault to several calls
		own.Method = method
		if logger, ok := c.transport.(Logger); ok {
			own.Stderr = logger.LogTail()
		}
		return &own
	}
	if method == "" {
		return fmt.Errorf("closing the target: %w", err)
	}
	return fmt.Errorf("calling %q: %w", method, err)
}
