package exec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"example.com/touchstone/suite/target"
	"example.com/touchstone/suite/target/jsonrpc"
)

// stream is JSON-RPC over two pipes, one message a line, in any order: it gives
// each answer to the call that waits for it. Its first fault ends it for good,
// because nothing that follows can be trusted to belong to a call.
type stream struct {
	limit  int           // bytes of one message
	writes chan []byte   // requests, to the goroutine that runs write
	ended  chan struct{} // closed when err is set

	mu sync.Mutex
	// open are the calls without an answer. One that was given up stays, and its
	// late answer goes into the channel's buffer and no further.
	open     map[int64]chan<- reply
	answered map[int64]bool
	partial  []byte // of the line that the child is sending
	err      error
	reported bool // whether a call has returned err
}

type reply struct {
	message jsonrpc.Message
	err     error
}

func newStream(limit int) *stream {
	return &stream{
		limit:    limit,
		writes:   make(chan []byte),
		ended:    make(chan struct{}),
		open:     make(map[int64]chan<- reply),
		answered: make(map[int64]bool),
	}
}

// RoundTrip implements [jsonrpc.Transport].
func (s *stream) RoundTrip(ctx context.Context, id int64, request []byte) (jsonrpc.Message, error) {
	answer := make(chan reply, 1)
	s.mu.Lock()
	s.open[id] = answer // before it is sent: the answer may be faster than we are
	s.mu.Unlock()

	select {
	case s.writes <- append(request, '\n'):
	case <-ctx.Done():
		s.forget(id)
		return jsonrpc.Message{}, s.gaveUp("sending the request", ctx)
	case <-s.ended:
		return jsonrpc.Message{}, s.report()
	}
	var gone error
	select {
	case a := <-answer:
		return a.message, a.err
	case <-ctx.Done():
		gone = s.gaveUp("waiting for the answer", ctx)
	case <-s.ended:
	}
	select {
	case a := <-answer: // it came just before the end
		return a.message, a.err
	default:
	}
	if gone == nil {
		gone = s.report()
	}
	return jsonrpc.Message{}, gone
}

// forget takes back a call that was never sent.
func (s *stream) forget(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, id)
}

// gaveUp is the context's error. A child that forgets the newline looks like one
// that does not answer, so what it has sent of a line is told.
func (s *stream) gaveUp(doing string, ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.partial) == 0 {
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	}
	return fmt.Errorf("%s: %w; the target has sent %d bytes without the newline that ends a message: %s",
		doing, ctx.Err(), len(s.partial), target.Excerpt(s.partial))
}

// end ends the stream, unless it has ended already.
func (s *stream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
		close(s.ended)
	}
}

// report gives why the stream ended.
func (s *stream) report() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reported = true
	return s.err
}

// unreported gives the message that broke the protocol, once, if no call has. A
// child that has ended is not at fault where nothing more was asked of it.
func (s *stream) unreported() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	fault, ok := errors.AsType[*target.ProtocolError](s.err)
	if !ok || s.reported || fault.Fault == target.Died || fault.Fault == target.HungUp {
		return nil
	}
	s.reported = true
	return fault
}

// write sends requests until the stream ends or the child closes its end.
func (s *stream) write(w io.Writer) error {
	for {
		select {
		case request := <-s.writes:
			if _, err := w.Write(request); err != nil {
				return err
			}
		case <-s.ended:
			return nil
		}
	}
}

// read routes the child's messages. It gives nil at their end and otherwise the
// fault that ends the stream.
func (s *stream) read(r io.Reader) error {
	chunk := make([]byte, 64<<10)
	for {
		n, err := r.Read(chunk)
		rest := chunk[:n]
		for len(rest) > 0 {
			line, after, complete := bytes.Cut(rest, []byte{'\n'})
			whole := s.extend(line)
			if len(whole) > s.limit {
				return &target.ProtocolError{
					Fault:    target.Flooded,
					Detail:   fmt.Sprintf("over %d bytes without the newline that ends a message", s.limit),
					Received: target.Excerpt(whole),
				}
			}
			if complete {
				s.startLine()
				if err := s.route(whole); err != nil {
					return err
				}
			}
			rest = after
		}
		if err != nil { // io.EOF, or our own end was closed
			return s.routeLast()
		}
	}
}

func (s *stream) extend(line []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.partial = append(s.partial, line...)
	return s.partial
}

// startLine leaves the finished line to whoever keeps the message.
func (s *stream) startLine() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.partial = nil
}

// routeLast takes a message whose newline is missing at the end of the output.
// Half a message stays in partial, for the report of how the child ended.
func (s *stream) routeLast() error {
	s.mu.Lock()
	last := s.partial
	s.mu.Unlock()
	if !json.Valid(last) {
		return nil
	}
	s.startLine()
	return s.route(last)
}

// route gives a message to the call it answers. Its error is a fault that
// belongs to no one call.
func (s *stream) route(line []byte) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	m, err := jsonrpc.Decode(bytes.TrimSuffix(line, []byte{'\r'}))
	if fault, ok := errors.AsType[*target.ProtocolError](err); ok && fault.Fault == target.Garbage {
		fault.Detail += "; standard output is for messages alone, one a line, and a log belongs on standard error"
	}
	if m.Response.ID == nil {
		return err
	}
	id := *m.Response.ID
	s.mu.Lock()
	defer s.mu.Unlock()
	if call, ok := s.open[id]; ok {
		delete(s.open, id)
		s.answered[id] = true
		call <- reply{m, err}
		return nil
	}
	if err != nil {
		return err
	}
	fault := &target.ProtocolError{Received: target.Excerpt(m.Raw)}
	switch {
	case s.answered[id]:
		fault.Fault, fault.Detail = target.AnsweredTwice, fmt.Sprintf("id %d", id)
	case len(s.open) == 0:
		fault.Fault, fault.Detail = target.Unsolicited, fmt.Sprintf("an answer to id %d", id)
	default:
		fault.Fault, fault.Detail = target.WrongID, fmt.Sprintf("id %d, without an answer are %d", id, slices.Sorted(maps.Keys(s.open)))
	}
	return fault
}

// unfinished is what the child has sent of a line.
func (s *stream) unfinished() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return target.Excerpt(s.partial)
}
