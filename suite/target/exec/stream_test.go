package exec

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"example.com/touchstone/suite/target"
)

// wire is a stream whose other end the test plays, step by step.
type wire struct {
	*stream
	pipe     *io.PipeReader
	requests *bufio.Reader // from pipe
	answers  *io.PipeWriter
}

func newWire(t *testing.T) wire {
	requestsOut, requestsIn := io.Pipe()
	answersOut, answersIn := io.Pipe()
	s := newStream(1000)
	done := make(chan error, 2)
	go func() { done <- s.write(requestsIn) }()
	go func() {
		err := s.read(answersOut)
		if err == nil {
			err = io.EOF
		}
		s.end(err)
		answersOut.CloseWithError(io.ErrClosedPipe)
		done <- err
	}()
	t.Cleanup(func() {
		requestsOut.Close()
		answersIn.Close()
		<-done
		<-done
	})
	return wire{s, requestsOut, bufio.NewReader(requestsOut), answersIn}
}

func (w wire) say(line string) { io.WriteString(w.answers, line+"\n") }

func (w wire) call(ctx context.Context, id int64) chan error {
	done := make(chan error, 1)
	go func() {
		m, err := w.RoundTrip(ctx, id, fmt.Appendf(nil, "request %d", id))
		if err == nil && *m.Response.ID != id {
			err = fmt.Errorf("the answer to %d went to %d", *m.Response.ID, id)
		}
		done <- err
	}()
	return done
}

func (w wire) wantRequest(t *testing.T, want string) {
	t.Helper()
	if line, err := w.requests.ReadString('\n'); line != want+"\n" {
		t.Fatalf("the target read %q (%v), want %q", line, err, want)
	}
}

// within waits for a channel, but not for ever.
func within[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(time.Minute):
		t.Fatal("nothing came")
		panic("not reached")
	}
}

func result(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, id) }

// The answer to a call that was given up is nobody's, and no fault; a second one is.
func TestLateAnswer(t *testing.T) {
	w := newWire(t)
	ctx, cancel := context.WithCancel(t.Context())
	first := w.call(ctx, 1)
	w.wantRequest(t, "request 1")
	cancel()
	if err := within(t, first); !errors.Is(err, context.Canceled) {
		t.Fatalf("the call that was given up: %v", err)
	}
	second := w.call(t.Context(), 2)
	w.wantRequest(t, "request 2")
	w.say(result(1))
	w.say(result(2))
	if err := within(t, second); err != nil {
		t.Errorf("the next call: %v", err)
	}
	w.say(result(1))
	within(t, w.ended)
	if fault, ok := errors.AsType[*target.ProtocolError](w.unreported()); !ok || fault.Fault != target.AnsweredTwice || fault.Detail != "id 1" {
		t.Errorf("the second answer to a call that was given up: %v", fault)
	}
	if err := w.unreported(); err != nil {
		t.Errorf("it is reported once more: %v", err)
	}
}

// A request that never went out can have no answer.
func TestAnswerToAnUnsentRequest(t *testing.T) {
	w := newWire(t)
	sent := w.call(t.Context(), 1)
	if _, err := io.ReadFull(w.pipe, make([]byte, 1)); err != nil { // the writer is in the midst of request 1
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := within(t, w.call(ctx, 2)); !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "sending the request: ") {
		t.Fatalf("a call that could not be sent: %v", err)
	}
	w.say(result(2))
	err := within(t, sent)
	fault, ok := errors.AsType[*target.ProtocolError](err)
	if !ok || fault.Fault != target.WrongID || fault.Detail != "id 2, without an answer are [1]" {
		t.Errorf("got %v, want the wrong id 2", err)
	}
}

// What Close reports, if no call did: a message that should not be there, and
// not that a child with nothing left to answer has ended.
func TestUnreported(t *testing.T) {
	for fault, reported := range map[target.Fault]bool{
		target.Garbage: true, target.AnsweredTwice: true, target.Unsolicited: true, target.Flooded: true,
		target.Died: false, target.HungUp: false,
	} {
		s := newStream(1)
		s.end(&target.ProtocolError{Fault: fault})
		if err := s.unreported(); (err != nil) != reported {
			t.Errorf("%q: got %v", fault, err)
		}
	}
	s := newStream(1)
	s.end(target.ErrClosed)
	if err := s.unreported(); err != nil {
		t.Errorf("after Close: %v", err)
	}
}

func TestBadMessageReachesItsCall(t *testing.T) {
	w := newWire(t)
	first, second := w.call(t.Context(), 1), w.call(t.Context(), 2)
	w.requests.ReadString('\n')
	w.requests.ReadString('\n')
	w.say(`{"jsonrpc":"2.0","id":1,"result":{},"extra":1}`)
	w.say(result(2))
	if err := within(t, second); err != nil {
		t.Errorf("the other call: %v", err)
	}
	if fault, ok := errors.AsType[*target.ProtocolError](within(t, first)); !ok || fault.Fault != target.BadMessage {
		t.Errorf("got %v, want the bad message", fault)
	}
}

func TestMessageSizeLimit(t *testing.T) {
	atLimit := `{"jsonrpc":"2.0","id":1,"result":{"text":"` + strings.Repeat("x", 955) + `"}}`
	if len(atLimit) != 1000 {
		t.Fatalf("the message has %d bytes", len(atLimit))
	}
	w := newWire(t)
	call := w.call(t.Context(), 1)
	w.wantRequest(t, "request 1")
	w.say(atLimit)
	if err := within(t, call); err != nil {
		t.Errorf("a message at the limit: %v", err)
	}
	call = w.call(t.Context(), 2)
	w.wantRequest(t, "request 2")
	w.say(atLimit + " ")
	if fault, ok := errors.AsType[*target.ProtocolError](within(t, call)); !ok || fault.Fault != target.Flooded {
		t.Errorf("a message over the limit: %v", fault)
	}
}

func TestTail(t *testing.T) {
	var log tail
	for i := range 100_000 {
		fmt.Fprintf(&log, "line %05d\n", i)
		if len(log.kept) > 3*target.ExcerptBytes {
			t.Fatalf("it keeps %d bytes", len(log.kept))
		}
	}
	got := log.String()
	const lost = 100_000*11 - target.ExcerptBytes
	if want := fmt.Sprintf("[cut: %d earlier bytes] …", lost); !strings.HasPrefix(got, want) {
		t.Errorf("it starts with %.60q, want %q", got, want)
	}
	if !strings.HasSuffix(got, "line 99998\nline 99999\n") {
		t.Errorf("it ends with %q", got[len(got)-30:])
	}
}
