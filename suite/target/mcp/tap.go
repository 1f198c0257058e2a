package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"
)

// tap takes down the message that answers one call, as it came: the SDK's own
// result no longer tells false from absent, and refuses content that a judge
// should see.
type tap struct {
	mu     sync.Mutex
	answer []byte       // over stdio
	body   bytes.Buffer // over HTTP, as far as it was read
}

type tapKey struct{}

func with(ctx context.Context, t *tap) context.Context { return context.WithValue(ctx, tapKey{}, t) }

func tapOf(ctx context.Context) *tap {
	t, _ := ctx.Value(tapKey{}).(*tap)
	return t
}

// message gives the answer, where one came.
func (t *tap) message() ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.answer != nil {
		return t.answer, true
	}
	body := bytes.TrimSpace(t.body.Bytes())
	if isAnswer(body) {
		return bytes.Clone(body), true
	}
	return lastAnswer(body)
}

// isAnswer tells a JSON-RPC response from the requests and notifications that
// may come before it.
func isAnswer(message []byte) bool {
	if !gjson.ValidBytes(message) {
		return false
	}
	m := gjson.ParseBytes(message)
	return m.IsObject() && !m.Get("method").Exists() && (m.Get("result").Exists() || m.Get("error").IsObject())
}

// lastAnswer finds the response in a stream of server-sent events.
func lastAnswer(stream []byte) (answer []byte, found bool) {
	var data []byte
	lines := bufio.NewScanner(bytes.NewReader(append(bytes.Clone(stream), "\n\n"...)))
	lines.Buffer(nil, len(stream)+64)
	for lines.Scan() {
		line := bytes.TrimSuffix(lines.Bytes(), []byte("\r"))
		switch {
		case len(line) == 0:
			if isAnswer(data) {
				answer, found = data, true
			}
			data = nil
		case bytes.HasPrefix(line, []byte("data:")):
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(line[len("data:"):], []byte(" "))...)
		}
	}
	return answer, found
}

// tappedTransport takes down answers of a connection over pipes.
type tappedTransport struct{ mcp.Transport }

// Connect implements [mcp.Transport].
func (t tappedTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &tappedConnection{Connection: c}, nil
}

type tappedConnection struct {
	mcp.Connection
	waiting sync.Map // jsonrpc.ID -> *tap
}

// Write implements [mcp.Connection].
func (c *tappedConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	if request, ok := m.(*jsonrpc.Request); ok && request.IsCall() {
		if t := tapOf(ctx); t != nil {
			c.waiting.Store(request.ID, t)
		}
	}
	return c.Connection.Write(ctx, m)
}

// Read implements [mcp.Connection].
func (c *tappedConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if response, ok := m.(*jsonrpc.Response); ok && err == nil {
		if t, ok := c.waiting.LoadAndDelete(response.ID); ok {
			t.(*tap).take(response)
		}
	}
	return m, err
}

// take keeps a response; its result is still the bytes that came.
func (t *tap) take(response *jsonrpc.Response) {
	var raw []byte
	if response.Error != nil {
		raw, _ = json.Marshal(map[string]any{"error": response.Error}) // it was read from JSON
	} else {
		raw = append(append([]byte(`{"result":`), response.Result...), '}')
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answer = raw
}

// tappedRoundTripper takes down the bodies of HTTP responses, and adds headers
// to the requests.
type tappedRoundTripper struct {
	next   http.RoundTripper
	header http.Header
	last   *lastStatus
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
	if t := tapOf(request.Context()); t != nil {
		response.Body = &tappedBody{response.Body, t}
	}
	return response, nil
}

type tappedBody struct {
	io.ReadCloser
	tap *tap
}

// Read implements [io.Reader].
func (b *tappedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.tap.mu.Lock()
	defer b.tap.mu.Unlock()
	b.tap.body.Write(p[:n])
	return n, err
}
