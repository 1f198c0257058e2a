package mockbackend

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/jarcoal/httpmock"

	"example.com/touchstone/schemas"
)

// NewTransport gives a transport that answers from the stubs alone, without a
// socket. What needs a wire (most faults, interim answers, bytes that net/http
// would not send) is an [*InvalidStubError].
func NewTransport(stubs ...schemas.Stub) (*httpmock.MockTransport, error) {
	s := New(Options{StubsOnly: true})
	t, err := s.Transport()
	if err != nil {
		return nil, err
	}
	for _, stub := range stubs {
		if _, err := s.Add(stub); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Transport gives a transport that answers as the server does, without a
// socket. From then on Add refuses stubs that need a wire; those already there
// are an error here.
func (s *Server) Transport() (*httpmock.MockTransport, error) {
	s.socketless.Store(true)
	for _, scope := range append(s.Scopes(), s.root) {
		for _, c := range scope.index.all() {
			if err := checkSocketless(c); err != nil {
				return nil, fmt.Errorf("stub %s: %w", c.ID, err)
			}
		}
	}
	t := httpmock.NewMockTransport()
	t.RegisterNoResponder(s.respond)
	return t, nil
}

// checkSocketless refuses what cannot be done without a connection.
func checkSocketless(c *stub) error {
	return c.eachReply(func(r *reply, at string) error { return r.checkSocketless(c.Match.Method, at) })
}

func (r *reply) checkSocketless(method, at string) error {
	switch {
	case r.fault != nil && r.faultKind().rewrite == nil:
		return invalid(at+"/fault", "%s needs a connection; the in-process transport has none", r.fault.Kind)
	case r.play != nil:
		return invalid(at, "an answer that comes in pieces needs a connection; the in-process transport has none")
	case len(r.interim) > 0:
		return invalid(at+"/interim", "interim answers need a connection; the in-process transport has none")
	case !r.politeTo(method):
		return invalid(r.impolite.Pointer, "%w: raw bytes need a connection; the in-process transport has none", r.impolite.Err)
	}
	return nil
}

// respond answers a client's request in process.
func (s *Server) respond(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close() // as http.RoundTripper has to
	}
	sent := withLength(r)
	q := newRequest(sent)
	defer q.release()
	if err := s.place(q); err != nil {
		return nil, err
	}
	q.rebuildHead()
	a := s.receive(q).reply
	defer func() { q.scope.journal.finish(q.seq, q.sent) }()
	if err := a.checkSocketless(r.Method, "/respond"); err != nil {
		q.sent.Error = err.Error()
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	scope := q.scope.ctx // the function may still run when the request is another's
	defer context.AfterFunc(scope, func() { cancel(context.Cause(scope)) })()
	if err := sleep(ctx, a.delay.next()); err != nil {
		q.sent.ClientEnded, q.sent.Error = !q.scope.ended(), err.Error()
		return nil, err
	}
	body := a.body
	if r.Method == http.MethodHead {
		body = nil
	}
	q.sent.Status, q.sent.BodyBytes, q.sent.Phase = a.status, int64(len(body)), PhaseComplete
	return a.response(r, body), nil
}

// response is the reply as a client sees it.
func (r *reply) response(q *http.Request, body []byte) *http.Response {
	header := make(http.Header, len(r.headers)+1)
	for _, h := range r.headers {
		header.Add(h.Name, h.Value)
	}
	if !r.omits("Date") && header.Get("Date") == "" {
		header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	}
	length := int64(len(r.body))
	switch {
	case bodyForbidden(r.status):
		length = 0
	case r.toHead:
		length = -1
		if n, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64); err == nil {
			length = n
		}
	default:
		header.Set("Content-Length", fmt.Sprint(length))
	}
	response := &http.Response{
		Status:     fmt.Sprintf("%d %s", r.status, http.StatusText(r.status)),
		StatusCode: r.status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        header,
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: length,
		Request:       q,
	}
	if header.Get("Content-Encoding") == "gzip" && q.Header.Get("Accept-Encoding") == "" && q.Header.Get("Range") == "" && len(body) > 0 {
		// As http.Transport has it, which asks for gzip by itself.
		header.Del("Content-Encoding")
		header.Del("Content-Length")
		response.Body, response.ContentLength, response.Uncompressed = &gunzip{from: response.Body}, -1, true
	}
	return response
}

// gunzip unpacks a body when it is read.
type gunzip struct {
	from io.ReadCloser
	z    *gzip.Reader
	err  error
}

func (g *gunzip) Read(p []byte) (int, error) {
	if g.z == nil && g.err == nil {
		g.z, g.err = gzip.NewReader(g.from)
	}
	if g.err != nil {
		return 0, g.err
	}
	return g.z.Read(p)
}

func (g *gunzip) Close() error { return g.from.Close() }

// withLength is a client's request with the header that says how long its body
// is, as a server sees it.
func withLength(r *http.Request) *http.Request {
	if r.ContentLength <= 0 || r.Header.Get("Content-Length") != "" {
		return r
	}
	r = r.Clone(r.Context())
	r.Header.Set("Content-Length", strconv.FormatInt(r.ContentLength, 10))
	return r
}
