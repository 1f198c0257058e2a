package mcp

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/tidwall/gjson"

	"example.com/touchstone/suite/target"
)

// tap takes down the message that answers one call, as it came: the SDK's own
// result no longer tells false from absent, and refuses content that a judge
// should see.
type tap struct {
	mu     sync.Mutex
	id     jsonrpc.ID // of the request
	answer []byte
	ended  chan struct{} // over HTTP: closed when the response is read
}

type tapKey struct{}

func with(ctx context.Context, t *tap) context.Context { return context.WithValue(ctx, tapKey{}, t) }

func tapOf(ctx context.Context) *tap {
	t, _ := ctx.Value(tapKey{}).(*tap)
	return t
}

// expect says which answer is the call's.
func (t *tap) expect(id jsonrpc.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.id = id
}

// take keeps the first answer to the request. Whatever else is no answer to it.
func (t *tap) take(response *jsonrpc.Response, raw []byte) *target.ProtocolError {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case response.ID != t.id:
		return faultOf(target.WrongID, raw, "id %v, asked was %v", response.ID.Raw(), t.id.Raw())
	case t.answer != nil:
		return faultOf(target.AnsweredTwice, raw, "id %v", t.id.Raw())
	case response.Result == nil && response.Error == nil:
		return faultOf(target.BadMessage, raw, `a response has either "result" or "error", this one has neither`)
	}
	t.answer = bytes.Clone(raw)
	return nil
}

// message gives the answer, where one came.
func (t *tap) message() ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.answer, t.answer != nil
}

// lingering is how long the end of a response is waited for when the answer is
// there: a second answer may follow. A server need not end it.
const lingering = 100 * time.Millisecond

func (t *tap) settle(ctx context.Context) {
	t.mu.Lock()
	ended := t.ended
	t.mu.Unlock()
	if ended == nil {
		return
	}
	select {
	case <-ended:
	case <-ctx.Done():
	case <-time.After(lingering):
	}
}

// tappedRoundTripper takes down the answers in HTTP responses, and adds headers
// to the requests.
type tappedRoundTripper struct {
	next   http.RoundTripper
	header http.Header
	last   *lastStatus
	faults *faults
}

// lastStatus remembers how the server last answered, to explain a failure.
type lastStatus struct {
	mu          sync.Mutex
	status      int
	line        string
	contentType string
	location    string
}

func (l *lastStatus) set(r *http.Response) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status, l.line, l.contentType, l.location = r.StatusCode, r.Status, r.Header.Get("Content-Type"), r.Header.Get("Location")
}

// RoundTrip implements [http.RoundTripper].
func (r *tappedRoundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	id, isCall := idOf(request)
	request = request.Clone(request.Context())
	for name, values := range r.header {
		request.Header[name] = values
	}
	response, err := r.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if request.Method == http.MethodPost {
		r.last.set(response)
	}
	if t := tapOf(request.Context()); t != nil && isCall {
		t.expect(id)
		response.Body = r.tapped(response, t)
	}
	return response, nil
}

// idOf gives the id of the call in a request. A notification that a call is
// given up has its context, and is none.
func idOf(request *http.Request) (id jsonrpc.ID, isCall bool) {
	if request.GetBody == nil {
		return id, false
	}
	body, err := request.GetBody()
	if err != nil {
		return id, false
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		return id, false
	}
	m, err := jsonrpc.DecodeMessage(text)
	if call, ok := m.(*jsonrpc.Request); ok && err == nil {
		return call.ID, call.IsCall()
	}
	return id, false
}

func (r *tappedRoundTripper) tapped(response *http.Response, t *tap) io.ReadCloser {
	ended := make(chan struct{})
	t.mu.Lock()
	t.ended = ended
	t.mu.Unlock()
	return &tappedBody{
		ReadCloser: response.Body, tap: t, faults: r.faults, end: sync.OnceFunc(func() { close(ended) }),
		isEvents: strings.HasPrefix(strings.ToLower(response.Header.Get("Content-Type")), "text/event-stream"),
	}
}

// tappedBody reads along: what it finds is known before the SDK sees it.
type tappedBody struct {
	io.ReadCloser
	tap    *tap
	faults *faults
	end    func()
	fault  *target.ProtocolError

	isEvents bool   // server-sent events
	partial  []byte // of a line of them, else of the body
	event    string // the type of the event
	data     []byte
}

// Read implements [io.Reader]. A fault is its error, so that the call ends.
func (b *tappedBody) Read(p []byte) (int, error) {
	if b.fault != nil {
		return 0, b.fault
	}
	n, err := b.ReadCloser.Read(p)
	b.fault = b.take(p[:n], err == io.EOF)
	if b.fault != nil {
		b.faults.add(b.fault)
		n, err = 0, b.fault
	}
	if err != nil {
		b.end()
	}
	return n, err
}

// Close implements [io.Closer].
func (b *tappedBody) Close() error {
	b.end()
	return b.ReadCloser.Close()
}

func (b *tappedBody) take(chunk []byte, last bool) *target.ProtocolError {
	for b.isEvents && len(chunk) > 0 {
		line, rest, complete := bytes.Cut(chunk, []byte{'\n'})
		if fault := b.extend(line); fault != nil {
			return fault
		}
		if complete {
			if fault := b.endLine(); fault != nil {
				return fault
			}
		}
		chunk = rest
	}
	if fault := b.extend(chunk); fault != nil || !last {
		return fault
	}
	if !b.isEvents {
		return b.message(b.partial)
	}
	if fault := b.endLine(); fault != nil {
		return fault
	}
	return b.endLine() // the empty line that ends an event may be missing
}

func (b *tappedBody) extend(part []byte) *target.ProtocolError {
	b.partial = append(b.partial, part...)
	if len(b.partial)+len(b.data) > maxMessage {
		return faultOf(target.Flooded, b.partial, "over %d bytes in the answer to one call", maxMessage)
	}
	return nil
}

// endLine reads a line of server-sent events, with the leniency of the SDK.
func (b *tappedBody) endLine() *target.ProtocolError {
	line := bytes.TrimRight(b.partial, "\r")
	b.partial = nil
	if len(line) == 0 {
		event, data := b.event, b.data
		b.event, b.data = "", nil
		if len(data) == 0 || event != "" && event != "message" {
			return nil
		}
		return b.message(data)
	}
	switch field, value, _ := bytes.Cut(line, []byte{':'}); string(field) {
	case "event":
		b.event = string(bytes.TrimSpace(value))
	case "data":
		if b.data != nil {
			b.data = append(b.data, '\n')
		}
		b.data = append(b.data, bytes.TrimSpace(value)...)
	}
	return nil
}

// message takes a message if it is a response. One that is no JSON-RPC message
// ends the SDK's connection, which explains it, but for what is said in it.
func (b *tappedBody) message(text []byte) *target.ProtocolError {
	text = bytes.TrimSpace(text)
	m, err := jsonrpc.DecodeMessage(text)
	if response, ok := m.(*jsonrpc.Response); ok && err == nil {
		return b.tap.take(response, text)
	}
	if err == nil || !gjson.ValidBytes(text) {
		return nil
	}
	parsed := gjson.ParseBytes(text)
	if problem := parsed.Get("error"); parsed.IsObject() && problem.IsObject() && parsed.Get("id").Type == gjson.Null {
		return faultOf(target.BadMessage, text, "its id is null and not the request's; the error it reports is %s: %s",
			problem.Get("code").Raw, problem.Get("message").String())
	}
	return nil
}
