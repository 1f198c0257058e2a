package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/touchstone/suite/target"
)

// faults keep the first break of the protocol. It ends a connection for good,
// as for the other drivers: nothing that follows can be trusted to belong to a
// call.
type faults struct {
	mu       sync.Mutex
	first    *target.ProtocolError
	reported bool
}

func (f *faults) add(fault *target.ProtocolError) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first == nil {
		f.first = fault
	}
}

// report gives the fault to a call, and where doing is "" to Close: there, only
// one that no call has reported.
func (f *faults) report(doing string) *target.ProtocolError {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first == nil || doing == "" && f.reported {
		return nil
	}
	f.reported = true
	own := *f.first // it is given to several calls
	own.Method = doing
	return &own
}

// stream is how far a connection over pipes has come.
type stream struct {
	faults
	ended chan struct{} // closed when no more is read, and err is set
	once  sync.Once
	err   error
}

// end says why nothing more is read.
func (s *stream) end(err error) {
	s.once.Do(func() {
		s.err = err
		if fault, ok := errors.AsType[*target.ProtocolError](err); ok {
			s.add(fault)
		}
		close(s.ended)
	})
}

// why gives the error that ended reading, and otherwise else. What the SDK gives
// to a call after that may be another.
func (s *stream) why(otherwise error) error {
	select {
	case <-s.ended:
		return s.err
	default:
		return otherwise
	}
}

// tappedTransport takes down answers of a connection over pipes.
type tappedTransport struct {
	mcp.Transport
	stream *stream
}

// Connect implements [mcp.Transport].
func (t tappedTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &tappedConnection{Connection: c, stream: t.stream, calls: map[jsonrpc.ID]*tap{}}, nil
}

type tappedConnection struct {
	mcp.Connection
	stream *stream

	mu sync.Mutex
	// calls are all that were made; nil where the answer came. One that was given
	// up stays open: its answer may come late.
	calls map[jsonrpc.ID]*tap
	open  int
}

// Write implements [mcp.Connection].
func (c *tappedConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	if request, ok := m.(*jsonrpc.Request); ok && request.IsCall() {
		t := tapOf(ctx)
		if t == nil {
			t = &tap{}
		}
		t.expect(request.ID)
		c.mu.Lock()
		c.calls[request.ID] = t // before it is sent: the answer may be faster than we are
		c.open++
		c.mu.Unlock()
	}
	return c.Connection.Write(ctx, m)
}

// Read implements [mcp.Connection].
func (c *tappedConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if response, ok := m.(*jsonrpc.Response); ok && err == nil {
		if fault := c.route(response); fault != nil {
			err = fault
		}
	}
	if err != nil {
		c.stream.end(err)
		return nil, err
	}
	return m, nil
}

// route gives a response to the call it answers.
func (c *tappedConnection) route(response *jsonrpc.Response) *target.ProtocolError {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, asked := c.calls[response.ID]
	id := response.ID.Raw()
	switch {
	case t != nil:
		c.calls[response.ID] = nil
		c.open--
		return t.take(response, written(response))
	case asked:
		return faultOf(target.AnsweredTwice, written(response), "id %v", id)
	case c.open == 0:
		return faultOf(target.Unsolicited, written(response), "an answer to id %v", id)
	}
	return faultOf(target.WrongID, written(response), "id %v was not asked for", id)
}

// written gives a response as text; its result is still the bytes that came.
func written(response *jsonrpc.Response) []byte {
	envelope := *response
	envelope.Result = nil
	text, err := jsonrpc.EncodeMessage(&envelope)
	if err != nil || response.Result == nil {
		return text // an error was read from JSON
	}
	text = append(text[:len(text)-1:len(text)-1], `,"result":`...)
	return append(append(text, response.Result...), '}')
}

func faultOf(kind target.Fault, received []byte, format string, args ...any) *target.ProtocolError {
	return &target.ProtocolError{
		Fault:    kind,
		Detail:   target.Excerpt(fmt.Appendf(nil, format, args...)), // it may quote the message
		Received: target.Excerpt(received),
	}
}
