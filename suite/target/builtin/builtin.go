// Package builtin is the driver for a target in this process. It speaks the
// same messages as the other drivers, so that a case takes the same way.
package builtin

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/target/jsonrpc"
)

// Handler answers one JSON-RPC message with one. It is called side by side, and
// should return when its context ends.
type Handler interface {
	Handle(ctx context.Context, message []byte) []byte
}

// HandlerFunc is a function as a [Handler].
type HandlerFunc func(ctx context.Context, message []byte) []byte

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, message []byte) []byte { return f(ctx, message) }

// New gives the handler as a target. A panic of the handler is the fault Died.
// Close waits up to 5 seconds for calls that were given up.
func New(h Handler) *jsonrpc.Client {
	return jsonrpc.NewClient(&transport{handler: h, grace: 5 * time.Second})
}

type transport struct {
	handler Handler
	grace   time.Duration // for a call to return after its context
	running sync.WaitGroup
}

type reply struct {
	message jsonrpc.Message
	err     error
}

// RoundTrip implements [jsonrpc.Transport]. The handler has a goroutine of its
// own: one that does not heed its context must not hold the call.
func (t *transport) RoundTrip(ctx context.Context, _ int64, request []byte) (jsonrpc.Message, error) {
	answer := make(chan reply, 1)
	t.running.Go(func() {
		m, err := t.handle(ctx, request)
		answer <- reply{m, err}
	})
	select {
	case a := <-answer:
		return a.message, a.err
	case <-ctx.Done():
		return jsonrpc.Message{}, fmt.Errorf("waiting for the answer: %w", ctx.Err())
	}
}

func (t *transport) handle(ctx context.Context, request []byte) (m jsonrpc.Message, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &target.ProtocolError{
				Fault:  target.Died,
				Detail: target.Excerpt(fmt.Appendf(nil, "panic: %v\n%s", v, debug.Stack())),
			}
		}
	}()
	return jsonrpc.Decode(bytes.Clone(t.handler.Handle(ctx, request)))
}

// Close implements [jsonrpc.Transport].
func (t *transport) Close() error {
	done := make(chan struct{})
	go func() {
		t.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-time.After(t.grace):
		return fmt.Errorf("a call did not return within %v of the end of its context", t.grace)
	}
}
