package invoke

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"example.com/touchstone/reference/envelope"
	"example.com/touchstone/schemas"
)

// ErrDeadline is why a context ended that [Policy.Deadline] has made.
var ErrDeadline = errors.New("the deadline of the backend call")

// Response is a response of the backend. Cut is set when its body has more than
// was read.
type Response struct {
	envelope.Response
	Cut bool
}

// NewTransport gives a transport that sends each request once, over HTTP/1.1, and
// hands back what came. Connections are not kept: on a kept one, net/http
// repeats a request by itself when the backend closes it too early, and what was
// sent once may be applied twice.
func NewTransport() *http.Transport {
	t := &http.Transport{DisableKeepAlives: true, DisableCompression: true, Protocols: new(http.Protocols)}
	t.Protocols.SetHTTP1(true) // HTTP/2 has retries of its own
	return t
}

// Texts of faults on the wire. An error's own text has addresses in it (GUARD-10).
const (
	unreachable = "The backend could not be reached. The operation was not applied."
	unreadable  = "The backend's response could not be read. The operation may already have been applied; re-read before retrying."
)

// Dispatch sends the request, under the deadline, and reads the response.
// Whatever ends the call ends the request too: its context is cancelled (GUARD-09),
// and nobody is left to take a late answer (GUARD-07).
func Dispatch(ctx context.Context, l *Layer, c *Call) error {
	ctx, cancel := l.Policy.Deadline(ctx, l.Limits.Timeout)
	defer cancel()
	request, err := c.Request.HTTPRequest(ctx, l.BackendURL)
	if err != nil {
		return refuse(schemas.InternalError, unreachable)
	}
	c.Response, err = l.Policy.Send(l.Transport, request, l.Limits.readBytes())
	switch {
	case err == nil:
		return nil
	case errors.Is(context.Cause(ctx), ErrDeadline):
		return &Refusal{schemas.RefuseParams{Error: schemas.InvokeTimeout, LimitMs: new(l.Limits.Timeout.Milliseconds())}}
	case dialing(err):
		return refuse(schemas.InternalError, unreachable)
	}
	return refuse(schemas.InternalError, unreadable)
}

// dialing reports that there never was a connection.
func dialing(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

func withDeadline(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, limit, ErrDeadline)
}

// Send sends a request once and reads the response, to its end or to maxBody
// bytes of its body.
func Send(transport http.RoundTripper, request *http.Request, maxBody int64) (*Response, error) {
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return nil, fmt.Errorf("sending the request: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode < 100 || answer.StatusCode > 599 {
		return nil, fmt.Errorf("reading the response: status %d", answer.StatusCode)
	}
	r := &Response{Response: envelope.Response{Status: answer.StatusCode, Header: answer.Header}}
	if answer.StatusCode == http.StatusSwitchingProtocols {
		return r, nil // what follows is another protocol, not a body
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("reading the response: %w", err)
	}
	if r.Cut = int64(len(body)) > maxBody; r.Cut {
		body = body[:maxBody]
	}
	r.Body = body
	return r, nil
}
